"""The rules backend: patterns with checks, context words and word lists. No weights, no training, no network."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

from annotations.text.search import CoveredParts
from annotations.text.spans import Span, trim
from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError, StreamingBackend
from models_runtime.backends.rules.gazetteers import HOME, MAPPINGS, NAMES, SOFT, VARIANTS, any_of, label_table
from models_runtime.backends.rules.phrases import before, words_of
from models_runtime.backends.rules.reading import Tables, read, tables
from models_runtime.backends.rules.rule import Hit, Rule, RuleKind, declared, scan, shape

# Decisions of courts: what stays readable when a decision is published (Salierno et al. 2024, section 3).
#
# Lawyers act in public, so their names stay, and so do their own tax codes and addresses in the parentheses after the
# name. The number of a decision, or of its proceedings, tells which decision it is.


LABEL_SET: Final = "omissis"
_LAWYER_TITLE: Final = r"(?i:\bavv(?:ocat(?:[oaie]|essa)|[. ]?t[ioa])?\.?[ ]{0,2}(?:prof\.?[ ]?(?:ssa\.?)?[ ]?)?)"
_LAWYER: Final = re.compile(rf"{_LAWYER_TITLE}\Z")
_SEVERAL: Final = re.compile(r"(?i:gli[ ]avv\S*|\bavvocat[ie]|\bavv[. ]?ti)\.?[ ]{0,2}\Z")
_NEXT: Final = re.compile(r"[ ]?(?:,|;|e|ed)[ ]")
# A lawyer who is a party is a private person.
_LAWYER_PARTY: Final = re.compile(
    rf"(?i:\b(?:promoss|propost|presentat)[oaie][ ]d(?:a|al|alla|all[’'])[ ]?){_LAWYER_TITLE}\Z"
)
_OF_LAWYER: Final = re.compile(r"(?:,?[ ]del[ ](?i:foro)[ ]di(?:[ ][A-ZÀ-Ý][\w'’]{1,30}){1,3})?,?[ ]?\([^()]{0,300}\)")
_DECISION: Final = re.compile(
    rf"(?i)\b(?:{any_of('backend.decision')})(?:[ ][a-zà-ù]{{1,15}}){{0,3}}[ ]?(?:nn?[.°r]?|num\.|numero)?[ ]?\Z"
)


def private(text: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits without those of lawyers and of decisions, in order."""
    ordered = sorted(hits, key=lambda hit: hit.start)
    lawyers: list[Hit] = []
    several = False
    for hit in ordered:
        title = before(text, hit.start, 60)
        if hit.kind in NAMES and _LAWYER.search(title) and not _LAWYER_PARTY.search(title):
            lawyers.append(hit)
            several = _SEVERAL.search(title) is not None
        elif hit.kind in NAMES and several and _NEXT.fullmatch(text, lawyers[-1].end, hit.start):
            lawyers.append(hit)
    own = CoveredParts(match.span() for hit in lawyers if (match := _OF_LAWYER.match(text, hit.end)))
    known = _name_words(text, lawyers)
    public = set(lawyers)
    names = [hit for hit in ordered if hit.kind in NAMES and hit not in public]
    # A word that a private person's name has, too, doesn't tell who is meant.
    known -= _name_words(text, [hit for hit in names if not _name_words(text, [hit]) <= known])
    public |= {hit for hit in names if _name_words(text, [hit]) <= known}
    return [
        hit
        for hit in ordered
        if hit not in public
        and not own.wholly(hit.start, hit.end)
        and not (
            hit.kind in (RuleKind.CASE, RuleKind.EPISODE, RuleKind.RECORD)
            and _DECISION.search(before(text, hit.start, 60))
        )
    ]


def _name_words(text: str, hits: Sequence[Hit]) -> set[str]:
    return {word.lower() for hit in hits for word in words_of(text[hit.start : hit.end])}


VERSION: Final = "2"
# The modules with rules. Of rules of one rank for one word, the first one counts.
FAMILIES: Final = (
    "abroad ages running coded codes contacts date_words dates institutions names persons places reading streets traps "
    "bare numbered"
)
LANGUAGES: Final = ("it", "es", "en")
RULES: Final[tuple[Rule, ...]] = (
    *(rule for name in FAMILIES.split() for rule in import_module(f"models_runtime.backends.rules.{name}").RULES),
    *declared("shapes", shape),
)


CONFIDENCES: Final = Path(__file__).with_name("data") / "confidences.json"
"""Precision of rules by their id, measured on MEDDOCAN train and the demo (`fixtures.bench.rules`) or estimated."""


def confidences() -> dict[str, float]:
    """The confidence of each rule; 0.85 if nothing was estimated."""
    known: dict[str, float] = json.loads(CONFIDENCES.read_text(encoding="utf-8"))
    return {rule.id: known.get(rule.id, 0.85) for rule in RULES}


class RulesBackend(StreamingBackend):
    """Finds spans with labels of `label_set` (the key of a shipped label set), by the rules for `languages`.

    `abroad`: the texts are in other languages, so that only what has a shape is found. Raises BackendError (permanent)
    for an unsupported label set or language.
    """

    name = "rules"

    def __init__(self, label_set: str = HOME, languages: Sequence[str] = LANGUAGES, *, abroad: bool = False) -> None:
        unknown = sorted(set(languages) - set(LANGUAGES))
        if unknown or not languages:
            known = ", ".join(LANGUAGES)
            message = (
                _("The rules don't support: {unknown}.", ", ".join(unknown))
                if unknown
                else _("No language was chosen.")
            )
            raise BackendError("{message} Supported languages: {known}.", message, known)
        self.label_set = label_set
        self._abroad = abroad
        self._labels = label_table(label_set)
        self.labels = tuple(sorted({label for label in self._labels.values() if label}))
        self._rules = tables(rule for rule in RULES if not rule.language or rule.language in languages)
        # Kinds without a label in this set must not displace overlapping hits of other kinds.
        self._unwanted = frozenset(kind for kind in (*SOFT, *VARIANTS) if self._labels[kind] is None)
        self._confidences = confidences()
        self.revision = f"{VERSION}-{_DIGEST}-{label_set}-{'+'.join(sorted({*languages}))}{'-abroad' * abroad}"

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, one text at a time."""
        return map(self._spans_of, texts)

    def _spans_of(self, text: str) -> list[Span]:
        hits = read(text, self._rules, self._unwanted, abroad=self._abroad)
        if self.label_set == LABEL_SET:
            hits = private(text, hits)
        return sorted(span for hit in hits if (span := self._span(text, hit)) is not None)

    def _span(self, text: str, hit: Hit) -> Span | None:
        label = self._labels[hit.kind]
        start, end = trim(text, hit.start, hit.end)
        if label is None or start == end:
            return None
        return Span(start, end, label, self._confidences[hit.rule.id], hit.rule.id)


def _digest() -> str:
    """A hash of this package's code and data, since any change to them can change the output."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*folder.rglob("*.py"), *folder.glob("data/*"), MAPPINGS]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


# Computed at import time: files can change on disk while a worker still runs the old code.
_DIGEST: Final = _digest()


# The identifiers that the rules find in a text, of all kinds and languages, without regard to a label set.


def identifiers(text: str) -> list[Hit]:
    """The rules' hits in a text, in order and without overlaps. Offsets are code points, end-exclusive."""
    return read(text, _all_tables())


def trap_hits(text: str) -> list[Hit]:
    """Text that looks like an identifier and is none, such as eponyms and doses, in order and without overlaps."""
    found: list[Hit] = []
    for hit in sorted(
        (hit for hit in scan(text, _all_tables().known).hits if hit.kind is RuleKind.TRAP),
        key=lambda hit: (hit.start, -hit.end),
    ):
        if not found or found[-1].end <= hit.start:
            found.append(hit)
    return found


@cache
def _all_tables() -> Tables:
    return tables(RULES)
