"""Attributes of spans: what a label may have, their form as JSON and as lines of text, and agreement between them.

An attribute is boolean (a span has it or not) or a choice of one of its values. A span lists its attributes as pairs of
a name and a choice, or of a name and True, sorted by name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NotRequired, TypedDict

from annotations.text.names import bad_character
from annotations.text.spans import Bounds, Span
from annotations.text.wording import WordedError

Value = str | bool
Attributes = tuple[tuple[str, Value], ...]
"""The attributes of a span: pairs of a name and a choice, or of a name and True, sorted by name."""

NAME: Final = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_-]{1,60}")
"""The form of an attribute's name: brat's grammar, as for the codes of labels."""
LENGTH: Final = 60
"""The most characters of a value."""
MOST: Final = 20
"""The most attributes of a label."""
MOST_VALUES: Final = 50
"""The most values of an attribute."""


class AttributeDefError(WordedError, ValueError):
    """An invalid definition of an attribute. The message says what is wrong and what is allowed."""


@dataclass(frozen=True, slots=True)
class AttributeDef:
    """An attribute that a label may have. Without values, it is boolean."""

    name: str
    values: tuple[str, ...] = ()

    def allows(self, value: Value) -> bool:
        return value in self.values if self.values else value is True


def check_definitions(attributes: Iterable[AttributeDef]) -> tuple[AttributeDef, ...]:
    """Return the definitions of a label's attributes, if they are valid. Raises AttributeDefError."""
    listed = tuple(attributes)
    if len(listed) > MOST:
        raise AttributeDefError("A label may have at most {most} attributes, not {count}.", MOST, len(listed))
    names: set[str] = set()
    for each in listed:
        if not NAME.fullmatch(each.name):
            raise AttributeDefError(
                "The name “{name}” of an attribute may contain only A-Z, a-z, 0-9, “_” and “-”, needs a letter "
                "or digit, and may have at most {length} characters.",
                *(each.name[:LENGTH], LENGTH),
            )
        if each.name.casefold() in names:
            raise AttributeDefError("The attribute “{name}” occurs twice. Remove one of the two.", each.name)
        names.add(each.name.casefold())
        _check_values(each)
    return listed


def _check_values(attribute: AttributeDef) -> None:
    if len(attribute.values) > MOST_VALUES:
        raise AttributeDefError("The attribute “{name}” may have at most {most} values.", attribute.name, MOST_VALUES)
    if len(set(attribute.values)) < len(attribute.values):
        raise AttributeDefError(
            "The attribute “{name}” has the same value twice. Remove one of the two.", attribute.name
        )
    for value in attribute.values:
        if not value or value != value.strip() or len(value) > LENGTH or "|" in value or bad_character(value):
            raise AttributeDefError(
                "A value of the attribute “{name}” is not valid. A value has 1 to {length} characters, no “|” "
                "and no line break.",
                *(attribute.name, LENGTH),
            )


def definitions_of(data: Any) -> tuple[AttributeDef, ...]:
    """The definitions from their JSON form, a list of objects with `name` and, for a choice, `values`.

    Raises AttributeDefError.
    """
    if not isinstance(data, list):
        raise AttributeDefError("“attributes” must be a list of objects with the keys name, values.")
    found = []
    for item in data:
        if not isinstance(item, Mapping) or not set(item) <= {"name", "values"} or "name" not in item:
            raise AttributeDefError("Each attribute must be an object with the key name and, for a choice, values.")
        name, values = item["name"], item.get("values", [])
        if not isinstance(name, str) or not isinstance(values, list) or not all(isinstance(v, str) for v in values):
            raise AttributeDefError("The name of an attribute must be text, and its values a list of texts.")
        found.append(AttributeDef(name, tuple(values)))
    return check_definitions(found)


def attributes_of(data: Any) -> Attributes:
    """The attributes of a span from their JSON form, an object with a choice or true by name. It may not be empty.

    Their form is checked, not whether the span's label has them: a span keeps its attributes when its label loses them.
    Raises AttributeDefError.
    """
    if not isinstance(data, Mapping) or not data:
        raise AttributeDefError("The attributes of a span must be an object with a choice or true by name, or null.")
    for name, value in data.items():
        if not isinstance(name, str) or not (value is True or isinstance(value, str)):
            raise AttributeDefError("Each attribute of a span must have one of its values, or true.")
        check_definitions([AttributeDef(name, () if value is True else (value,))])
    return tuple(sorted(data.items()))


def as_data(attributes: Iterable[AttributeDef]) -> list[dict[str, Any]]:
    """The JSON form that `definitions_of` reads."""
    return [{"name": each.name} | ({"values": list(each.values)} if each.values else {}) for each in attributes]


def definitions_in(lines: str) -> tuple[AttributeDef, ...]:
    """The definitions from lines of text: `name` for a boolean attribute, `name: value | value` for a choice.

    Raises AttributeDefError.
    """
    found = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        name, colon, rest = line.partition(":")
        values = tuple(value.strip() for value in rest.split("|")) if colon else ()
        found.append(AttributeDef(name.strip(), values))
    return check_definitions(found)


def as_lines(attributes: Iterable[AttributeDef]) -> str:
    """The lines that `definitions_in` reads."""
    return "\n".join(f"{each.name}: {' | '.join(each.values)}" if each.values else each.name for each in attributes)


def as_text(attributes: Attributes) -> str:
    """The attributes of a span in one line, in which the leak gate looks for identifiers."""
    return "; ".join(name if value is True else f"{name}: {value}" for name, value in attributes)


def joined(first: Sequence[AttributeDef], second: Iterable[AttributeDef]) -> tuple[AttributeDef, ...]:
    """All attributes of two labels. Of an attribute of both, the values are joined if both have values."""
    found = {each.name.casefold(): each for each in first}
    for each in second:
        mine = found.setdefault(each.name.casefold(), each)
        if mine is not each and mine.values and each.values:
            found[each.name.casefold()] = AttributeDef(mine.name, tuple(dict.fromkeys([*mine.values, *each.values])))
    return tuple(found.values())


def fitting(attributes: Attributes, definitions: Iterable[AttributeDef]) -> tuple[Attributes, list[str]]:
    """The attributes that a label may have, with the names as defined, and the names of the others.

    Names match in any case; values must match exactly, or else in another case.
    """
    known = {each.name.casefold(): each for each in definitions}
    kept: dict[str, Value] = {}
    others: list[str] = []
    for name, value in attributes:
        defined = known.get(name.casefold())
        found = None if defined is None else _value_in(defined, value)
        if defined is None or found is None:
            others.append(name)
        else:
            kept.setdefault(defined.name, found)
    return tuple(sorted(kept.items())), others


def _value_in(defined: AttributeDef, value: Value) -> Value | None:
    """The value as defined; None if the attribute can't have it."""
    if defined.allows(value):
        return value
    if not defined.values:
        # Some tools write booleans as words.
        return True if isinstance(value, str) and value.casefold() in ("true", "yes", "1") else None
    word = "true" if value is True else str(value).casefold()
    return next((each for each in defined.values if each.casefold() == word), None)


def voted(votes: Sequence[Attributes]) -> Attributes:
    """The attributes and values that more than half of the annotators who marked a span gave to it."""
    counted = Counter(pair for attributes in votes for pair in attributes)
    return tuple(sorted(pair for pair, count in counted.items() if 2 * count > len(votes)))


def is_tied(votes: Sequence[Attributes]) -> bool:
    """Whether there is an attribute of which no value, nor its absence, has the votes of more than half."""
    given = [dict(attributes) for attributes in votes]
    names = {name for attributes in given for name in attributes}
    most = (max(Counter(each.get(name) for each in given).values()) for name in names)
    return any(2 * count <= len(votes) for count in most)


def united(given: Iterable[Attributes]) -> tuple[Attributes, list[str]]:
    """The attributes of several, and the names of those with two different values, of which the first one is kept."""
    found: dict[str, Value] = {}
    pairs = [pair for attributes in given for pair in attributes]
    differing = {name for name, value in pairs if found.setdefault(name, value) != value}
    return tuple(sorted(found.items())), sorted(differing)


# Provenance of a span, with the keys under which it is stored.


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
    """Provenance of a doubtful suggestion; the fields are explained in `annotations.text.attributes.Doubtful`."""

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
