"""Released texts: every action, in every mix, with exact offsets."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.redaction.kinds import Kind
from annotations.domain.redaction.numbering import numbered
from annotations.domain.redaction.offsets import span_to_original, span_to_released, to_original, to_released
from annotations.domain.redaction.planning import planned
from annotations.domain.redaction.policy import Action, Policy, PolicyError, Rule, actions_for
from annotations.domain.redaction.released import Released
from annotations.domain.redaction.releasing import release_text
from annotations.domain.spans import Span
from tests.domain.redaction.replacing import Told
from tests.domain.strategies import LABELS, texts_with_spans

KINDS = dict(zip(LABELS, (Kind.NAME, Kind.DATE, Kind.ID), strict=True))
PLACEHOLDERS = {label: f"[{label}]" for label in LABELS}


def policies() -> st.SearchStrategy[Policy]:
    rules = {
        label: st.builds(Rule, st.just(kind), st.sampled_from(actions_for(kind)), st.booleans())
        for label, kind in KINDS.items()
    }
    return st.fixed_dictionaries(rules).map(Policy)


def released(text: str, *marks: tuple[str, str], told: Told | None = None, **rules: Rule) -> Released:
    spans = [Span(text.index(quote), text.index(quote) + len(quote), label) for quote, label in marks]
    return release_text(text, spans, Policy(rules), {label: f"[{label}]" for label in rules}, told or Told())


def name(action: Action, numbered: bool = False) -> Rule:
    return Rule(Kind.NAME, action, numbered)


@given(texts_with_spans(), policies())
def test_outside_the_pieces_both_texts_are_equal_and_offsets_are_exact(
    note: tuple[str, list[Span]], policy: Policy
) -> None:
    text, spans = note
    new = release_text(text, spans, policy, PLACEHOLDERS, Told())
    at = new_at = 0
    for piece in new.pieces:
        assert at <= piece.start < piece.end <= len(text)
        assert text[at : piece.start] == new.text[new_at : piece.new_start]
        for offset in range(at, piece.start):
            assert to_released(new.pieces, offset) == offset - at + new_at
            assert to_original(new.pieces, offset - at + new_at) == offset
            assert span_to_original(new.pieces, *span_to_released(new.pieces, offset, offset + 1)) == (
                offset,
                offset + 1,
            )
        at, new_at = piece.end, piece.new_end
    assert text[at:] == new.text[new_at:]
    assert to_released(new.pieces, len(text)) == len(new.text)
    assert to_original(new.pieces, len(new.text)) == len(text)


@given(texts_with_spans(), policies())
def test_every_piece_maps_to_its_stretch_and_back(note: tuple[str, list[Span]], policy: Policy) -> None:
    text, spans = note
    new = release_text(text, spans, policy, PLACEHOLDERS, Told())
    for piece in new.pieces:
        assert span_to_released(new.pieces, piece.start, piece.end) == (piece.new_start, piece.new_end)
        if piece.new_start < piece.new_end:
            assert span_to_original(new.pieces, piece.new_start, piece.new_end) == (piece.start, piece.end)
        if piece.action is Action.KEEP:
            assert text[piece.start : piece.end] == new.text[piece.new_start : piece.new_end]


@given(texts_with_spans(), policies())
def test_every_span_that_is_not_kept_is_replaced_completely(note: tuple[str, list[Span]], policy: Policy) -> None:
    text, spans = note
    new = release_text(text, spans, policy, PLACEHOLDERS, Told())
    replaced = {at for piece in new.pieces if piece.action is not Action.KEEP for at in range(piece.start, piece.end)}
    for span in spans:
        if policy.rules[span.label].action is not Action.KEEP:
            assert replaced.issuperset(range(span.start, span.end))


@given(texts_with_spans())
def test_spans_of_different_labels_that_overlap_never_write_a_part_of_the_original(
    note: tuple[str, list[Span]],
) -> None:
    text, spans = note
    rules = {"NAME": name(Action.MASK), "DATE": Rule(Kind.AGE, Action.GENERALIZE), "ID-1": Rule(Kind.ID, Action.MASK)}
    for plan in planned(text, spans, Policy(rules)):
        if plan.action is Action.GENERALIZE:
            inside = [span for span in spans if plan.mention.start <= span.start < plan.mention.end]
            assert {span.label for span in inside} == {plan.mention.label}


def test_spans_at_both_ends_that_touch_and_nest_beside_characters_outside_the_basic_plane() -> None:
    text = "😀Ann👍🏽Bob"
    spans = [Span(0, 4, "NAME"), Span(1, 4, "NAME"), Span(4, 6, "ID"), Span(6, 9, "NAME")]
    policy = Policy({"NAME": name(Action.MASK), "ID": Rule(Kind.ID, Action.REMOVE)})
    new = release_text(text, spans, policy, {"NAME": "[NAME]", "ID": "[ID]"}, Told())
    assert new.text == "[NAME][NAME]"
    assert [(piece.start, piece.end, piece.new_start, piece.new_end) for piece in new.pieces] == [
        (0, 4, 0, 6),
        (4, 6, 6, 6),
        (6, 9, 6, 12),
    ]


def test_a_label_without_a_rule_is_an_error_that_names_it() -> None:
    with pytest.raises(PolicyError, match="no rule for these labels: NAME"):
        release_text("Ann", [Span(0, 3, "NAME")], Policy({}), {}, Told())


def test_a_kept_span_stays_a_piece_but_never_covers_a_name_inside_it() -> None:
    rules = {"HOSPITAL": Rule(Kind.HOSPITAL, Action.KEEP), "NAME": name(Action.MASK)}
    new = released("at Saint Wilson House now", ("Saint Wilson House", "HOSPITAL"), ("Wilson", "NAME"), **rules)
    assert new.text == "at Saint [NAME] House now"
    assert [(piece.action, new.text[piece.new_start : piece.new_end]) for piece in new.pieces] == [
        (Action.KEEP, "Saint"),
        (Action.MASK, "[NAME]"),
        (Action.KEEP, "House"),
    ]


def test_masks_may_be_numbered_by_entity() -> None:
    text = "Adam Wilson and Eve Chang: Wilson came."
    marks = (("Adam Wilson", "NAME"), ("Eve Chang", "NAME"), (": Wilson", "NAME"))
    policy = Policy({"NAME": name(Action.MASK, numbered=True)})
    spans = [Span(text.index(quote), text.index(quote) + len(quote), label) for quote, label in marks]
    told = Told(numbers=numbered(plan.mention for plan in planned(text, spans, policy)))
    new = release_text(text, spans, policy, {"NAME": "[NAME]"}, told)
    assert new.text == "[NAME 1] and [NAME 2][NAME 1] came."


def test_a_placeholder_without_brackets_gets_its_number_at_the_end() -> None:
    policy = Policy({"NAME": name(Action.MASK, numbered=True)})
    assert release_text("Ann", [Span(0, 3, "NAME")], policy, {"NAME": "NAME"}, Told()).text == "NAME 1"


def test_a_hash_is_short_and_equal_for_equal_identifiers() -> None:
    text = "Ann, ANN"
    policy = Policy({"NAME": name(Action.HASH)})
    new = release_text(text, [Span(0, 3, "NAME"), Span(5, 8, "NAME")], policy, {}, Told()).text
    first, second = new.split(", ")
    assert first == second
    assert first.startswith("NAME-") and len(first) == len("NAME-") + 12


AGE, DATE, ZIP = (Rule(kind, Action.GENERALIZE) for kind in (Kind.AGE, Kind.DATE, Kind.ZIP))
CITY, COUNTRY = (Rule(kind, Action.GENERALIZE) for kind in (Kind.CITY, Kind.COUNTRY))
SHIFT = Rule(Kind.DATE, Action.SHIFT)


@pytest.mark.parametrize(
    ("text", "marks", "rules", "expected"),
    [
        ("Dr. Ann Lee came", "Dr. Ann Lee|NAME", {"NAME": name(Action.SURROGATE)}, "Chang came"),
        # An age up to 89 stays, unless it covers a name.
        ("45 years of a", "45 years|AGE of|NAME", {"AGE": AGE, "NAME": name(Action.MASK)}, "45 years [NAME] a"),
        ("45 years of a", "45 years of|AGE of|NAME", {"AGE": AGE, "NAME": name(Action.MASK)}, "[AGE] a"),
        # A date without a year is shifted in the year of the date before it.
        ("2/8/2020 then 2/28", "2/8/2020|DATE 2/28|DATE", {"DATE": SHIFT}, "2/28/2020 then 3/19"),
        ("2/8/2021 then 2/28", "2/8/2021|DATE 2/28|DATE", {"DATE": SHIFT}, "2/28/2021 then 3/20"),
        # A year stays, unless it tells an age over 89.
        (
            "Born 5/6/1928, seen 3/12/2021 and in 1950",
            "5/6/1928|DATE 3/12/2021|DATE 1950|DATE",
            {"DATE": DATE},
            "Born [DATE], seen 2021 and in 1950",
        ),
        (
            "Boston 02139, Smallville 99999-x, France",
            "Boston|CITY 02139|ZIP Smallville|CITY 99999-x|ZIP France|COUNTRY",
            {"CITY": CITY, "ZIP": ZIP, "COUNTRY": COUNTRY},
            "Massachusetts 021, [CITY] [ZIP], France",
        ),
    ],
)
def test_each_action(text: str, marks: str, rules: dict[str, Rule], expected: str) -> None:
    found = re.findall(r"(.+?)\|([A-Z]+) ?", marks)
    assert released(text, *found, **rules).text == expected


def test_a_date_is_shifted_or_masked_if_it_is_undecipherable_and_the_piece_says_so() -> None:
    shifted = released("on 3/12/2021", ("3/12/2021", "DATE"), DATE=SHIFT)
    assert (shifted.text, shifted.pieces[0].action) == ("on 4/1/2021", Action.SHIFT)
    masked = released("at Easter", ("Easter", "DATE"), DATE=SHIFT)
    assert (masked.text, masked.pieces[0].action) == ("at [DATE]", Action.MASK)


@pytest.mark.parametrize(
    ("text", "quotes", "expected"),
    [
        ("Mr. Adam Wilson, 45, came.", ["Adam Wilson"], "Mr., 45, came."),
        ("Seen by Adam today.", ["Adam"], "Seen by today."),
        ("Seen by Adam.", ["Adam"], "Seen by."),
        ("Adam came", ["Adam"], "came"),
        ("Name: Adam\nAge: 3", ["Adam"], "Name:\nAge: 3"),
        ("  Adam came", ["Adam"], "  came"),
        ("By Adam (Wilson) today", ["Adam", "Wilson"], "By today"),
        ("Boston, MA, fine", ["MA"], "Boston, fine"),
        ("by Adam Wilson, y", ["Adam", "Wilson"], "by, y"),
        ("by AdamWilson y", ["Adam", "Wilson"], "by y"),
        ("(Adam came)", ["Adam"], "(came)"),
        ("Adam", ["Adam"], ""),
        ("a\n  Adam\nb", ["Adam"], "a\n\nb"),
        ("two  Adam  spaces", ["Adam"], "two  spaces"),
    ],
)
def test_removing_leaves_readable_text(text: str, quotes: list[str], expected: str) -> None:
    assert released(text, *((quote, "NAME") for quote in quotes), NAME=name(Action.REMOVE)).text == expected


@given(
    st.lists(st.tuples(st.sampled_from(["Ann", "Bob", "saw", "it", "now"]), st.sampled_from([" ", ", ", ". ", "\n"]))),
)
def test_removing_leaves_no_double_space_and_none_before_punctuation(words: list[tuple[str, str]]) -> None:
    text = "".join(word + after for word, after in words).strip()
    spans = [Span(at, at + 3, "NAME") for at in range(len(text)) if text.startswith(("Ann", "Bob"), at)]
    new = release_text(text, spans, Policy({"NAME": name(Action.REMOVE)}), {}, Told()).text
    assert not any(bad in new for bad in ("  ", " ,", " .", " \n", "Ann", "Bob"))
    assert not new.startswith(" ")
