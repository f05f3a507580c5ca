"""Verdicts of several judges on entities in notes, and majority verdicts (Miranda et al. 2025, section 3.3).

An entity is a gold span, or a hidden stretch beyond gold. Each judge gives one verdict on it: correctly hidden (TP),
still readable (FN), or hidden without need (FP). What exactly counts depends on the rules.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from typing import Any, Final, NamedTuple

from annotations.agreement.rules.coefficients import cohen, sums_of
from annotations.agreement.rules.units import Pattern
from annotations.scores.rules.rates import Rates
from annotations.text.spans import Span, stretches
from annotations.text.wording import NamedValue, gettext_noop

THRESHOLD: Final = 0.5
DISCARDED: Final = "discarded"


class JudgedUnit(NamedValue):
    """What one entity is: each occurrence, or all occurrences in a note of one text with one label."""

    OCCURRENCE = "occurrence", gettext_noop("each occurrence")
    TEXT = "text", gettext_noop("each text with its label, once per note")


@dataclass(frozen=True)
class Rules:
    """Rules under a name. `unit` and `temperature` are defaults, which a judging may replace.

    `of_all`: a majority is a share of all judges asked; otherwise of those who answered on the note.
    `any_verdict`: every verdict can win. Otherwise FP can't win for an entity in gold, nor FN for another one.
    `label_by_label`: every label has its own question, and a placeholder is beyond gold unless it overlaps gold of its
    own label; otherwise gold of any label counts.
    """

    key: str
    of_all: bool
    any_verdict: bool
    label_by_label: bool
    unit: JudgedUnit
    temperature: float


STANDARD: Final = Rules("standard", False, False, False, JudgedUnit.OCCURRENCE, 0.0)
# Sections 3.3.1, 3.3.2 and 4.2, and appendix A.
MIRANDA: Final = Rules("miranda-2025", True, True, True, JudgedUnit.TEXT, 0.7)

RULES: Final[Mapping[str, Rules]] = {rules.key: rules for rules in (STANDARD, MIRANDA)}


class Judgement(StrEnum):
    TP = "TP"
    FN = "FN"
    FP = "FP"


# By the standard rules, the possible verdicts on an entity in gold and on another one; a majority for any other verdict
# is discarded.
_OF_GOLD: Final = frozenset({Judgement.TP, Judgement.FN})
_OF_OTHERS: Final = frozenset({Judgement.TP, Judgement.FP})


class Entity(NamedTuple):
    """A labeled stretch of a note, in code points, end-exclusive. `gold`: it is a gold span.

    `more`: where the same text has the same label again, if all these occurrences are one entity.
    """

    start: int
    end: int
    label: str
    gold: bool
    more: Sequence[Sequence[int]] = ()

    @property
    def occurrences(self) -> list[tuple[int, int]]:
        """All occurrences, in text order."""
        return [(self.start, self.end), *((start, end) for start, end in self.more)]


Votes = tuple[Judgement | None, ...]
"""The verdicts of the judges who count for an entity; None for a judge without a verdict on it."""


def entities_of(gold: Sequence[Span], predicted: Iterable[Span], rules: Rules = STANDARD) -> list[Entity]:
    """The entities to judge, in text order: every gold span, and every prediction that overlaps no gold span.

    If the rules are applied label by label, the predictions are the placeholders of the de-identified text, and only
    gold spans of the same label count.
    """
    ours, theirs = ({(span.start, span.end, span.label) for span in spans} for spans in (gold, predicted))
    found = [Entity(*bounds, gold=True) for bounds in ours]
    if not rules.label_by_label:
        found += _beyond(theirs, gold)
    else:
        placeholders = stretches(Span(*bounds) for bounds in theirs)
        for label in {label for *_, label in placeholders}:
            same = [one for one in placeholders if one[2] == label]
            found += _beyond(same, [span for span in gold if span.label == label])
    return sorted(found)


def _beyond(predicted: Iterable[tuple[int, int, str]], gold: Iterable[Span]) -> list[Entity]:
    """The predictions that overlap no gold span."""
    taken = stretches(gold)
    starts = [start for start, _, _ in taken]
    found = []
    for start, end, label in predicted:
        last = bisect_left(starts, end) - 1
        if last < 0 or taken[last][1] <= start:
            found.append(Entity(start, end, label, gold=False))
    return found


def by_text(text: str, entities: Iterable[Entity]) -> list[Entity]:
    """The distinct texts of a note's entities by label (Miranda et al. 2025, section 3.3.2), at their first occurrence.

    A text in gold and the same text hidden beyond gold are two entities, so that the superfluous placeholder counts.
    """
    found: dict[tuple[str, str, bool], Entity] = {}
    for one in entities:
        key = (text[one.start : one.end], one.label, one.gold)
        first = found.get(key)
        found[key] = one if first is None else first._replace(more=(*first.more, (one.start, one.end)))
    return list(found.values())


def majority_verdict(
    votes: Votes, *, gold: bool, threshold: float = THRESHOLD, rules: Rules = STANDARD
) -> Judgement | None:
    """The verdict with more than `threshold` of the votes; None without a majority or a possible verdict.

    Judges without a verdict on the entity count in the total. `threshold` is at least 0.5, so that only one verdict can
    pass it.
    """
    if not votes:
        return None
    ((verdict, n),) = Counter(votes).most_common(1)
    if verdict is None or n <= threshold * len(votes):
        return None
    return verdict if rules.any_verdict or verdict in (_OF_GOLD if gold else _OF_OTHERS) else None


class JudgedEntities(NamedTuple):
    """A note's entities, and for each judge a verdict (or None) on each entity; None if the judge gave no answer."""

    entities: Sequence[Entity]
    answers: Sequence[Sequence[Judgement | None] | None]

    def votes(self, at: int, rules: Rules = STANDARD) -> Votes:
        """The votes on an entity: of all judges asked, or only of those who answered on the note."""
        return tuple(
            None if answer is None else answer[at] for answer in self.answers if rules.of_all or answer is not None
        )

    def verdict(self, at: int, threshold: float, rules: Rules) -> Judgement | None:
        """The majority verdict on an entity."""
        votes = self.votes(at, rules)
        return majority_verdict(votes, gold=self.entities[at].gold, threshold=threshold, rules=rules)

    @property
    def answered(self) -> int:
        return sum(answer is not None for answer in self.answers)


@dataclass
class JudgingTally:
    """Counts of verdicts: call `add` for each note, then `as_dict`. `judges` is the number of judges."""

    judges: int
    threshold: float = THRESHOLD
    rules: Rules = STANDARD
    notes: int = 0
    unjudged: int = 0
    fewer: int = 0
    beyond: int = 0
    majority: dict[str, Counter[str]] = field(default_factory=dict)
    each: list[dict[str, Counter[str]]] = field(default_factory=list)
    answered: Counter[int] = field(default_factory=Counter)
    silent: Counter[int] = field(default_factory=Counter)
    patterns: Counter[Pattern] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.each = self.each or [{} for _ in range(self.judges)]

    def add(self, note: JudgedEntities) -> list[Judgement | None] | None:
        """Count a note, and return the majority verdict on each entity; None if no judge answered on the note."""
        self.answered.update(at for at, answer in enumerate(note.answers) if answer is not None)
        if not note.answered:
            self.unjudged += 1
            return None
        self.notes += 1
        found = []
        for at, entity in enumerate(note.entities):
            verdict = note.verdict(at, self.threshold, self.rules)
            self.majority.setdefault(entity.label, Counter())[verdict or DISCARDED] += 1
            self.beyond += verdict == Judgement.TP and not entity.gold
            self.fewer += note.answered < self.judges
            self._count_each(at, entity, note)
            found.append(verdict)
        return found

    def _count_each(self, at: int, entity: Entity, note: JudgedEntities) -> None:
        said = [None if answer is None else answer[at] for answer in note.answers]
        self.patterns[tuple(said)] += 1
        for judge, (answer, verdict) in enumerate(zip(note.answers, said, strict=True)):
            if verdict is not None:
                self.each[judge].setdefault(entity.label, Counter())[verdict] += 1
            elif answer is not None:
                self.silent[judge] += 1

    def as_dict(self, order: Sequence[str]) -> dict[str, Any]:
        """The figures for JSON. `order` lists all labels; labels without entities are left out."""
        used = [label for label in order if label in self.majority]
        return {
            "notes": self.notes,
            "unjudged_notes": self.unjudged,
            "entities": sum(counts.total() for counts in self.majority.values()),
            "discarded": sum(counts[DISCARDED] for counts in self.majority.values()),
            "judged_by_fewer": self.fewer,
            "beyond_gold": self.beyond,
            "majority": figures_by_label(self.majority, used),
            "judges": [
                figures_by_label(self.each[at], used) | {"notes": self.answered[at], "silent": self.silent[at]}
                for at in range(self.judges)
            ],
            "agreement": self._agreement(),
        }

    def _agreement(self) -> dict[str, Any]:
        """Agreement of the judges over the entities with at least two verdicts."""
        whole = sums_of(self.patterns)
        alpha = whole.alpha()
        pairs = []
        for a, b in combinations(range(self.judges), 2):
            both = cohen(self.patterns, a, b)
            pairs.append(
                {"judges": [a, b], "entities": both.units, "observed": both.observed.value, "kappa": both.kappa.value}
            )
        return {
            "entities": whole.units,
            "observed": whole.observed().value,
            "alpha": alpha.value,
            "undefined": alpha.why,
            "pairs": pairs,
        }


def figures_by_label(counted: Mapping[str, Counter[str]], labels: Sequence[str]) -> dict[str, Any]:
    """The figures over these labels, and of each."""
    whole: Counter[str] = sum((counted.get(label, Counter()) for label in labels), Counter())
    return {
        "micro": figures_of(whole),
        "labels": [{"label": label} | figures_of(counted.get(label, Counter())) for label in labels],
    }


def figures_of(counts: Mapping[str, int]) -> dict[str, Any]:
    """Precision, recall, F1 and accuracy of verdicts. Discarded entities only count in `entities`.

    The accuracy is the share of TP: an entity that is neither in gold nor hidden isn't judged, so there is no TN.
    """
    tp, fn, fp = (counts.get(verdict, 0) for verdict in Judgement)
    rates = Rates.paired(tp, tp + fp, tp + fn)
    discarded = counts.get(DISCARDED, 0)
    return {
        "entities": tp + fn + fp + discarded,
        "tp": tp,
        "fn": fn,
        "fp": fp,
        "discarded": discarded,
        "precision": rates.precision,
        "recall": rates.recall,
        "f1": rates.f1,
        "accuracy": tp / (tp + fn + fp) if tp + fn + fp else None,
    }
