"""The prompts: versioned files in the languages of the notes, filled in with a project's labels.

Imports no client library, because pages show prompts too.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import Final

VERSION: Final = "2"
"""Increase it when the meaning of a prompt changes. Any change of a file also changes the revision of runs."""

LANGUAGES: Final = {"en": "English", "it": "Italian", "es": "Spanish"}
BY_LABEL: Final = "by_label"
"""The strategy with a question, and so a system message, for each label (Xu et al. 2026, appendix A.1)."""
TAGGED: Final = ("rewrite", "confirm")
"""Tasks in which the model knows labels by their placeholders."""
_FOLDER: Final = Path(__file__).with_name("prompts")


@dataclass(frozen=True)
class LabelWord:
    """A label as described in a prompt. `placeholder`: its text in a rewritten note."""

    code: str
    name: str
    description: str
    placeholder: str


def system_prompt(
    task: str, language: str, labels: Sequence[LabelWord], template: str = "", *, descriptions: bool = True
) -> str:
    """The system message for a task: extract, by_label, rewrite, confirm, judge or judge-miranda-2025.

    `template` takes the place of the built-in file. Only $labels and $example are filled in; other dollar signs stay.
    With `descriptions`, the list of labels has their descriptions, as guidance for each type (Singh et al. 2025,
    section B.1).
    """
    tagged = task in TAGGED
    if not descriptions:
        labels = [replace(label, description="") for label in labels]
    lines = [
        f"- {_called(task, label)}: {': '.join(filter(None, (_name(label), label.description)))}" for label in labels
    ]
    example = labels[0].placeholder if tagged else labels[0].code
    return Template(template or _file(task, language)).safe_substitute(labels="\n".join(lines), example=example)


def prompt_of_run(
    strategy: str, language: str, labels: Sequence[LabelWord], template: str = "", *, descriptions: bool = True
) -> str:
    """The prompt that is stored with a run: its system message, or for BY_LABEL the template of its messages."""
    if strategy == BY_LABEL:
        return template or _file(strategy, language)
    return system_prompt(strategy, language, labels, template, descriptions=descriptions)


def prompt_without_labels(task: str, language: str) -> str:
    """The system message for a task that needs no labels: the four of relexicalizing."""
    return _file(task, language)


def version_of(template: str) -> str:
    """The version of a prompt: VERSION for a built-in file, or a short hash of a template."""
    return f"own-{digest(template)[:8]}" if template else VERSION


def _called(task: str, label: LabelWord) -> str:
    """The label's name in a prompt: the text that the model writes; for a judge, both texts that it sees."""
    if task in TAGGED:
        return label.placeholder
    return f"{label.code} {label.placeholder}" if task.startswith("judge") else label.code


def _name(label: LabelWord) -> str:
    return "" if label.name == label.code and label.description else label.name


def fenced(text: str) -> str:
    """The text between two equal random lines, which the author of the text can't have known."""
    line = _line()
    while line in text:
        line = _line()
    return f"{line}\n{text}\n{line}"


def _line() -> str:
    return f"note-{secrets.token_hex(8)}"


@cache
def _file(task: str, language: str) -> str:
    return (_FOLDER / f"{task}.{language}.txt").read_text(encoding="utf-8").rstrip("\n")


def digest(*parts: str) -> str:
    """A hash of several strings."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
