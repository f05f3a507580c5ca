"""The leak gate: what it finds in released texts, where, and what its named exceptions let stay."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.leaks.gate import Gate, Leak
from annotations.domain.leaks.needles import Needle, needles_of
from annotations.domain.leaks.shapes import telephones
from annotations.domain.redaction.dates import years
from annotations.domain.redaction.kinds import Kind
from annotations.domain.redaction.policy import Action, Policy, Rule
from annotations.domain.redaction.released import Piece, Released
from annotations.domain.redaction.releasing import release_text
from annotations.domain.spans import Span
from tests.domain.redaction.replacing import Told
from tests.domain.strategies import LABELS, texts_with_spans
from tests.timing import takes_at_most

RULES = {
    "NAME": Rule(Kind.NAME, Action.MASK),
    "CITY": Rule(Kind.CITY, Action.MASK),
    "HOSPITAL": Rule(Kind.HOSPITAL, Action.MASK),
    "DATE": Rule(Kind.DATE, Action.MASK),
    "AGE": Rule(Kind.AGE, Action.MASK),
    "PHONE": Rule(Kind.PHONE, Action.MASK),
    "SEX": Rule(Kind.SEX, Action.MASK),
    "JOB": Rule(Kind.PROFESSION, Action.MASK),
}


def needle(text: str, label: str = "NAME", **other: object) -> Needle:
    return Needle(text, label, RULES[label].kind, **other)  # type: ignore[arg-type]  # tests pass source and note


def quotes(text: str, *needles: Needle, gate: Gate | None = None, pieces: tuple[Piece, ...] = ()) -> list[str]:
    found = (gate or Gate()).find(text, needles, pieces)
    return [text[leak.start : leak.end] for leak in found]


def counted(text: str, *needles: Needle, gate: Gate | None = None) -> Counter[str]:
    exceptions: Counter[str] = Counter()
    assert (gate or Gate()).find(text, needles, exceptions=exceptions) == []
    return exceptions


def released(text: str, *marks: tuple[str, str], told: Told | None = None, **rules: Rule) -> tuple[Released, Policy]:
    policy = Policy({**RULES, **rules})
    spans = [Span(text.index(quote), text.index(quote) + len(quote), label) for quote, label in marks]
    return release_text(text, spans, policy, {code: f"[{code}]" for code in policy.rules}, told or Told()), policy


def leaks(text: str, *marks: tuple[str, str], told: Told | None = None, **rules: Rule) -> tuple[list[str], set[str]]:
    """What the gate finds after a release of this text with the first place of each quote labeled, and exceptions."""
    new, policy = released(text, *marks, told=told, **rules)
    spans = [Span(text.index(quote), text.index(quote) + len(quote), label) for quote, label in marks]
    exceptions: Counter[str] = Counter()
    found = Gate((), ["en"]).find(new.text, needles_of(text, spans, policy), new.pieces, exceptions=exceptions)
    return [new.text[leak.start : leak.end] for leak in found], set(exceptions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seen by Adam Wilson today", ["Adam Wilson"]),
        ("ADAM WILSON", ["ADAM WILSON"]),
        ("adam\n wilson", ["adam\n wilson"]),
        ("Adam-Wilson", ["Adam-Wilson"]),
        ("Ádám Wilsón", ["Ádám Wilsón"]),
        ("A\u0301dam Wilson\u0301", ["A\u0301dam Wilson\u0301"]),
        ("Wilson, Adam", ["Wilson", "Adam"]),
        ("Adams Wilsonian", []),
        ("wilson3", ["wilson"]),
        ("😀Wilson👍🏽", ["Wilson"]),
        ("Adam Wilson met Wilson", ["Adam Wilson", "Wilson"]),
    ],
)
def test_whole_words_are_found_whatever_their_case_and_accents(text: str, expected: list[str]) -> None:
    assert quotes(text, needle("Adam Wilson")) == expected


def test_offsets_are_those_of_the_released_text_where_folding_changes_lengths() -> None:
    text = "ßßß ﬁﬁ Weiß"
    (leak,) = Gate().find(text, [needle("WEISS")])
    assert text[leak.start : leak.end] == "Weiß"


def test_parts_have_four_letters_or_more() -> None:
    assert quotes("Lee and Eve saw Adam", needle("Eve Lee Adam")) == ["Adam"]


def test_the_whole_string_goes_before_its_part_and_the_note_before_others() -> None:
    first, own = needle("Adam Wilson", note=1, source="other"), needle("Wilson", note=2, source="own")
    assert Gate().find("Wilson", [first, own], note=2) == [Leak(0, 6, own, part=False)]
    assert Gate().find("Wilson", [first, own], note=1) == [Leak(0, 6, own, part=False)]
    again = needle("WILSON", note=3, source="again")
    assert Gate().find("Wilson", [own, again], note=3)[0].needle is again
    assert Gate().find("Wilson", [own, again])[0].needle is own


def test_needles_may_be_prepared_once_for_many_texts() -> None:
    gate = Gate()
    prepared = gate.prepared([needle("Adam Wilson"), needle("")])
    assert [len(gate.find(text, prepared)) for text in ("Adam Wilson", "nobody", "Wilson")] == [1, 0, 1]


def test_a_word_outside_ascii_and_a_number_in_other_digits_are_found() -> None:
    assert quotes("Dr. ΩΜΈΓΑ came", needle("Ωμέγα")) == ["ΩΜΈΓΑ"]
    assert quotes("call ٩١٥ ١٢٣ ٤٥٦", needle("٩١٥١٢٣٤٥٦", "PHONE")) == ["٩١٥ ١٢٣ ٤٥٦"]
    assert quotes("µg 12mg", needle("gg"), needle("µg"), needle("mg")) == ["µg", "mg"]


def test_of_dates_ages_and_numbers_only_the_whole_string_is_sought() -> None:
    date = needle("3 November 2021", "DATE")
    assert quotes("in November 2021", date, gate=Gate((), ["es"])) == []
    assert quotes("on 3 NOVEMBER 2021", date) == ["3 NOVEMBER 2021"]
    assert quotes("aged forty-five", needle("forty-five years", "AGE")) == []


def test_short_numbers_need_the_same_separators_and_long_ones_do_not() -> None:
    assert quotes("level 3.12 and 3/12", needle("3/12", "DATE")) == ["3/12"]
    assert quotes("call 555 12-34567", needle("555-12-34567", "PHONE")) == ["555 12-34567"]


def test_single_letters_and_numbers_of_two_digits_stay_by_the_exception_short() -> None:
    assert counted("45 mg, M", needle("45", "AGE"), needle("M", "SEX")) == {"short": 2}
    assert quotes("102 years", needle("102", "AGE")) == ["102"]


def test_generic_words_stay_by_the_exception_generic_in_the_languages_of_the_notes() -> None:
    hospital = needle("Hospital General de Lugo", "HOSPITAL")
    assert counted("El hospital general", hospital, gate=Gate((), ["es"])) == {"generic": 2}
    assert counted("General Hospital", needle("General Hospital", "HOSPITAL")) == {"generic": 3}
    assert quotes("Ospedale", needle("Ospedale Rossi", "HOSPITAL"), gate=Gate((), ["en"])) == ["Ospedale"]
    assert quotes("Lugo", hospital, gate=Gate((), ["es"])) == ["Lugo"]


def test_allowed_terms_stay_by_the_exception_allowed() -> None:
    gate = Gate(["WILSON", "Parkinson"])
    assert counted("Wilson's disease", needle("Adam Wilson"), gate=gate) == {"allowed": 1}
    assert quotes("Adam Wilson", needle("Adam Wilson"), gate=gate) == ["Adam Wilson"]


def test_parts_of_descriptions_stay_by_the_exception_description() -> None:
    assert counted("a good player", needle("basketball player", "JOB")) == {"description": 1}
    assert quotes("a basketball player", needle("Basketball Player", "JOB")) == ["basketball player"]


def test_a_part_that_is_also_a_name_is_no_description() -> None:
    found = quotes("Baker", needle("pastry baker", "JOB"), needle("Eve Baker"))
    assert found == ["Baker"]


def test_parts_of_places_written_as_common_words_stay_by_the_exception_lower_case() -> None:
    place = needle("Lagos Clinic", "HOSPITAL")
    assert counted("venous lagos", place) == {"lower case": 1}
    assert quotes("in Lagos", place) == ["Lagos"]
    assert quotes("saw lagos", needle("Ann Lagos")) == ["lagos"]
    assert quotes("saw lagos", place, needle("Ann Lagos")) == ["lagos"]


def test_placeholders_and_hashes_are_not_searched() -> None:
    assert leaks("Name Ann", ("Ann", "NAME"), ("Name", "CITY")) == ([], set())
    hashed = Rule(Kind.NAME, Action.HASH)
    assert leaks("Xname Ann", ("Ann", "NAME"), ("Xname", "NAME"), NAME=hashed) == ([], set())
    piece = Piece(5, 8, 5, 11, "NAME", Action.MASK)
    assert quotes("Adam [NAME] Wilson", needle("Adam Name Wilson"), pieces=(piece,)) == ["Adam", "Wilson"]


def test_what_a_removal_joins_is_found() -> None:
    assert leaks("Eve Wilson and Eve X Wilson", ("Eve Wilson", "NAME"), ("X", "CITY"),
                 CITY=Rule(Kind.CITY, Action.REMOVE)) == (["Eve Wilson"], set())  # fmt: skip


def test_a_surrogate_equal_to_an_original_is_a_leak() -> None:
    told = Told(surrogates={"Adam Wilson": "Kevin Chang", "Chang": "Wilson"})
    rule = Rule(Kind.NAME, Action.SURROGATE)
    found, _ = leaks("Adam Wilson, Chang", ("Adam Wilson", "NAME"), ("Chang", "NAME"), told=told, NAME=rule)
    assert found == ["Chang", "Wilson"]


def test_a_shifted_date_equal_to_another_original_is_a_leak_but_a_shifted_month_or_year_is_not() -> None:
    shift = Rule(Kind.DATE, Action.SHIFT)
    text = "3/12/2021 and 4/1/2021"
    assert leaks(text, ("3/12/2021", "DATE"), ("4/1/2021", "DATE"), DATE=shift) == (["4/1/2021"], set())
    text = "March 2021 and April 2021, 2021 on 5/5/2021"
    marks = (("March 2021", "DATE"), ("April 2021", "DATE"), ("5/5/2021", "DATE"))
    assert leaks(text, *marks, DATE=shift) == ([], {"generalized"})
    week = Told(days=70)
    assert leaks("on Tue", ("Tue", "DATE"), told=week, DATE=shift) == ([], {"generic"})
    assert leaks("2021 on 5/5/2021", ("2021", "DATE"), ("5/5/2021", "DATE"), DATE=shift) == ([], {"generalized"})


def test_years_and_regions_that_the_policy_made_stay_by_the_exception_generalized() -> None:
    years = Rule(Kind.DATE, Action.GENERALIZE)
    assert leaks("2021, 3/12/2021", ("2021", "DATE"), ("3/12/2021", "DATE"), DATE=years) == ([], {"generalized"})
    assert leaks("Since 3/12/2021, in 2021", ("3/12/2021", "DATE"), ("2021", "DATE"), DATE=years)[0] == []
    regions = Rule(Kind.CITY, Action.GENERALIZE)
    text = "Boston, Massachusetts Clinic"
    marks = (("Boston", "CITY"), ("Massachusetts Clinic", "HOSPITAL"))
    assert leaks(text, *marks, CITY=regions) == ([], {"generalized"})


def test_kept_spans_and_parts_that_equal_them_stay_by_the_exception_kept() -> None:
    keep = Rule(Kind.CITY, Action.KEEP)
    marks = (("Salem", "CITY"), ("Salem House", "HOSPITAL"))
    assert leaks("Salem: Salem House, from Salem", *marks, CITY=keep) == ([], {"kept"})


def test_a_string_that_is_repeated_without_a_label_is_a_leak_in_every_policy() -> None:
    for action in (Action.MASK, Action.REMOVE, Action.HASH, Action.SURROGATE):
        rule = Rule(Kind.NAME, action)
        assert leaks("Iria came. iria left", ("Iria", "NAME"), NAME=rule)[0] == ["iria"]


def test_strings_that_the_policy_keeps_are_no_needles() -> None:
    policy = Policy({"NAME": RULES["NAME"], "CITY": Rule(Kind.CITY, Action.KEEP)})
    found = needles_of("Ann Lugo", [Span(0, 3, "NAME"), Span(4, 8, "CITY")], policy, note=7)
    assert found == [Needle("Ann", "NAME", Kind.NAME, (0, 3), 7)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("wilson_2021.txt", ["wilson"]),
        ("note-Adam.Wilson-1.txt", ["Adam.Wilson"]),
        ("AdamWilson.txt", ["AdamWilson"]),
        ("2021AdamWilsonMRI.txt", ["AdamWilson"]),
        ("McDonald_Lab.txt", ["McDonald"]),
        ("note-12.txt", []),
    ],
)
def test_names_of_notes_are_split_at_separators_and_capitals(name: str, expected: list[str]) -> None:
    found = Gate().find_in_name(name, [needle("Adam Wilson"), needle("McDonald"), needle("12", "AGE")])
    assert [name[leak.start : leak.end] for leak in found] == expected


@given(texts_with_spans(), st.sampled_from([Action.MASK, Action.REMOVE, Action.HASH]))
def test_every_whole_word_string_that_stays_is_found(note: tuple[str, list[Span]], action: Action) -> None:
    """A labeled string that is repeated after the note as a word of its own never passes."""
    text, spans = note
    policy = Policy({label: Rule(Kind.NAME, action) for label in LABELS})
    for span in spans[:1]:
        quote = text[span.start : span.end]
        whole = f"{text} . {quote} ."
        new = release_text(whole, spans, policy, dict.fromkeys(LABELS, "[X]"), Told())
        exceptions: Counter[str] = Counter()
        found = Gate().find(new.text, needles_of(whole, spans, policy), new.pieces, exceptions=exceptions)
        at = len(new.text) - len(quote) - 2
        assert new.text[at : at + len(quote)] == quote
        has_words = any(character.isalpha() or character.isdecimal() for character in quote)
        assert not has_words or exceptions or any(leak.start < at + len(quote) and at < leak.end for leak in found)
        assert all(0 <= leak.start < leak.end <= len(new.text) for leak in found)


def test_of_a_string_of_more_than_a_hundred_words_the_first_ones_are_found() -> None:
    words = [f"{a}x{b}" for a in "abcdefghijk" for b in "abcdefghijk"]
    text = " ".join(words)
    (leak,) = Gate().find(" ".join([*words[:110], "other"]), [needle(text, "DATE")])
    assert text[: leak.end].split() == words[:100]


@pytest.mark.parametrize(
    ("label", "labeled", "text", "expected"),
    [
        ("PHONE", "915123456", "call 915 123 456.", ["915 123 456"]),
        ("PHONE", "915 123 456", "tel915123456;", ["915123456"]),
        ("PHONE", "915 123 456", "0034915123456 or +34 915-12.34.56", ["0034915123456", "34 915-12.34.56"]),
        ("PHONE", "+34 915 123 456", "915123456", ["915123456"]),
        ("PHONE", "34 915 123 456", "915123456", ["915123456"]),
        ("ID", "12345678Z", "12.345.678-Z, 12 345 678", ["12.345.678-Z", "12 345 678"]),
        ("ID", "ES12 3456 7890", "\u00e9\u00df es1234567890", ["es1234567890"]),
        ("ID", "1234567", "12345678, 123.45, 0123 4567, 12/34567", ["12/34567"]),
        ("ID", "123456", "123 456", []),
        ("DATE", "12/03/2021", "12032021", []),
    ],
)
def test_long_numbers_are_found_in_any_grouping(label: str, labeled: str, text: str, expected: list[str]) -> None:
    kind = {"PHONE": Kind.PHONE, "ID": Kind.ID, "DATE": Kind.DATE}[label]
    found = Gate().find(text, [Needle(labeled, label, kind)])
    assert [text[leak.start : leak.end] for leak in found] == expected


def test_exceptions_hold_for_numbers_in_another_grouping() -> None:
    phone = needle("915123456", "PHONE")
    assert counted("915 123 456", phone, gate=Gate(["915-123-456"])) == {"allowed": 1}
    assert counted("915 123 456", phone, gate=Gate(["915123456"])) == {"allowed": 1}
    piece = Piece(0, 11, 0, 11, "PHONE", Action.KEEP)
    assert quotes("915 123 456", phone, pieces=(piece,)) == []


def test_words_of_places_are_generic_in_places_only() -> None:
    gate = Gate((), ["es"], ["carrer", "fray"])
    assert counted("carrer", needle("Carrer Mayor 3", "CITY"), gate=gate) == {"generic": 1}
    assert quotes("Fray", needle("Fray"), gate=gate) == ["Fray"]
    assert quotes("Fray", needle("Fray", "CITY"), needle("Fray"), gate=gate) == ["Fray"]


@pytest.mark.parametrize(
    "piece", ["1/", "1 ", "12/03/2021 ", "915 ", "1-2-", "tel. 1 ", "(9", "Adam Wilson ", "a@", "A."]
)
def test_hostile_repetition_is_linear(piece: str) -> None:
    text = (piece * 60_000)[:60_000]
    needles = [
        needle("Adam Wilson"),
        needle("A. A."),
        needle("1/1/1", "DATE"),
        needle("12/03/2021", "DATE"),
        needle("1 1 1 1 1 1 1 1", "PHONE"),
        needle(text, "DATE"),
    ]
    assert takes_at_most(1, lambda: Gate().find_in_name(text, needles))
    assert takes_at_most(1, lambda: list(telephones(text)))
    assert takes_at_most(1, lambda: years(text, "es"))


def test_many_needles_with_a_common_word_are_linear() -> None:
    days = [f"{day}/{month}/{hour}/2021" for day in range(28) for month in range(12) for hour in range(9)]
    needles = [needle(day, "DATE") for day in days]
    found: list[Leak] = []
    assert takes_at_most(1, lambda: found.extend(Gate().find("40/40/2021 " * 3_000, needles)))
    assert found == []


def test_equal_needles_of_many_notes_are_linear() -> None:
    needles = [needle("Ab", note=note) for note in range(5_000)]
    found = Gate().find("Ab. " * 5_000, needles, note=4_999)
    assert (len(found), found[0].needle.note) == (5_000, 4_999)
    assert takes_at_most(1, lambda: Gate().find("Ab. " * 5_000, needles, note=4_999))
