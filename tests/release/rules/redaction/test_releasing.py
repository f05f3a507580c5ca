"""Released texts: every action, in every mix, with exact offsets."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.release.rules.redaction.ages import latest_year
from annotations.release.rules.redaction.policy import (
    SHIPPED,
    Action,
    LabelRule,
    Policy,
    PolicyError,
    actions_for,
    kinds_of,
    rules_for,
)
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.redaction.released import (
    Mention,
    ReplacedPiece,
    attributes_of_pieces,
    numbered,
    span_to_original,
    span_to_released,
)
from annotations.release.rules.redaction.releasing import planned, release_text
from annotations.text.spans import Span
from tests.release.rules.redaction.replacing import Told
from tests.text.strategies import LABELS, texts_with_spans

KINDS = dict(zip(LABELS, (Kind.NAME, Kind.DATE, Kind.ID), strict=True))
PLACEHOLDERS = {label: f"[{label}]" for label in LABELS}


def policies():
    rules = {
        label: st.builds(LabelRule, st.just(kind), st.sampled_from(actions_for(kind)), st.booleans())
        for label, kind in KINDS.items()
    }
    return st.fixed_dictionaries(rules).map(Policy)


def released(text, *marks, told=None, **rules):
    spans = [Span(text.index(quote), text.index(quote) + len(quote), label) for quote, label in marks]
    told = told or Told(latest_year=latest_year(text))
    return release_text(text, spans, Policy(rules), {label: f"[{label}]" for label in rules}, told)


def name(action, numbered=False):
    return LabelRule(Kind.NAME, action, numbered)


@given(texts_with_spans(), policies())
def test_outside_the_pieces_both_texts_are_equal_and_offsets_are_exact(note, policy):
    text, spans = note
    new = release_text(text, spans, policy, PLACEHOLDERS, Told())
    at = new_at = 0
    for piece in new.pieces:
        assert at <= piece.start < piece.end <= len(text)
        assert text[at : piece.start] == new.text[new_at : piece.new_start]
        for offset in range(at, piece.start):
            assert span_to_released(new.pieces, offset, offset)[0] == offset - at + new_at
            assert span_to_original(new.pieces, offset - at + new_at, offset - at + new_at)[0] == offset
            both = span_to_released(new.pieces, offset, offset + 1)
            assert span_to_original(new.pieces, *both) == (offset, offset + 1)
        # Every piece maps to its stretch and back.
        assert span_to_released(new.pieces, piece.start, piece.end) == (piece.new_start, piece.new_end)
        if piece.new_start < piece.new_end:
            assert span_to_original(new.pieces, piece.new_start, piece.new_end) == (piece.start, piece.end)
        if piece.action is Action.KEEP:
            assert text[piece.start : piece.end] == new.text[piece.new_start : piece.new_end]
        at, new_at = piece.end, piece.new_end
    assert text[at:] == new.text[new_at:]
    assert (
        span_to_released(new.pieces, len(text), len(text))[0],
        span_to_original(new.pieces, len(new.text), len(new.text))[0],
    ) == (len(new.text), len(text))
    # Every span that is not kept is replaced completely.
    replaced = {at for piece in new.pieces if piece.action is not Action.KEEP for at in range(piece.start, piece.end)}
    for span in spans:
        if policy.rules[span.label].action is not Action.KEEP:
            assert replaced.issuperset(range(span.start, span.end))


@given(texts_with_spans())
def test_spans_of_different_labels_that_overlap_never_write_a_part_of_the_original(note):
    text, spans = note
    rules = {
        "NAME": name(Action.MASK),
        "DATE": LabelRule(Kind.AGE, Action.GENERALIZE),
        "ID-1": LabelRule(Kind.ID, Action.MASK),
    }
    for plan in planned(text, spans, Policy(rules)):
        if plan.action is Action.GENERALIZE:
            inside = [span for span in spans if plan.mention.start <= span.start < plan.mention.end]
            assert {span.label for span in inside} == {plan.mention.label}


def test_spans_at_both_ends_that_touch_and_nest_beside_characters_outside_the_basic_plane():
    spans = [Span(0, 4, "NAME"), Span(1, 4, "NAME"), Span(4, 6, "ID"), Span(6, 9, "NAME")]
    policy = Policy({"NAME": name(Action.MASK), "ID": LabelRule(Kind.ID, Action.REMOVE)})
    new = release_text("😀Ann👍🏽Bob", spans, policy, {"NAME": "[NAME]", "ID": "[ID]"}, Told())
    assert new.text == "[NAME][NAME]"
    bounds = [(piece.start, piece.end, piece.new_start, piece.new_end) for piece in new.pieces]
    assert bounds == [(0, 4, 0, 6), (4, 6, 6, 6), (6, 9, 6, 12)]
    with pytest.raises(PolicyError, match="no rule for these labels: NAME"):
        release_text("Ann", [Span(0, 3, "NAME")], Policy({}), {}, Told())


def test_a_kept_span_stays_a_piece_but_never_covers_a_name_inside_it():
    rules = {"HOSPITAL": LabelRule(Kind.HOSPITAL, Action.KEEP), "NAME": name(Action.MASK)}
    new = released("at Saint Wilson House now", ("Saint Wilson House", "HOSPITAL"), ("Wilson", "NAME"), **rules)
    assert new.text == "at Saint [NAME] House now"
    found = [(piece.action, new.text[piece.new_start : piece.new_end]) for piece in new.pieces]
    assert found == [(Action.KEEP, "Saint"), (Action.MASK, "[NAME]"), (Action.KEEP, "House")]


def test_masks_may_be_numbered_by_entity():
    text = "Adam Wilson and Eve Chang: Wilson came."
    policy = Policy({"NAME": name(Action.MASK, numbered=True)})
    spans = [Span(0, 11, "NAME"), Span(16, 25, "NAME"), Span(25, 33, "NAME")]
    told = Told(numbers=numbered(plan.mention for plan in planned(text, spans, policy)))
    assert release_text(text, spans, policy, {"NAME": "[NAME]"}, told).text == "[NAME 1] and [NAME 2][NAME 1] came."
    # A placeholder without brackets gets its number at the end.
    assert release_text("Ann", [Span(0, 3, "NAME")], policy, {"NAME": "NAME"}, Told()).text == "NAME 1"


def test_a_hash_is_short_and_equal_for_equal_identifiers():
    spans = [Span(0, 3, "NAME"), Span(5, 8, "NAME")]
    first, second = release_text("Ann, ANN", spans, Policy({"NAME": name(Action.HASH)}), {}, Told()).text.split(", ")
    assert first == second and first.startswith("NAME-") and len(first) == len("NAME-") + 12


AGE, DATE, ZIP = (LabelRule(kind, Action.GENERALIZE) for kind in (Kind.AGE, Kind.DATE, Kind.ZIP))
CITY, COUNTRY = (LabelRule(kind, Action.GENERALIZE) for kind in (Kind.CITY, Kind.COUNTRY))
SHIFT = LabelRule(Kind.DATE, Action.SHIFT)


ACTIONS = [
    ("Dr. Ann Lee came", "Dr. Ann Lee|NAME", {"NAME": name(Action.SURROGATE)}, "Chang came"),
    # An age up to 89 stays, unless it covers a name.
    ("45 years of a", "45 years|AGE of|NAME", {"AGE": AGE, "NAME": name(Action.MASK)}, "45 years [NAME] a"),
    ("45 years of a", "45 years of|AGE of|NAME", {"AGE": AGE, "NAME": name(Action.MASK)}, "[AGE] a"),
    # A date without a year is shifted in the year of the date before it.
    ("2/8/2020 then 2/28", "2/8/2020|DATE 2/28|DATE", {"DATE": SHIFT}, "2/28/2020 then 3/19"),
    ("2/8/2021 then 2/28", "2/8/2021|DATE 2/28|DATE", {"DATE": SHIFT}, "2/28/2021 then 3/20"),
    # A year stays, unless it tells an age over 89.
    (
        "Born 5/6/1928, seen 3/12/2021 and in 1950", "5/6/1928|DATE 3/12/2021|DATE 1950|DATE", {"DATE": DATE},
        "Born [DATE], seen 2021 and in 1950",
    ),
    (
        "Born 12 Dec 1919, seen in 2019, 2050 ml", "12 Dec 1919|DATE", {"DATE": DATE},
        "Born [DATE], seen in 2019, 2050 ml",
    ),
    ("Born 12 Dec 1949, seen in 2019, 2050 ml", "12 Dec 1949|DATE", {"DATE": DATE}, "Born 1949, seen in 2019, 2050 ml"),
    (
        "Boston 02139, Smallville 99999-x, France", "Boston|CITY 02139|ZIP Smallville|CITY 99999-x|ZIP France|COUNTRY",
        {"CITY": CITY, "ZIP": ZIP, "COUNTRY": COUNTRY}, "Massachusetts 021, [CITY] [ZIP], France",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "marks", "rules", "expected"), ACTIONS)
def test_each_action(text, marks, rules, expected):
    found = re.findall(r"(.+?)\|([A-Z]+) ?", marks)
    assert released(text, *found, **rules).text == expected


def test_a_date_is_shifted_or_masked_if_it_is_undecipherable_and_the_piece_says_so():
    shifted = released("on 3/12/2021", ("3/12/2021", "DATE"), DATE=SHIFT)
    assert (shifted.text, shifted.pieces[0].action) == ("on 4/1/2021", Action.SHIFT)
    masked = released("at Easter", ("Easter", "DATE"), DATE=SHIFT)
    assert (masked.text, masked.pieces[0].action) == ("at [DATE]", Action.MASK)


REMOVED = [
    ("Mr. Adam Wilson, 45, came.", ["Adam Wilson"], "Mr., 45, came."),
    ("Seen by Adam today.", ["Adam"], "Seen by today."), ("Seen by Adam.", ["Adam"], "Seen by."),
    ("Adam came", ["Adam"], "came"), ("Name: Adam\nAge: 3", ["Adam"], "Name:\nAge: 3"),
    ("  Adam came", ["Adam"], "  came"), ("By Adam (Wilson) today", ["Adam", "Wilson"], "By today"),
    ("Boston, MA, fine", ["MA"], "Boston, fine"), ("by Adam Wilson, y", ["Adam", "Wilson"], "by, y"),
    ("by AdamWilson y", ["Adam", "Wilson"], "by y"), ("(Adam came)", ["Adam"], "(came)"), ("Adam", ["Adam"], ""),
    ("a\n  Adam\nb", ["Adam"], "a\n\nb"), ("two  Adam  spaces", ["Adam"], "two  spaces"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "quotes", "expected"), REMOVED)
def test_removing_leaves_readable_text(text, quotes, expected):
    assert released(text, *((quote, "NAME") for quote in quotes), NAME=name(Action.REMOVE)).text == expected


@given(
    st.lists(st.tuples(st.sampled_from(["Ann", "Bob", "saw", "it", "now"]), st.sampled_from([" ", ", ", ". ", "\n"])))
)
def test_removing_leaves_no_double_space_and_none_before_punctuation(words):
    text = "".join(word + after for word, after in words).strip()
    spans = [Span(at, at + 3, "NAME") for at in range(len(text)) if text.startswith(("Ann", "Bob"), at)]
    new = release_text(text, spans, Policy({"NAME": name(Action.REMOVE)}), {}, Told()).text
    assert not any(bad in new for bad in ("  ", " ,", " .", " \n", "Ann", "Bob")) and not new.startswith(" ")


# ── Which attributes the stretches of a released text have ───────────────────────────────────────────────────────────


def piece(start, end, label):
    return ReplacedPiece(start, end, 0, 0, label, Action.MASK)


def span(start, end, label, **attributes):
    return Span(start, end, label, attributes=tuple(sorted(attributes.items())))


def test_a_stretch_has_the_attributes_of_its_longest_span_with_its_label():
    nurse, dead = (("role", "nurse"),), (("dead", True), ("role", "patient"))
    spans = [
        span(0, 4, "NAME", role="nurse"), span(2, 9, "NAME", role="patient", dead=True), span(3, 12, "CITY", old=True),
    ]  # fmt: skip
    spans += [span(20, 25, "NAME"), span(20, 25, "DATE", day="mon")]
    pieces = [piece(0, 12, "NAME"), piece(20, 25, "NAME"), piece(30, 31, "NAME")]
    assert attributes_of_pieces(pieces, spans) == [dead, (), ()]
    # Of two equally long spans, the earlier one counts.
    spans = [span(0, 4, "NAME", role="nurse"), span(2, 6, "NAME", role="patient")]
    assert attributes_of_pieces([piece(0, 6, "NAME")], spans) == [nurse]
    # The parts of a kept span have its attributes.
    spans = [span(0, 20, "CITY", old=True), span(5, 9, "NAME", role="nurse")]
    pieces = [piece(0, 5, "CITY"), piece(5, 9, "NAME"), piece(9, 20, "CITY")]
    assert attributes_of_pieces(pieces, spans) == [(("old", True),), nurse, (("old", True),)]


# ── Places inside pieces, which correspond to no place of the other text ─────────────────────────────────────────────


# "ab XXXX cd YY ef" became "ab [X] cd ef".
PIECES = [ReplacedPiece(3, 7, 3, 6, "X", Action.MASK), ReplacedPiece(10, 13, 9, 9, "Y", Action.REMOVE)]


def test_an_offset_inside_a_piece_goes_to_its_start():
    assert [span_to_released(PIECES, at, at)[0] for at in (0, 3, 5, 7, 9, 11, 13, 16)] == [0, 3, 3, 6, 8, 9, 9, 12]
    assert [span_to_original(PIECES, at, at)[0] for at in (0, 3, 5, 6, 8, 9, 12)] == [0, 3, 3, 7, 9, 13, 16]


def test_a_span_that_touches_the_inside_of_a_piece_covers_all_of_it():
    assert span_to_released(PIECES, 4, 5) == (3, 6) and span_to_released(PIECES, 1, 9) == (1, 8)
    assert span_to_released(PIECES, 11, 12) == (9, 9) and span_to_original(PIECES, 4, 5) == (3, 7)
    assert span_to_original(PIECES, 1, 8) == (1, 9) and span_to_original(PIECES, 8, 10) == (9, 14)
    assert span_to_original(PIECES, 9, 9) == (13, 13)


# ── Numbers of entities in one note ──────────────────────────────────────────────────────────────────────────────────


ENTITIES = [
    (["Wilson", "Dr. Adam Wilson", "ADAM WILSON", "A. Wilson", "Wilson, Adam"], Kind.NAME, [1, 1, 1, 1, 1]),
    (["Peña", "pena", "Eve Chang", "Chang"], Kind.NAME, [1, 1, 2, 2]),
    (["Adam Wilson", "E. Wilson", "A."], Kind.NAME, [1, 2, 3]),  # an initial that differs
    (["Adam Wilson", "Eve Wilson", "Wilson"], Kind.NAME, [1, 2, 1]),  # a part of several names
    (["Dr.", "Dr. Chang"], Kind.NAME, [1, 2]),
    (["Boston", "South Boston", "BOSTON"], Kind.CITY, [1, 2, 1]),  # other kinds need equal texts
    (["12-3", "123"], Kind.ID, [1, 2]),
]


@pytest.mark.parametrize(("texts", "kind", "expected"), ENTITIES)
def test_which_mentions_are_one_entity(texts, kind, expected):
    mentions = [Mention(at * 100, at * 100 + len(text), "NAME", kind, text) for at, text in enumerate(texts)]
    found = numbered(mentions)
    assert [found[mention.start, mention.end] for mention in mentions] == expected


def test_each_label_has_its_own_numbers():
    assert set(numbered([Mention(0, 3, "A", Kind.NAME, "Ann"), Mention(5, 8, "B", Kind.NAME, "Ann")]).values()) == {1}


# The shipped policies: total, possible, and what the laws say about single kinds.


STAYS = {
    Kind.DATE: "dates", Kind.CITY: "cities", Kind.REGION: "states",
    Kind.COUNTRY: "countries", Kind.ZIP: "zip codes",
    Kind.PROFESSION: "professions", Kind.SEX: "sex", Kind.ETHNICITY: "ethnicity",
    Kind.AGE: "ages",
}  # fmt: skip


@pytest.mark.parametrize("slug", SHIPPED)
def test_each_policy_has_a_possible_action_for_every_kind_and_describes_what_stays(slug):
    policy = SHIPPED[slug]
    assert set(policy.actions) == set(Kind)
    assert all(action in actions_for(kind) for kind, action in policy.actions.items())
    kept = {kind for kind, action in policy.actions.items() if action == Action.KEEP}
    assert kept <= set(STAYS) and [STAYS[kind] for kind in kept if STAYS[kind] not in policy.description.lower()] == []


@pytest.mark.parametrize("slug", SHIPPED)
@pytest.mark.parametrize("label_set", ["i2b2-2014", "hipaa-18", "meddocan", "it-4", "omissis", "redactor-33"])
def test_each_policy_is_total_for_the_shipped_label_sets(slug, label_set):
    kinds = kinds_of(label_set)
    rules = rules_for(slug, kinds)
    Policy(rules).require(kinds)
    assert Policy.read({code: rule.as_dict() for code, rule in rules.items()}) == Policy(rules)


def test_errors_name_labels_and_choices():
    with pytest.raises(PolicyError, match=r"can't shift NAME.*keep, mask, remove, hash, surrogate"):
        Policy({"NAME": LabelRule(Kind.NAME, Action.SHIFT)}).require([])


@pytest.mark.parametrize("kind", ["date", "sex", "family", "ethnicity", "biometric", "other"])
def test_dates_and_descriptions_have_no_surrogates(kind):
    policy = Policy({"X": LabelRule(Kind(kind), Action.SURROGATE)})
    with pytest.raises(PolicyError, match=rf"can't replace X by surrogates: its type is {kind}.*keep, mask, remove"):
        policy.require([])


def test_safe_harbor_and_the_limited_data_set_treat_places_and_dates_as_the_rule_says():
    safe, limited = SHIPPED["safe-harbor"].actions, SHIPPED["limited"].actions
    masked = (Kind.NAME, Kind.STREET, Kind.PHONE, Kind.RECORD, Kind.URL, Kind.FAMILY, Kind.ORGANIZATION)
    both = {(Action.MASK, Action.MASK): masked, (Action.KEEP, Action.KEEP): (Kind.REGION, Kind.COUNTRY, Kind.SEX)}
    both |= {
        (Action.MASK, Action.KEEP): (Kind.CITY,),
        (Action.GENERALIZE, Action.KEEP): (Kind.DATE, Kind.AGE, Kind.ZIP),
    }
    assert all((safe[kind], limited[kind]) == actions for actions, kinds in both.items() for kind in kinds)
    surrogate = SHIPPED["surrogate"].actions
    assert (surrogate[Kind.COUNTRY], surrogate[Kind.REGION]) == (Action.KEEP, Action.SURROGATE)
