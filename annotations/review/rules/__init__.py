"""Reviewing suggestions: precision so far, conflicts, planted leaks, two reviewers."""
