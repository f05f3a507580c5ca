"""All-or-nothing recall: with tolerance, by category, of chosen labels, and the sums of the published table."""

import random
from collections.abc import Sequence

import pytest

from annotations.scores.rules import Scorer
from annotations.scores.rules.intervals import exact
from annotations.scores.rules.table import TableData, all_or_nothing, pooled
from annotations.scores.rules.tally import Criterion
from annotations.text.characters import WHITE_SPACE
from annotations.text.spans import Span, trim

CATEGORY = {"PATIENT": "NAME", "DOCTOR": "NAME", "CITY": "LOCATION", "DATE": "DATE"}
#       0         1         2         3         4
#       0123456789012345678901234567890123456789012345678901
TEXT = "Mario Rossi a Torino il 3/4 dal dott. Bianchi Anna."
ROSSI, TORINO, BIANCHI = Span(0, 11, "PATIENT"), Span(14, 20, "CITY"), Span(38, 45, "DOCTOR")
Note = tuple[Sequence[Span], Sequence[Span]]


def table(*notes: Note, threshold: float = 0.6, chosen: Sequence[str] = ()) -> TableData:
    """Score notes of gold and predicted spans."""
    scorer = Scorer(list(CATEGORY), CATEGORY, threshold=threshold, chosen=chosen)
    for gold, predicted in notes:
        scorer.add(TEXT, gold, predicted)
    return scorer.table()


# The doctor's label is that of a patient; the patient's bounds differ by some characters (7 of 11, 0.636).
OTHER_LABEL: Note = ([ROSSI, BIANCHI], [ROSSI, Span(38, 45, "PATIENT")])
OTHER_BOUNDS: Note = ([ROSSI], [Span(0, 7, "PATIENT")])
OTHER_CATEGORY: Note = ([TORINO], [Span(14, 20, "DATE")])


FOUND = [
    (OTHER_LABEL, {"covered", "tolerant_any", "tolerant_category"}),
    (OTHER_BOUNDS, {"tolerant_any", "tolerant_category", "tolerant"}), (OTHER_CATEGORY, {"covered", "tolerant_any"}),
    (([ROSSI], []), set()), (([ROSSI], [ROSSI]), set(Criterion)),
]  # fmt: skip


@pytest.mark.parametrize("note, found", FOUND)
def test_what_counts_as_found(note: Note, found: set[str]) -> None:
    shares = {criterion: one["share"] for criterion, one in table(note)["all_or_nothing"].items()}
    assert shares == {criterion: float(criterion in found) for criterion in Criterion}


def test_one_prediction_finds_one_gold_span() -> None:
    """A gold span of each name, and one prediction over both: it is paired with one of them, so one is not found."""
    gold = [Span(0, 11, "PATIENT"), Span(0, 9, "DOCTOR")]
    assert table((gold, [Span(0, 10, "PATIENT")]))["all_or_nothing"]["tolerant_any"]["all_found"] == 0


@pytest.mark.parametrize("threshold, found", [(0.6, 1), (7 / 11, 1), (0.64, 0), (1.0, 0), (0.0, 1)])
def test_the_threshold_is_settable(threshold: float, found: int) -> None:
    found_by = table(OTHER_BOUNDS, threshold=threshold)
    assert found_by["tolerant"]["threshold"] == threshold
    assert (
        found_by["tolerant"]["any_label"]["right"] == found_by["all_or_nothing"]["tolerant_any"]["all_found"] == found
    )


def test_chosen_labels_only() -> None:
    """Notes without gold of the chosen labels don't count, and missed spans of other labels don't matter."""
    missed: Note = ([ROSSI, TORINO], [ROSSI])
    elsewhere: Note = ([TORINO], [])
    notes = (missed, elsewhere, OTHER_LABEL)
    assert table(*notes)["all_or_nothing_chosen"] is None
    assert table(*notes)["all_or_nothing"]["tolerant_any"]["share"] == pytest.approx(1 / 3)
    chosen = table(*notes, chosen=["DOCTOR", "PATIENT"])["all_or_nothing_chosen"]
    assert chosen is not None and chosen["labels"] == ["PATIENT", "DOCTOR"]
    assert chosen["found"]["tolerant_any"] == {"all_found": 2, "notes": 2, "share": 1.0}
    assert chosen["found"]["tolerant"] == {"all_found": 1, "notes": 2, "share": 0.5}
    # The other figures stay those of all labels.
    assert table(*notes, chosen=["DATE"])["all_or_nothing"] == table(*notes)["all_or_nothing"]
    nothing = table(*notes, chosen=["DATE"])["all_or_nothing_chosen"]
    assert nothing is not None and nothing["found"]["covered"] == {"all_found": 0, "notes": 0, "share": None}


def test_by_category_and_by_label() -> None:
    found = table(OTHER_LABEL, OTHER_BOUNDS, OTHER_CATEGORY)
    categories = {row["category"]: row for row in found["categories"]}
    assert (categories["NAME"]["notes"], categories["LOCATION"]["notes"]) == (2, 1)
    name, location = (categories[one]["all_or_nothing"] for one in ("NAME", "LOCATION"))
    assert name["tolerant_category"] == {"all_found": 2, "share": 1.0}
    assert (location["tolerant_category"]["share"], location["tolerant_any"]["share"]) == (0.0, 1.0)
    labels = {row["label"]: row["all_or_nothing"] for row in found["labels"]}
    assert (labels["DOCTOR"]["tolerant"]["share"], labels["PATIENT"]["tolerant"]["share"]) == (0.0, 1.0)
    assert labels["DOCTOR"]["tolerant_any"]["share"] == 1.0
    # Two notes with patients, one with a doctor, one with a city.
    whole = found["all_or_nothing_pooled"]
    assert whole["labels"]["tolerant"] == {"all_found": 2, "notes": 4, "share": 0.5}
    assert whole["categories"]["tolerant_category"] == {"all_found": 2, "notes": 3, "share": pytest.approx(2 / 3)}


# Singh et al. 2025, table 3, RedactOR: for each type, the fraction of notes that has the printed share (some shares are
# cut off rather than rounded). Over all types the table has 0.8214.
PUBLISHED = {
    "AGE": (65, 73, 0.8904), "CONTACT": (30, 30, 1.0), "DATE": (73, 100, 0.73), "ID": (43, 48, 0.8958),
    "LOCATION": (54, 78, 0.6923), "PERSON": (83, 97, 0.8556), "PROFESSION": (20, 22, 0.9091),
}  # fmt: skip


def test_the_last_row_adds_up_the_types_as_published() -> None:
    rows = [
        {"notes": notes, "all_or_nothing": all_or_nothing(dict.fromkeys(Criterion, n), notes)}
        for n, notes, _ in PUBLISHED.values()
    ]
    for row, (_, _, share) in zip(rows, PUBLISHED.values(), strict=True):
        assert row["all_or_nothing"]["tolerant_category"]["share"] == pytest.approx(share, abs=1e-4)
    assert pooled(rows)["tolerant_category"]["share"] == pytest.approx(0.8214, abs=5e-5)


# ── Notes of which suggestions cover all gold of a label, by label, with the exact interval ──────────────────────────


LABELS = ("A", "B")
CATEGORY_OF = {"A": "one", "B": "two"}


def masked(notes):
    scorer = Scorer(LABELS, CATEGORY_OF)
    for text, gold, predicted in notes:
        scorer.add(text, [Span(*bounds) for bounds in gold], [Span(*bounds) for bounds in predicted])
    return {row["label"]: row["fully_masked"] for row in scorer.table()["labels"]}


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (2, 3, 0.0943, 0.9916), (50, 100, 0.3983, 0.6017)],
)
def test_the_interval_is_that_of_clopper_and_pearson(hits, of, low, high):
    """The values are those of the tables of binomial intervals."""
    assert exact(hits, of) == pytest.approx((low, high), abs=5e-5)
    assert exact(0, 0) is None


def test_suggestions_of_any_label_mask_and_only_the_label_s_own_gold_counts():
    text = "Anna Bianchi, Roma"
    found = masked(
        [
            (text, [(0, 12, "A"), (14, 18, "B")], [(0, 4, "B"), (5, 12, "A")]), (text, [(0, 12, "A")], [(0, 11, "A")]),
            (text, [(14, 18, "B")], [(13, 18, "A")]), (text, [], [(0, 4, "A")]),
        ]
    )  # fmt: skip
    low, high = exact(1, 2)
    assert found["A"] == {"notes": 2, "all_found": 1, "share": 0.5, "low": low, "high": high}
    assert found["B"] == {"notes": 2, "all_found": 1, "share": 0.5, "low": low, "high": high}


def test_without_gold_of_the_label_there_is_no_share():
    found = masked([("Anna", [(0, 4, "A")], [(0, 4, "B")])])
    assert found["B"] == {"notes": 0, "all_found": 0, "share": None, "low": None, "high": None}
    assert found["A"]["all_found"] == 1


def test_every_character_but_white_space_is_covered_in_random_notes():
    """Equal to the definition by characters, also within tokens, with accents, emoji and zero-width spaces."""
    pick = random.Random(5)

    def spans(length):
        bounds = [sorted(pick.sample(range(length + 1), 2)) for _ in range(pick.randint(0, 4))]
        return [(start, end, pick.choice(LABELS)) for start, end in bounds]

    for _ in range(60):
        text = "".join(pick.choices("ab1.\u00e9\U0001f600\u200b\n ", k=12))
        gold = [bounds for bounds in spans(12) if trim(text, *bounds[:2])[0] < trim(text, *bounds[:2])[1]]
        predicted = spans(12)
        covered = {at for start, end, _ in predicted for at in range(start, end)}
        found = masked([(text, gold, predicted)])
        for label in {bounds[2] for bounds in gold}:
            needed = {at for start, end, own in gold if own == label for at in range(start, end)}
            open_ones = {at for at in needed - covered if text[at] not in WHITE_SPACE}
            assert found[label]["all_found"] == (not open_ones), (text, gold, predicted)
