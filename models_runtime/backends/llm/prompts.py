"""The prompts: versioned files in the languages of the notes, filled in with a project's labels.

Imports no client library, because pages show prompts too.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import Final, NamedTuple

VERSION: Final = "2"
"""Increase it when the meaning of a prompt changes. Any change of a file also changes the revision of runs."""

LANGUAGES: Final = {"en": "English", "it": "Italian", "es": "Spanish"}
BY_LABEL: Final = "by_label"
"""The strategy with a question, and so a system message, for each label (Xu et al. 2026, appendix A.1)."""
TAGGED: Final = ("rewrite", "confirm")
"""Tasks in which the model knows labels by their placeholders."""
NOTHING: Final = "NO ENTITIES"
"""The answer in lines that finds nothing."""
_LAST_WORDS: Final = re.compile(r"(?:\S+\s+){1,2}\Z")
_FIRST_WORDS: Final = re.compile(r"\A(?:\s*\S+){1,2}")
_FOLDER: Final = Path(__file__).with_name("prompts")


class Preset(NamedTuple):
    """A prompt that a paper prints, and its task: a strategy of runs, refine, or that of the judges' rules.

    Its last paragraph is ours. It says how the note is shown, and for judges and refining how to answer.
    """

    strategy: str
    language: str
    source: str


LINES: Final = "xu-2026"
"""The preset whose answers are lines, each with a label and the words."""
PRESETS: Final = {
    "miranda-2025": Preset("rewrite", "it", "Miranda et al. 2025, section 3.2"),
    LINES: Preset(BY_LABEL, "en", "Xu et al. 2026, appendix A.1"),
    "miranda-2025-a": Preset("judge-miranda-2025", "it", "Miranda et al. 2025, appendix A"),
    "xu-2026-a2": Preset("refine", "en", "Xu et al. 2026, appendix A.2"),
}
# Words before the examples, a note and an answer in the prompts.
_EXAMPLES: Final = {
    "en": ("Examples", "Note", "Answer"),
    "it": ("Esempi", "Nota", "Risposta"),
    "es": ("Ejemplos", "Nota", "Respuesta"),
}


@dataclass(frozen=True)
class LabelWord:
    """A label as described in a prompt. `placeholder`: its text in a rewritten note."""

    code: str
    name: str
    description: str
    placeholder: str


@dataclass(frozen=True)
class Shot:
    """An invented example for a prompt: a note, and its identifiers in order, each with the code of its label."""

    text: str
    identifiers: Sequence[tuple[str, str]]


def system_prompt(
    task: str,
    language: str,
    labels: Sequence[LabelWord],
    template: str = "",
    *,
    descriptions: bool = True,
    shots: Sequence[Shot] = (),
) -> str:
    """The system message for a task: extract, by_label, rewrite, confirm, judge or judge-miranda-2025.

    `template` takes the place of the built-in file. Only $labels and $example are filled in, and in a question about
    one label $name, $description and $language; other dollar signs stay. `shots` take the place of $examples, or stand
    at the end. With `descriptions`, the list of labels has their descriptions, as guidance for each type (Singh et al.
    2025, section B.1), in the language of the prompt if they are those of a shipped label set.
    """
    tagged = task in TAGGED
    translated = _translations(language)
    labels = [
        replace(each, description=translated.get(each.description, each.description) if descriptions else "")
        for each in labels
    ]
    lines = [
        f"- {_called(task, label)}: {': '.join(filter(None, (_name(label), label.description)))}" for label in labels
    ]
    template = template or built_in(task, language)
    known = {
        "labels": "\n".join(lines),
        "example": labels[0].placeholder if tagged else labels[0].code,
        "name": labels[0].name,
        "description": labels[0].description,
        "language": LANGUAGES[language],
    }
    if shots:
        known["examples"] = _examples(task, language, labels, shots, lines=version_of(template) == LINES)
        if "$examples" not in template:
            template += f"\n\n{_EXAMPLES[language][0]}\n\n$examples"
    return Template(template).safe_substitute(known)


def _examples(task: str, language: str, labels: Sequence[LabelWord], shots: Sequence[Shot], *, lines: bool) -> str:
    """The examples, each with the right answer: a rewritten note, JSON, or lines."""
    _heading, note, answer = _EXAMPLES[language]
    placeholders = {label.code: label.placeholder for label in labels}
    parts = []
    for shot in shots:
        rewritten, rest = "", shot.text
        mentions = []
        for words, code in shot.identifiers:
            before, _words, after = rest.partition(words)
            if code in placeholders:
                context = [*_LAST_WORDS.findall(before)[-1:], words, *_FIRST_WORDS.findall(after)[:1]]
                mentions.append({"text": words, "type": code, "context": "".join(context).strip()})
            rewritten, rest = f"{rewritten}{before}{placeholders.get(code, words)}", after
        if task in TAGGED:
            right = rewritten + rest
        elif lines:
            right = "\n".join(f"{each['type']}: {each['text']}" for each in mentions) or NOTHING
        else:
            right = json.dumps({"entities": mentions}, ensure_ascii=False)
        parts.append(f"{note}:\n{shot.text}\n{answer}:\n{right}")
    return "\n\n".join(parts)


def prompt_of_run(
    strategy: str,
    language: str,
    labels: Sequence[LabelWord],
    template: str = "",
    *,
    descriptions: bool = True,
    shots: Sequence[Shot] = (),
) -> str:
    """The prompt that is stored with a run: its system message, or for BY_LABEL the template of its messages."""
    if strategy == BY_LABEL:
        return template or built_in(strategy, language)
    return system_prompt(strategy, language, labels, template, descriptions=descriptions, shots=shots)


def presets_of(tasks: Collection[str]) -> dict[str, str]:
    """The names of the presets for some tasks, with their sources."""
    return {name: preset.source for name, preset in PRESETS.items() if preset.strategy in tasks}


def printed(name: str) -> str:
    """The text of a preset, as a template."""
    return built_in(f"{PRESETS[name].strategy.partition('-')[0]}-{name}", PRESETS[name].language)


def version_of(template: str) -> str:
    """The version of a prompt: VERSION for a built-in file, the name of a preset, or a short hash of a template."""
    if not template:
        return VERSION
    return next((name for name in PRESETS if template == printed(name)), f"own-{digest(template)[:8]}")


def _called(task: str, label: LabelWord) -> str:
    """The label's name in a prompt: the text that the model writes; for a judge, both texts that it sees."""
    if task in TAGGED:
        return label.placeholder
    return f"{label.code} {label.placeholder}" if task.startswith("judge") else label.code


def _name(label: LabelWord) -> str:
    return "" if label.name == label.code and label.description else label.name


_TOGETHER: Final = {
    "en": "These are {n} separate records. In “record”, give the number of the record that contains the entity.",
    "it": "Questi sono {n} documenti separati. In “record”, indica il numero del documento che contiene l'entità.",
    "es": "Estos son {n} documentos separados. En “record”, indica el número del documento que contiene la entidad.",
}


def together(texts: Sequence[str], language: str) -> str:
    """Several texts in one message, each fenced and numbered from 1 (Singh et al. 2025, section 5)."""
    numbered = [f"record {number}\n{fenced(text)}" for number, text in enumerate(texts, start=1)]
    return "\n\n".join([*numbered, _TOGETHER[language].format(n=len(texts))])


def fenced(text: str) -> str:
    """The text between two equal random lines, which the author of the text can't have known."""
    line = ""
    while line in text:  # At first because it is empty.
        line = f"note-{secrets.token_hex(8)}"
    return f"{line}\n{text}\n{line}"


@cache
def _translations(language: str) -> dict[str, str]:
    """The descriptions of the shipped label sets in a language, by the English ones."""
    file = _FOLDER / f"descriptions.{language}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


@cache
def built_in(task: str, language: str) -> str:
    """The text of a built-in prompt. The four of relexicalizing need no labels, so it is their system message."""
    return (_FOLDER / f"{task}.{language}.txt").read_text(encoding="utf-8").rstrip("\n")


def digest(*parts: str) -> str:
    """A hash of several strings."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
