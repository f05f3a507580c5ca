"""Test rows are texts with their spans in braces: `nato a {CITY|Nuoro} il {DATE|3/5/1961}`."""

import re

from models_runtime.backends import load

_MARKED = re.compile(r"\{([A-Z_]+)\|([^{}]*)\}")


def read(row: str) -> tuple[str, list[tuple[int, int, str]]]:
    """The plain text of a row, and its spans."""
    text, spans, at = "", [], 0
    for match in _MARKED.finditer(row):
        text += row[at : match.start()]
        spans.append((len(text), len(text) + len(match[2]), match[1]))
        text += match[2]
        at = match.end()
    return text + row[at:], spans


def found(text: str, label_set: str = "i2b2-2014", **params: object) -> list[tuple[int, int, str]]:
    backend = load("models_runtime.backends.rules.RulesBackend", label_set=label_set, **params)
    return [(span.start, span.end, span.label) for span in backend.predict([text])[0]]


def marked(row: str, label_set: str = "i2b2-2014", **params: object) -> str:
    """The row's text with the spans of the rules in braces. It equals the row if the rules find exactly its spans."""
    text, _ = read(row)
    written, at = "", 0
    for start, end, label in sorted(found(text, label_set, **params)):
        written += f"{text[at:start]}{{{label}|{text[start:end]}}}"
        at = end
    return written + text[at:]


def otherwise(*rows: str, label_set: str = "i2b2-2014") -> list[str]:
    """The rows with other spans than those of the rules, each with the spans of the rules."""
    return [written for row in rows if (written := marked(row, label_set)) != row]
