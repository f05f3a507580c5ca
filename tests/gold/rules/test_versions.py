"""Gold versions: differences between two of them, splits by patient, and counts of tokens and spans."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.gold import rules
from annotations.text.spans import Span, Token, covered, split_at, tokenize
from tests.text.strategies import spans_of

CASES = [
    ([(0, 5, "A")], [(0, 5, "A")], []),
    ([], [(0, 5, "A")], [("added", None, (0, 5, "A"))]),
    ([(0, 5, "A")], [], [("removed", (0, 5, "A"), None)]),
    ([(0, 5, "A")], [(0, 5, "B")], [("relabeled", (0, 5, "A"), (0, 5, "B"))]),
    ([(0, 5, "A")], [(0, 9, "A")], [("moved", (0, 5, "A"), (0, 9, "A"))]),
    ([(0, 5, "A")], [(3, 9, "B")], [("replaced", (0, 5, "A"), (3, 9, "B"))]),
    # Touching is not overlapping.
    ([(0, 5, "A")], [(5, 9, "A")], [("removed", (0, 5, "A"), None), ("added", None, (5, 9, "A"))]),
    # An unchanged span is not paired with another one, even if it overlaps more.
    ([(0, 9, "A"), (0, 3, "B")], [(0, 9, "A"), (2, 8, "B")], [("moved", (0, 3, "B"), (2, 8, "B"))]),
    # As many pairs as possible: both spans get a partner.
    (
        [(0, 4, "A"), (5, 9, "A")],
        [(0, 9, "A"), (6, 8, "A")],
        [("moved", (0, 4, "A"), (0, 9, "A")), ("moved", (5, 9, "A"), (6, 8, "A"))],
    ),
]


def plain(span: Span | None) -> tuple[int, int, str] | None:
    return span and (span.start, span.end, span.label)


@pytest.mark.parametrize("before, after, expected", CASES)
def test_by_hand(before, after, expected) -> None:
    found = rules.diff([Span(*values) for values in before], [Span(*values) for values in after])
    assert [(str(change.kind), plain(change.before), plain(change.after)) for change in found] == expected


@given(st.data())
def test_changes_lead_from_one_to_the_other_and_back(data) -> None:
    text = "x" * 30
    before, after = set(data.draw(spans_of(text, 10))), set(data.draw(spans_of(text, 10)))
    changes = rules.diff(before, after)
    old = [change.before for change in changes if change.before]
    new = [change.after for change in changes if change.after]
    assert (before - set(old)) | set(new) == after
    assert sorted(old) == sorted(before - after) and sorted(new) == sorted(after - before)
    turned = {rules.ChangeKind.ADDED: rules.ChangeKind.REMOVED, rules.ChangeKind.REMOVED: rules.ChangeKind.ADDED}
    back = [turned.get(change.kind, change.kind) for change in rules.diff(after, before)]
    assert sorted(back) == sorted(change.kind for change in changes)


def test_a_span_whose_attributes_alone_changed() -> None:
    plain_one, past = Span(0, 5, "A"), Span(0, 5, "A", attributes=(("Status", "past"),))
    assert rules.diff([past], [past]) == []
    (change,) = rules.diff([plain_one, Span(7, 9, "B")], [past, Span(7, 9, "B")])
    assert change.kind is rules.ChangeKind.ATTRIBUTES
    assert change.after is not None and change.after.attributes == (("Status", "past"),)


# ── Splits by patient ────────────────────────────────────────────────────────────────────────────────────────────────


SHARES = {rules.Split.TRAIN: 80, rules.Split.DEV: 10, rules.Split.TEST: 10}


def patients(sizes: list[int], first: int = 0) -> list[rules.Patient]:
    return [rules.Patient(f"p{number}", size, size * 3) for number, size in enumerate(sizes, first)]


def counts(group: list[rules.Patient], splits: dict[str, rules.Split]) -> dict[rules.Split, int]:
    return {split: sum(p.notes for p in group if splits[p.key] == split) for split in rules.Split}


HALVES = {rules.Split.TRAIN: 50, rules.Split.DEV: 0, rules.Split.TEST: 50}


SHARES_AND_NOTES = [
    ([1] * 100, SHARES, [80, 10, 10]),
    ([3, 3, 2, 2, 2], HALVES, [6, 0, 6]),  # a greedy split is bad
    ([90, *[1] * 10], SHARES, [90, 5, 5]),  # a very large patient is in one part
]


@pytest.mark.parametrize(("sizes", "shares", "notes"), SHARES_AND_NOTES)
def test_shares_are_met(sizes: list[int], shares: dict[rules.Split, int], notes: list[int]) -> None:
    group = patients(sizes)
    found = counts(group, rules.split_patients(group, seed="a", shares=shares))
    assert found == dict(zip(rules.Split, notes, strict=True))


def test_a_split_depends_on_the_seed_but_not_on_the_order() -> None:
    group = patients([1] * 60)
    first = rules.split_patients(group, seed="a", shares=SHARES)
    assert rules.split_patients(reversed(group), seed="a", shares=SHARES) == first
    assert rules.split_patients(group, seed="b", shares=SHARES) != first
    assert rules.split_patients([], seed="s", shares=SHARES) == {}
    assert (
        rules.strictest([rules.Split.TRAIN, rules.Split.TEST]) is rules.Split.TEST
        and rules.strictest([rules.Split.TRAIN, rules.Split.DEV]) is rules.Split.DEV
    )
    with pytest.raises(ValueError, match="twice"):
        rules.split_patients([rules.Patient("a", 1), rules.Patient("a", 2)], seed="", shares=SHARES)


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=20),
    st.sampled_from([(80, 10, 10), (70, 0, 30), (60, 20, 20), (34, 33, 33), (1, 1, 98)]),
    st.text(max_size=5),
)
def test_shares_are_met_within_the_largest_patient(sizes: list[int], percent: tuple[int, int, int], seed: str) -> None:
    shares = dict(zip(rules.Split, percent, strict=True))
    group = patients(sizes)
    splits = rules.split_patients(group, seed=seed, shares=shares)
    assert set(splits) == {patient.key for patient in group}
    for split, found in counts(group, splits).items():
        assert abs(found - sum(sizes) * shares[split] / 100) <= max(sizes) + 1e-9
        assert shares[split] or not found


@given(st.lists(st.lists(st.integers(1, 8), max_size=12), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_no_patient_ever_changes_to_another_part(rounds: list[list[int]], chance) -> None:
    """Patients are added, get more notes and are erased; test patients are never trained on, and vice versa."""
    kept: dict[str, rules.Split] = {}
    group: list[rules.Patient] = []
    number = 0
    for sizes in rounds:
        group = [rules.Patient(p.key, p.notes + chance.randrange(3)) for p in group if chance.random() < 0.8]
        group += patients(sizes, number)
        number += len(sizes)
        splits = rules.split_patients(group, seed="s", shares=SHARES, kept=kept)
        assert all(splits[key] == split for key, split in kept.items() if key in splits)
        kept |= splits


def test_shares_are_checked() -> None:
    assert rules.check_shares({"train": 80, "test": 20}) == {
        rules.Split.TRAIN: 80, rules.Split.DEV: 0, rules.Split.TEST: 20,
    }  # fmt: skip
    for wrong in ({"train": 80}, {"train": 120, "test": -20}, {"dev": 50, "test": 50}, {"train": 90, "valid": 10}):
        with pytest.raises(rules.SplitError):
            rules.check_shares(wrong)


# ── Tokens and spans of notes by label, as in tables 3.1 to 3.3 of Catelli 2021 ──────────────────────────────────────


def part(*notes):
    made = rules.CorpusPart()
    for text, spans in notes:
        made.add_note(text, [Span(*span) for span in spans])
    return made


def test_the_means_of_table_3_3():
    # Two notes: "Uomo di 60 anni" and "Giunge al PS".
    found = part(("Uomo di 60 anni", [(8, 15, "AGE")]), ("Giunge al PS", []))
    assert (found.notes, found.tokens, found.spans, found.in_spans) == (2, 7, {"AGE": 1}, {"AGE": 2})
    assert (found.per_note(found.tokens), found.per_note(found.spans.total())) == (3.5, 0.5)
    assert rules.CorpusPart().per_note(0) is None
    # A tokenizer counts its own tokens.
    own = rules.CorpusPart()
    spans = [Span(0, 10, "DATE"), Span(11, 15, "CITY")]
    own.add_note("12/03/2021 Roma", spans, lambda text: [Token(0, 10), Token(11, 15)])
    assert (own.tokens, own.spans, own.in_spans) == (2, {"DATE": 1, "CITY": 1}, {"DATE": 1, "CITY": 1})


def test_a_token_in_two_overlapping_spans_counts_in_both_and_has_one_tag():
    found = part(("Ospedale Torino centro", [(0, 15, "HOSPITAL"), (9, 22, "CITY")]))
    assert found.spans == {"HOSPITAL": 1, "CITY": 1} and found.in_spans == {"HOSPITAL": 2, "CITY": 2}
    assert (found.begin, found.inside, found.outside) == (2, 1, 0)


def test_bio_tags_are_counted_as_in_table_6_of_salierno():
    # The sentence of table 5: B-OMISSIS for ROSSI and ROMA, I-OMISSIS for the address after it.
    text = "ricorso nr. 14270 Sig.ra ROSSI residente ROMA Via del corso"
    found = part((text, [(25, 30, "OMISSIS"), (41, 59, "OMISSIS")]), ("ricorso", []))
    assert (found.begin, found.inside, found.outside) == (2, 3, 9)
    assert found.per_note(found.begin) == 1


def test_parts_are_added_and_stored():
    one, other = part(("a b", [(0, 1, "X")])), part(("c", [(0, 1, "X")]), ("d", [(0, 1, "Y")]))
    whole = one + other
    assert (whole.notes, whole.tokens, whole.spans, whole.in_spans) == (3, 4, {"X": 2, "Y": 1}, {"X": 2, "Y": 1})
    assert rules.part_of(json.loads(json.dumps(vars(whole)))) == whole
    assert one.spans == {"X": 1}, "adding changed a part"


@pytest.mark.parametrize("text", ["Mario Rossi, 54 anni", "a1b2", "  x  "])
@given(data=st.data())
def test_the_counts_equal_those_of_all_tokens(text, data):
    offsets = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text))).filter(lambda pair: pair[0] < pair[1])
    spans = [Span(*pair, "X") for pair in data.draw(st.lists(offsets, max_size=4))]
    found = rules.CorpusPart()
    found.add_note(text, spans)
    tokens = split_at(tokenize(text), (edge for span in spans for edge in (span.start, span.end)))
    inside = [covered(tokens, span.start, span.end) for span in spans]
    assert found.tokens == len(tokens)
    assert found.spans.total() == len(spans)
    assert found.in_spans.total() == sum(past - first for first, past in inside)
