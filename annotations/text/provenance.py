"""Provenance of a span, with the keys under which it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict


class RunSays(TypedDict):
    """One run that suggested a span of a merged list."""

    run: str
    confidence: float | None
    source: str


class Backed(TypedDict):
    """Provenance of a suggestion in a merged list; the fields are explained in `domain.combining.merging.Merged`."""

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
    """Provenance of a doubtful suggestion; the fields are explained in `domain.doubtful.Doubtful`."""

    removed: list[list[int]]
    unsupported: list[list[int]]
    places: NotRequired[int]


class RefinedSays(TypedDict):
    """What a refiner did with an annotation: keep or update, its bounds and label code before, and why."""

    action: str
    was: list[int | str]
    reason: str


class Refined(TypedDict):
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
