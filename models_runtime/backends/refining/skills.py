"""Skills: guidance for groups of labels as Markdown, with a head that names its version and labels.

    Version: 1
    Labels: CITY, STATE

    # Locations
    …

The labels `*` mean every label. The shipped skills lie in `guidance` as NAME.LANGUAGE.md.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from models_runtime.backends.refining.state import Skill

LONGEST: Final = 20_000
"""Characters of a skill."""
NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
DEFAULT_LANGUAGE: Final = "en"
EVERY_LABEL: Final = frozenset({"*"})
_FOLDER: Final = Path(__file__).with_name("guidance")
_HEAD: Final = re.compile(r"Version: ?(?P<version>[0-9]+)\nLabels: ?(?P<labels>[^\n]+)\n")


@cache
def shipped(language: str) -> Mapping[str, Skill]:
    """The skills of this release by name, each in the language, or in English if it has no text in the language.

    A regional language, such as de-AT, has the texts of its language.
    """
    found: dict[str, Skill] = {}
    for one in dict.fromkeys((DEFAULT_LANGUAGE, language.split("-")[0])):
        for file in sorted(_FOLDER.glob(f"*.{one}.md")):
            name = file.name.split(".")[0]
            text = file.read_text(encoding="utf-8")
            head = _HEAD.match(text)
            assert head is not None, file.name
            labels = frozenset(label.strip() for label in head["labels"].split(","))
            body = text[head.end() :].strip()
            found[name] = Skill(name, title_of(name, body), labels, body, f"shipped-{head['version']}")
    return found


def for_project(labels: Iterable[str], language: str, own: Iterable[Skill] = ()) -> dict[str, Skill]:
    """The skills that an agent may load: those for a label of the project, with the project's own texts.

    An own skill replaces the shipped one of its name; one with an empty text removes it.
    """
    codes = frozenset(labels)
    found = dict(shipped(language))
    for skill in own:
        if skill.text.strip():
            found[skill.name] = skill
        else:
            found.pop(skill.name, None)
    return {
        name: replace(skill, labels=codes if skill.labels == EVERY_LABEL else skill.labels & codes)
        for name, skill in sorted(found.items())
        if skill.labels == EVERY_LABEL or skill.labels & codes
    }


def title_of(name: str, text: str) -> str:
    """The first heading of a text, otherwise the name."""
    heading = re.search(r"^#+ +(\S.*)$", text, re.MULTILINE)
    return heading[1].strip() if heading else name
