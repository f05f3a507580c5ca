"""Agreement of attributes: of spans with equal bounds and label, the share with the same value of each attribute."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TypedDict

from annotations.text.spans import Span


class AttributeAgreement(TypedDict):
    """`spans`: matched spans whose label has the attribute, or of which one has it. `agree`: with the same value.

    No value counts as a value. `given`: those of which at least one has the attribute, and `given_agree` of them the
    ones with the same value. Shares are None without such spans.
    """

    attribute: str
    spans: int
    agree: int
    share: float | None
    given: int
    given_agree: int
    given_share: float | None


class AttributeTally:
    """Counts matched spans note by note. `names` are the attributes of each label, by its code."""

    def __init__(self, names: Mapping[str, Collection[str]]) -> None:
        self._names = names
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, gold: Iterable[Span], predicted: Iterable[Span]) -> None:
        """Count the matched spans of a note. Their labels are codes."""
        found = {span: dict(span.attributes) for span in predicted}
        for span in gold:
            other = found.get(span)
            if other is None:
                continue
            mine = dict(span.attributes)
            for name in {*self._names.get(span.label, ()), *mine, *other}:
                agree = mine.get(name) == other.get(name)
                given = name in mine or name in other
                self._counts[name].update(spans=1, agree=agree, given=given, given_agree=given and agree)

    def rows(self) -> list[AttributeAgreement]:
        """The figures of each attribute, in alphabetical order."""
        return [
            {
                "attribute": name,
                "spans": n["spans"],
                "agree": n["agree"],
                "share": n["agree"] / n["spans"],
                "given": n["given"],
                "given_agree": n["given_agree"],
                "given_share": n["given_agree"] / n["given"] if n["given"] else None,
            }
            for name, n in sorted(self._counts.items())
        ]
