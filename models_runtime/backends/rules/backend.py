"""The rules backend: patterns with checks, context words and word lists. No weights, no training, no network."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from annotations.text.characters import trim
from annotations.text.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.rules import (
    abroad,
    ages,
    bare,
    called,
    coded,
    codes,
    contacts,
    court,
    date_words,
    dates,
    en,
    es,
    ids,
    institutions,
    it,
    labels,
    memory,
    names,
    numbered,
    numerals,
    organizations,
    people,
    persons,
    places,
    running,
    spoken,
    staying,
    streets,
    traps,
)
from models_runtime.backends.rules.kinds import SOFT, VARIANTS
from models_runtime.backends.rules.reading import read, tables
from models_runtime.backends.rules.rule import Hit, Rule

VERSION: Final = "2"
FAMILIES: Final = (
    abroad,
    ages,
    bare,
    called,
    coded,
    codes,
    contacts,
    date_words,
    dates,
    ids,
    institutions,
    memory,
    names,
    numbered,
    numerals,
    organizations,
    people,
    persons,
    places,
    running,
    spoken,
    staying,
    streets,
    traps,
)
BY_LANGUAGE: Final = {"it": it.RULES, "es": es.RULES, "en": en.RULES}
LANGUAGES: Final = tuple(BY_LANGUAGE)
RULES: Final[tuple[Rule, ...]] = (
    *(rule for family in FAMILIES for rule in family.RULES),
    *(replace(rule, languages=frozenset({code})) for code, rules in BY_LANGUAGE.items() for rule in rules),
)


CONFIDENCES: Final = Path(__file__).with_name("data") / "confidences.json"
"""Precision of each rule, by rule id, measured on MEDDOCAN train and the demo notes (`fixtures.bench.rules`)."""


class RulesBackend:
    """Finds spans with labels of `label_set` (the key of a shipped label set), by the rules for `languages`.

    `abroad`: the texts are in other languages, so that only what has a shape is found. Raises BackendError (permanent)
    for an unsupported label set or language.
    """

    name = "rules"

    def __init__(
        self, label_set: str = labels.HOME, languages: Sequence[str] = LANGUAGES, *, abroad: bool = False
    ) -> None:
        unknown = sorted(set(languages) - set(LANGUAGES))
        if unknown or not languages:
            known = ", ".join(LANGUAGES)
            message = f"The rules don't support: {', '.join(unknown)}." if unknown else "No language was chosen."
            raise BackendError(f"{message} Supported languages: {known}.", permanent=True)
        self.label_set = label_set
        self._abroad = abroad
        self._labels = labels.table(label_set)
        self.labels = tuple(sorted({label for label in self._labels.values() if label}))
        chosen = frozenset(languages)
        self._rules = tables(rule for rule in RULES if not rule.languages or rule.languages & chosen)
        # Kinds without a label in this set must not displace overlapping hits of other kinds.
        self._unwanted = frozenset(kind for kind in (*SOFT, *VARIANTS) if self._labels[kind] is None)
        measured: dict[str, float] = json.loads(CONFIDENCES.read_text(encoding="utf-8"))
        self._confidence = {rule.id: measured.get(rule.id, rule.confidence) for rule in RULES}
        self.revision = f"{VERSION}-{_DIGEST}-{label_set}-{'+'.join(sorted(chosen))}{'-abroad' * abroad}"

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, without overlaps."""
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, one text at a time."""
        return map(self._spans_of, texts)

    def _spans_of(self, text: str) -> list[Span]:
        hits = read(text, self._rules, self._unwanted, abroad=self._abroad)
        if self.label_set == court.LABEL_SET:
            hits = court.private(text, hits)
        return sorted(span for hit in hits if (span := self._span(text, hit)) is not None)

    def _span(self, text: str, hit: Hit) -> Span | None:
        label = self._labels[hit.kind]
        start, end = trim(text, hit.start, hit.end)
        if label is None or start == end:
            return None
        return Span(start, end, label, self._confidence[hit.rule.id], hit.rule.id)


def _digest() -> str:
    """A hash of this package's code and data, since any change to them can change the output."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*folder.rglob("*.py"), *folder.glob("data/*"), labels.MAPPINGS]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


# Computed at import time: files can change on disk while a worker still runs the old code.
_DIGEST: Final = _digest()
