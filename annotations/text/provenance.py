"""Provenance of a span, with the keys under which it is stored."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NotRequired, TypedDict

from annotations.text.spans import Bounds, Span


class RunSays(TypedDict):
    """One run that suggested a span of a merged list."""

    run: str
    confidence: float | None
    source: str


class MergedProvenance(TypedDict):
    """Provenance of a suggestion in a merged list; the fields are explained in `text.combining.MergedSpan`."""

    runs: list[RunSays]
    agree: int
    of: int
    clear: int
    # Names of attributes to which two of the runs gave different values.
    attributes: NotRequired[list[str]]
    # As in Doubt, if all runs that suggested the span doubt it.
    removed: NotRequired[list[list[int]]]
    unsupported: NotRequired[list[list[int]]]
    places: NotRequired[int]


class Doubt(TypedDict):
    """Provenance of a doubtful suggestion; the fields are explained in `annotations.text.provenance.Doubtful`."""

    removed: list[list[int]]
    unsupported: list[list[int]]
    places: NotRequired[int]


class RefinedSays(TypedDict):
    """What a refiner did with an annotation: keep or update, its bounds and label code before, and why."""

    action: str
    was: list[int | str]
    reason: str


class RefinedProvenance(TypedDict):
    """Provenance of a suggestion by a refiner."""

    refined: RefinedSays


Provenance = TypedDict(
    "Provenance",
    {
        # Of a gold span: the annotation set and suggestion that it comes from, and what a reviewer changed.
        "from": str,
        "set": int,
        "suggestion": int,
        "confidence": float | None,
        "source": str,
        "changed": list[str],
        "cause": str,
        "runs": list[RunSays],
        "of": int,
        "adjudication": "Provenance",
        # Of a gold span that a refiner proposed to remove and a reviewer kept: the number of the annotation in the
        # refiner's `set`; `from` is the author who annotated it.
        "removal": int,
        # Of an adjudicated span: the adjudicator's choice, and the annotators who marked the span.
        "choice": str,
        "annotators": list[int],
        "rule": str,
        # Of both: who decided, when, and under which version of the guidelines.
        "by": str | None,
        "at": str,
        "guidelines": int,
    },
    total=False,
)


@dataclass(frozen=True)
class Origin:
    """An author as gold spans name it, with the runs of a merged list: `authors` as “kind:name”, `runs` by name."""

    authors: frozenset[str]
    runs: frozenset[str]

    def gave(self, provenance: Mapping[str, Any] | None) -> bool:
        """Whether a gold span was copied from this author, directly or through a merged list."""
        if not provenance:
            return False
        return provenance.get("from") in self.authors or any(
            said["run"] in self.runs for said in provenance.get("runs") or ()
        )


# A suggestion of a language model whose words or whose place in the note are doubtful.


@dataclass(frozen=True, slots=True)
class Doubtful(Span):
    """A span that a reviewer should check.

    `removed` are words beside the span that vanished together with it. `unsupported` are words of the span that
    neither a rule nor the shape of the words supports. Both are bounds in the note's text, in code points,
    end-exclusive. `places` is the number of places that the model may have meant, if its answer doesn't say which one;
    each of them is suggested (Singh et al. 2025, section 3.2). It is 1 if the context in the answer contradicts the
    note, and otherwise 0.
    """

    removed: tuple[Bounds, ...] = field(default=(), compare=False)
    unsupported: tuple[Bounds, ...] = field(default=(), compare=False)
    places: int = field(default=0, compare=False)

    @property
    def provenance(self) -> Doubt:
        """The provenance that is stored with the suggestion."""
        doubt: Doubt = {"removed": [*map(list, self.removed)], "unsupported": [*map(list, self.unsupported)]}
        if self.places:
            doubt["places"] = self.places
        return doubt


def doubtful(span: Span, doubt: Doubt) -> Doubtful:
    """The span of a suggestion that was stored with this provenance."""
    removed, unsupported = (tuple((start, end) for start, end in doubt[key]) for key in ("removed", "unsupported"))
    return Doubtful(
        span.start, span.end, span.label, span.confidence, span.source, removed, unsupported, doubt.get("places", 0),
        attributes=span.attributes,
    )  # fmt: skip


def shifted(span: Span, by: int) -> Span:
    """The span of a piece of a note, with the offsets of the whole note."""
    moved = replace(span, start=span.start + by, end=span.end + by)
    if not isinstance(moved, Doubtful):
        return moved
    return replace(
        moved,
        removed=tuple((start + by, end + by) for start, end in moved.removed),
        unsupported=tuple((start + by, end + by) for start, end in moved.unsupported),
    )


# The pass of a language model in which a suggestion was found, as the suggestion's source names it.


_PASS: Final = re.compile(r" pass ([1-9])$")


def in_pass(source: str, number: int) -> str:
    """The source of a suggestion that was found in a pass. `number` counts from 1 to 9."""
    return f"{source} pass {number}"


def pass_of(source: str) -> int | None:
    """The number of the pass that a source names; None if the suggestion is not from a run with passes."""
    found = _PASS.search(source)
    return int(found[1]) if found else None
