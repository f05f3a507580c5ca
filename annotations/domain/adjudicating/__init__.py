"""Deciding between annotators: where annotation sets differ, majorities, adjudication, its outcome."""
