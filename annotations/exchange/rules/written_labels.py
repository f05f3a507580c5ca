"""Labels as an export writes them, where they differ from the project's: other codes, equal spans, spans left out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from annotations.formats.base import Loss, OutNote
from annotations.text.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.text.spans import Span


@dataclass(frozen=True)
class Rewritten:
    """A note without the spans that are not written, which are counted by label.

    `merged` counts spans that another span with the same offsets and the same written label stands for.
    """

    note: OutNote
    written: Counter[str]
    left_out: Counter[str]
    merged: int
    losses: list[Loss]


def rewritten(note: OutNote, codes: Mapping[str, str]) -> Rewritten:
    """Leave out spans, and one of two that become equal. The spans that stay keep their labels.

    `codes` has the code to write for every label, in label order; empty: the spans are left out. Of equal spans, the
    one whose label comes first stays. The loss of another one is listed if its attributes differ.
    """
    order = {code: number for number, code in enumerate(codes)}
    kept: dict[tuple[int, int, str], Span] = {}
    left_out: Counter[str] = Counter()
    merged, losses = 0, []
    for span in sorted(note.spans, key=lambda one: (one.start, one.end, order.get(one.label, len(order)))):
        code = codes.get(span.label, span.label)
        if not code:
            left_out[span.label] += 1
            continue
        first = kept.setdefault((span.start, span.end, code), span)
        if first is span:
            continue
        merged += 1
        if first.attributes != span.attributes:
            reason = f"Written as one span with “{first.label}” as “{code}”: its attributes are not exported."
            losses.append(Loss(note.name, span, reason))
    written = Counter(code for _start, _end, code in kept)
    return Rewritten(replace(note, spans=list(kept.values())), written, left_out, merged, losses)


def written_set(labels: LabelSetDef, codes: Mapping[str, str], target: LabelSetDef | None) -> LabelSetDef:
    """The label set of the written codes, for the configuration files of formats.

    A code of `target` has its name and category there. Any other code stays in the category of its first label.
    """
    known = {
        label.code: (group, label.name) for group in (target.categories if target else ()) for label in group.labels
    }
    found: dict[str, tuple[CategoryDef, list[LabelDef]]] = {}
    seen: set[str] = set()
    for category in labels.categories:
        for label in category.labels:
            code = codes.get(label.code, label.code)
            if not code or code in seen:
                continue
            seen.add(code)
            group, name = known.get(code, (category, label.name if code == label.code else code))
            found.setdefault(group.code, (group, []))[1].append(replace(label, code=code, name=name))
    categories = tuple(replace(group, labels=tuple(rows)) for group, rows in found.values())
    return replace(target or labels, categories=categories)
