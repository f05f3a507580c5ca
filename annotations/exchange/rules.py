"""The labels that an unknown label of a file probably means: by usual names of an identifier, then by spelling."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from rapidfuzz import fuzz, process

from annotations.formats.notes import Loss, OutNote
from annotations.text.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.text.search import lines_of
from annotations.text.spans import Span
from annotations.text.wording import gettext as _

SHOWN: Final = 3
# Below this likeness (0 to 100) two names differ by more than a slip of the pen.
ALIKE: Final = 80
# From this likeness on, only what is written so is meant.
THE_SAME: Final = 90

_KINDS_OF: Final[dict[str, set[int]]] = {}
for _number, _line in enumerate(lines_of(Path(__file__).with_name("data") / "usual_labels.txt")):
    for _word in _line.split():
        _KINDS_OF.setdefault(_word, set()).add(_number)


def likely_labels(name: str, labels: Mapping[str, str]) -> list[str]:
    """The codes that `name` probably means, the best first. `labels` maps codes and names of labels to codes.

    Only whole words count: PER is a person, and no part of another word.
    """
    wanted = _plain(name)
    kinds = _kinds(wanted)
    ranked: list[tuple[int, int, str]] = []
    for known, code in labels.items():
        if shared := kinds & (found := _kinds(_plain(known))):
            ranked.append((-len(shared), len(found | kinds), code))
    spelled = process.extract(
        wanted, {known: _plain(known) for known in labels}, scorer=fuzz.ratio, score_cutoff=ALIKE, limit=None
    )
    if same := [labels[known] for _text, score, known in spelled if score >= THE_SAME]:
        return list(dict.fromkeys(same))[:SHOWN]
    codes = [code for _shared, _all, code in sorted(ranked, key=lambda one: one[:2])]
    return list(dict.fromkeys([*codes, *(labels[known] for _text, _score, known in spelled)]))[:SHOWN]


def _kinds(plain: str) -> set[int]:
    """The kinds of identifiers that the words of a name stand for."""
    forms = (form for word in plain.split() for form in (word, word.removesuffix("s")))
    return {kind for form in forms for kind in _KINDS_OF.get(form, ())}


def _plain(name: str) -> str:
    """The words of a name in lower case, without accents."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
    return re.sub(r"[\W_]+", " ", bare).casefold().strip()


# Labels as an export writes them, where they differ from the project's: other codes, equal spans, spans left out.


class Relabeler:
    """Leaves out spans, and one of two that become equal. The spans that stay keep their labels.

    `codes` has the code to write for every label, in label order; empty: the spans are left out. Of equal spans, the
    one whose label comes first stays; the loss of another one is listed if its attributes differ. Of all notes,
    `written` counts spans by code, `left_out` by label, and `merged` those that another span stands for.
    """

    def __init__(self, codes: Mapping[str, str]) -> None:
        self._codes = codes
        self._order = {code: number for number, code in enumerate(codes)}
        self.written, self.left_out, self.merged = Counter[str](), Counter[str](), 0

    def note(self, note: OutNote) -> tuple[OutNote, list[Loss]]:
        """The note as it is to be written, and spans that lose attributes because another span stands for them."""
        kept: dict[tuple[int, int, str], Span] = {}
        losses: list[Loss] = []
        last = len(self._order)
        for span in sorted(note.spans, key=lambda one: (one.start, one.end, self._order.get(one.label, last))):
            code = self._codes.get(span.label, span.label)
            if not code:
                self.left_out[span.label] += 1
                continue
            first = kept.setdefault((span.start, span.end, code), span)
            self.merged += first is not span
            if first.attributes != span.attributes:
                reason = _(
                    "Written as one span with “{label}” as “{code}”: its attributes are not exported.",
                    *(first.label, code),
                )
                losses.append(Loss(note.name, span, reason))
        self.written.update(code for _start, _end, code in kept)
        return replace(note, spans=list(kept.values())), losses


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
