"""The leak gate: what it finds in released texts, where, and what its named exceptions let stay."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.release.rules.leaks.gate import LANGUAGES, Gate, Leak, generic_words
from annotations.release.rules.leaks.needles import Needle, needles_of
from annotations.release.rules.leaks.shapes import telephones
from annotations.release.rules.redaction.dates import years
from annotations.release.rules.redaction.policy import Action, LabelRule, Policy
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.redaction.released import ReplacedPiece
from annotations.release.rules.redaction.releasing import release_text
from annotations.text.spans import Span
from tests.release.rules.redaction.replacing import Told
from tests.text.strategies import LABELS, texts_with_spans
from tests.timing import takes_at_most

KINDS = {kind.name: kind for kind in (Kind.NAME, Kind.CITY, Kind.HOSPITAL, Kind.DATE, Kind.AGE, Kind.PHONE, Kind.SEX)}
OTHERS = {"JOB": Kind.PROFESSION, "CODE": Kind.RECORD}
RULES = {label: LabelRule(kind, Action.MASK) for label, kind in (KINDS | OTHERS).items()}


def needle(text, label="NAME", **other):
    return Needle(text, label, RULES[label].kind, **other)  # type: ignore[arg-type]  # tests pass source and note


SPANISH, ENGLISH, WORDS = Gate((), ["es"]), Gate((), ["en"]), Gate((), ["es"], ["carrer", "fray"])
ALLOWED = Gate(["WILSON", "Parkinson", "915-123-456"])


def quotes(text, *needles, gate=None, pieces=()):
    return [text[leak.start : leak.end] for leak in (gate or Gate()).find(text, needles, pieces)]


def released(text, *marks, told=None, **rules):
    policy = Policy({**RULES, **rules})
    spans = [Span(text.index(quote), text.index(quote) + len(quote), label) for quote, label in marks]
    return release_text(text, spans, policy, {code: f"[{code}]" for code in policy.rules}, told or Told()), policy


def leaks(text, *marks, told=None, **rules):
    """What the gate finds after a release of this text with the first place of each quote labeled, and exceptions."""
    new, policy = released(text, *marks, told=told, **rules)
    spans = [Span(text.index(quote), text.index(quote) + len(quote), label) for quote, label in marks]
    exceptions = Counter()
    found = Gate((), ["en"]).find(new.text, needles_of(text, spans, policy), new.pieces, exceptions=exceptions)
    return [new.text[leak.start : leak.end] for leak in found], set(exceptions)


WHOLE_WORDS = [
    ("seen by Adam Wilson today", ["Adam Wilson"]), ("ADAM WILSON", ["ADAM WILSON"]),
    ("adam\n wilson", ["adam\n wilson"]), ("Adam-Wilson", ["Adam-Wilson"]), ("Ádám Wilsón", ["Ádám Wilsón"]),
    ("A\u0301dam Wilson\u0301", ["A\u0301dam Wilson\u0301"]), ("Wilson, Adam", ["Wilson", "Adam"]),
    ("Adams Wilsonian", []), ("wilson3", ["wilson"]), ("😀Wilson👍🏽", ["Wilson"]),
    ("Adam Wilson met Wilson", ["Adam Wilson", "Wilson"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WHOLE_WORDS)
def test_whole_words_are_found_whatever_their_case_and_accents(text, expected):
    assert quotes(text, needle("Adam Wilson")) == expected


LUGO, LAGOS, PHONE = needle("Hospital General de Lugo", "HOSPITAL"), needle("Lagos Clinic", "HOSPITAL"), "915123456"


FOUND = [
    # Parts have four letters or more, or are where a name stands.
    ("Lee and Eve saw Adam", [needle("Eve Lee Adam")], Gate(), ["Eve", "Adam"]),
    ("Lee, lee and eve", [needle("Eve Lee Adam")], Gate(), []),
    # Words outside ASCII, numbers in other digits, and offsets where folding changes lengths
    ("Dr. ΩΜΈΓΑ came", [needle("Ωμέγα")], Gate(), ["ΩΜΈΓΑ"]),
    ("call ٩١٥ ١٢٣ ٤٥٦", [needle("٩١٥١٢٣٤٥٦", "PHONE")], Gate(), ["٩١٥ ١٢٣ ٤٥٦"]),
    (
        "李小龙先生, 김민수는, وأحمد, לכהן",
        [needle("李小龙"), needle("김민수"), needle("أحـمد العلي"), needle("דוד כהן")], Gate(),
        ["李小龙", "김민수", "أحمد", "כהן"],
    ),
    ("µg 12mg", [needle("gg"), needle("µg"), needle("mg")], Gate(), ["µg", "mg"]),
    ("ßßß ﬁﬁ Weiß", [needle("WEISS")], Gate(), ["Weiß"]),
    # Of dates, ages and numbers, only the whole string is sought.
    ("in November 2021", [needle("3 November 2021", "DATE")], SPANISH, []),
    ("12. März 2021, 12 mars 2021", [needle("12/03/2021", "DATE")], Gate(), ["12. März 2021", "12 mars 2021"]),
    ("on 3 NOVEMBER 2021", [needle("3 November 2021", "DATE")], Gate(), ["3 NOVEMBER 2021"]),
    ("aged forty-five", [needle("forty-five years", "AGE")], Gate(), []),
    # Short numbers need the same separators, and long ones don't.
    ("level 3.12 and 3/12", [needle("3/12", "DATE")], Gate(), ["3/12"]),
    ("call 9l5 I2E-456, 9I5-12345B, lo sol", [needle("915123458", "PHONE")], Gate(), ["9I5-12345B"]),
    ("call 555 12-34567", [needle("555-12-34567", "PHONE")], Gate(), ["555 12-34567"]),
    # Generic words that tell more together: a day, a house, initials, digits one by one
    ("on March 4, in March, on Monday", [needle("March 4", "DATE"), needle("Monday", "DATE")], ENGLISH, ["March 4"]),
    ("il primo maggio", [needle("primo maggio", "DATE")], Gate((), ["it"]), ["primo maggio"]),
    ("En Calle Mayor 5", [Needle("Calle Mayor 5", "STREET", Kind.STREET)], SPANISH, ["Calle Mayor 5"]),
    ("see clinic-x.org", [Needle("clinic-x.org", "URL", Kind.URL)], ENGLISH, ["clinic-x.org"]),
    ("J.D., j d, 4 y", [needle("J. D."), needle("4 y", "AGE")], Gate(), ["J.D"]),
    ("call 9 1 5 1 2 3 4", [needle("9 1 5 1 2 3 4", "PHONE")], Gate(), ["9 1 5 1 2 3 4"]),
    ("record 448172 and 4481", [needle("A-448172", "CODE"), needle("B-4481", "CODE")], Gate(), ["448172"]),
    ("102 years", [needle("102", "AGE")], Gate(), ["102"]),
    ("Ospedale", [needle("Ospedale Rossi", "HOSPITAL")], ENGLISH, ["Ospedale"]),
    ("Lugo", [LUGO], SPANISH, ["Lugo"]),
    ("Adam Wilson", [needle("Adam Wilson")], ALLOWED, ["Adam Wilson"]),
    ("a basketball player", [needle("Basketball Player", "JOB")], Gate(), ["basketball player"]),
    ("Baker", [needle("pastry baker", "JOB"), needle("Eve Baker")], Gate(), ["Baker"]),  # also a name
    ("in Lagos", [LAGOS], Gate(), ["Lagos"]),
    ("saw lagos", [needle("Ann Lagos")], Gate(), ["lagos"]),
    ("saw lagos", [LAGOS, needle("Ann Lagos")], Gate(), ["lagos"]),
    ("Fray", [needle("Fray")], WORDS, ["Fray"]),
    ("Fray", [needle("Fray", "CITY"), needle("Fray")], WORDS, ["Fray"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "needles", "gate", "expected"), FOUND)
def test_what_is_found(text, needles, gate, expected):
    assert quotes(text, *needles, gate=gate) == expected
    prepared = gate.find(text, gate.prepared(needles))  # for many texts
    assert [text[leak.start : leak.end] for leak in prepared] == expected


NAMES = needle("Dr. Juan Pérez Malaspina-Lund"), needle("Petrie Martínez"), needle("Moss"), needle("Millbrook", "CITY")
RESPELLED = [
    # One letter more, less or other, or two exchanged, in names of six letters or more
    ("Petire, Perie, Pettrie, petrix and Malaspinas", ["Petire", "Perie", "Pettrie", "petrix", "Malaspinas"]),
    ("Pertie, Peterie, Mlaaspina, Malaspinna", ["Pertie", "Peterie", "Mlaaspina", "Malaspinna"]),
    ("Milbrook, Millbroke, Milk, m1llbrook", ["Milbrook"]),
    ("Perez, Peres, Mass, Lurd, Pretoria, Petr", ["Perez"]),
    # Digits for letters
    ("Petr1e, M0ss, Ma1asp1na, P3r3z, 1und", ["Petr1e", "M0ss", "Ma1asp1na", "P3r3z", "1und"]),
    ("M0ssy, B12, 10 mg, AM0SS", []),
    # Encodings, markup
    ("P&eacute;rez, P&#233;rez, P%C3%A9rez, P=C3=A9rez, P=E9rez, P\\u00e9rez",
     ["P&eacute;rez", "P&#233;rez", "P%C3%A9rez", "P=C3=A9rez", "P=E9rez", "P\\u00e9rez"]),
    ("PÃ©rez, PÃ‰REZ, P%E9rez, Mala<b>spina</b>, %20Moss", ["PÃ©rez", "PÃ‰REZ", "P%E9rez", "Mala<b>spina", "Moss"]),
    ("Mart?nez, Mart\ufffdnez, Mart¡nez, P?rez", ["Mart?nez", "Mart\ufffdnez", "Mart¡nez"]),
    ("95% of <5 & >3; =80, AT&T; <i>x</i>", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), RESPELLED)
def test_misspelled_and_encoded_names(text, expected):
    assert quotes(text, *NAMES) == expected
    assert (
        quotes(text, *NAMES, gate=Gate(["Petrie", "Perez", "Malaspina", "Moss", "Lund", "Martinez", "Millbrook"])) == []
    )


def test_a_usual_word_is_no_misspelled_name():
    assert quotes("carrera, martes, blanca", needle("Carrero"), needle("Martez"), needle("Blanco")) == []


EXCEPTIONS = [
    ("45 mg, M", [needle("45", "AGE"), needle("M", "SEX")], Gate(), {"short": 2}),
    ("El hospital general", [LUGO], SPANISH, {"generic": 2}),
    ("General Hospital", [needle("General Hospital", "HOSPITAL")], Gate(), {"generic": 3}),
    ("carrer", [needle("Carrer Mayor 3", "CITY")], WORDS, {"generic": 1}),  # in places only
    ("Wilson's disease", [needle("Adam Wilson")], ALLOWED, {"allowed": 1}),
    ("a good player", [needle("basketball player", "JOB")], Gate(), {"description": 1}),
    ("venous lagos", [LAGOS], Gate(), {"lower case": 1}),
    # Numbers in another grouping
    ("915 123 456", [needle(PHONE, "PHONE")], ALLOWED, {"allowed": 1}),
    ("915 123 456", [needle(PHONE, "PHONE")], Gate([PHONE]), {"allowed": 1}),
]


@pytest.mark.parametrize(("text", "needles", "gate", "exceptions"), EXCEPTIONS)
def test_what_stays_by_an_exception(text, needles, gate, exceptions):
    counted = Counter()
    assert gate.find(text, needles, exceptions=counted) == [] and counted == exceptions


def test_the_whole_string_goes_before_its_part_and_the_note_before_others():
    first, own = needle("Adam Wilson", note=1, source="other"), needle("Wilson", note=2, source="own")
    assert Gate().find("Wilson", [first, own], note=2) == [Leak(0, 6, own, part=False)]
    assert Gate().find("Wilson", [first, own], note=1) == [Leak(0, 6, own, part=False)]
    again = needle("WILSON", note=3, source="again")
    assert Gate().find("Wilson", [own, again], note=3)[0].needle is again
    assert Gate().find("Wilson", [own, again])[0].needle is own


def test_placeholders_and_hashes_are_not_searched():
    assert leaks("Name Ann", ("Ann", "NAME"), ("Name", "CITY")) == ([], set())
    hashed = LabelRule(Kind.NAME, Action.HASH)
    assert leaks("Xname Ann", ("Ann", "NAME"), ("Xname", "NAME"), NAME=hashed) == ([], set())
    piece = ReplacedPiece(5, 8, 5, 11, "NAME", Action.MASK)
    assert quotes("Adam [NAME] Wilson", needle("Adam Name Wilson"), pieces=(piece,)) == ["Adam", "Wilson"]
    piece = ReplacedPiece(0, 11, 0, 11, "PHONE", Action.KEEP)
    assert quotes("915 123 456", needle(PHONE, "PHONE"), pieces=(piece,)) == []


def test_what_a_policy_makes_is_searched():
    # What a removal joins
    marks, remove = (("Eve Wilson", "NAME"), ("X", "CITY")), LabelRule(Kind.CITY, Action.REMOVE)
    assert leaks("Eve Wilson and Eve X Wilson", *marks, CITY=remove) == (["Eve Wilson"], set())
    # A surrogate equal to an original
    told = Told(surrogates={"Adam Wilson": "Kevin Chang", "Chang": "Wilson"})
    rule = LabelRule(Kind.NAME, Action.SURROGATE)
    found, _ = leaks("Adam Wilson, Chang", ("Adam Wilson", "NAME"), ("Chang", "NAME"), told=told, NAME=rule)
    assert found == ["Chang", "Wilson"]


def test_a_shifted_date_equal_to_another_original_is_a_leak_but_a_shifted_month_or_year_is_not():
    shift = LabelRule(Kind.DATE, Action.SHIFT)
    text = "3/12/2021 and 4/1/2021"
    assert leaks(text, ("3/12/2021", "DATE"), ("4/1/2021", "DATE"), DATE=shift) == (["4/1/2021"], set())
    text = "March 2021 and April 2021, 2021 on 5/5/2021"
    marks = (("March 2021", "DATE"), ("April 2021", "DATE"), ("5/5/2021", "DATE"))
    assert leaks(text, *marks, DATE=shift) == ([], {"generalized"})
    week = Told(days=70)
    assert leaks("on Tue", ("Tue", "DATE"), told=week, DATE=shift) == ([], {"generic"})
    assert leaks("2021 on 5/5/2021", ("2021", "DATE"), ("5/5/2021", "DATE"), DATE=shift) == ([], {"generalized"})


def test_years_and_regions_that_the_policy_made_stay_by_the_exception_generalized():
    years = LabelRule(Kind.DATE, Action.GENERALIZE)
    assert leaks("2021, 3/12/2021", ("2021", "DATE"), ("3/12/2021", "DATE"), DATE=years) == ([], {"generalized"})
    assert leaks("Since 3/12/2021, in 2021", ("3/12/2021", "DATE"), ("2021", "DATE"), DATE=years)[0] == []
    regions = LabelRule(Kind.CITY, Action.GENERALIZE)
    text = "Boston, Massachusetts Clinic"
    marks = (("Boston", "CITY"), ("Massachusetts Clinic", "HOSPITAL"))
    assert leaks(text, *marks, CITY=regions) == ([], {"generalized"})


def test_kept_spans_and_parts_that_equal_them_stay_by_the_exception_kept():
    keep = LabelRule(Kind.CITY, Action.KEEP)
    marks = (("Salem", "CITY"), ("Salem House", "HOSPITAL"))
    assert leaks("Salem: Salem House, from Salem", *marks, CITY=keep) == ([], {"kept"})


def test_a_string_that_is_repeated_without_a_label_is_a_leak_in_every_policy():
    for action in (Action.MASK, Action.REMOVE, Action.HASH, Action.SURROGATE):
        rule = LabelRule(Kind.NAME, action)
        assert leaks("Iria came. iria left", ("Iria", "NAME"), NAME=rule)[0] == ["iria"]


def test_strings_that_the_policy_keeps_are_no_needles():
    policy = Policy({"NAME": RULES["NAME"], "CITY": LabelRule(Kind.CITY, Action.KEEP)})
    found = needles_of("Ann Lugo", [Span(0, 3, "NAME"), Span(4, 8, "CITY")], policy, note=7)
    assert found == [Needle("Ann", "NAME", Kind.NAME, (0, 3), 7)]


def test_a_street_with_its_number_is_sought_without_what_follows():
    mask = LabelRule(Kind.STREET, Action.MASK)
    for whole, street in [("Calle Mayor 15, 3º B", "Calle Mayor 15"), ("12 High Street, Flat 3", "12 High Street")]:
        assert leaks(f"{whole}: at {street}", (whole, "STREET"), STREET=mask)[0] == [street]


NOTE_NAMES = [
    ("wilson_2021.txt", ["wilson"]), ("note-Adam.Wilson-1.txt", ["Adam.Wilson"]), ("AdamWilson.txt", ["AdamWilson"]),
    ("2021AdamWilsonMRI.txt", ["AdamWilson"]), ("McDonald_Lab.txt", ["McDonald"]), ("note-12.txt", []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), NOTE_NAMES)
def test_names_of_notes_are_split_at_separators_and_capitals(name, expected):
    found = Gate().find_in_name(name, [needle("Adam Wilson"), needle("McDonald"), needle("12", "AGE")])
    assert [name[leak.start : leak.end] for leak in found] == expected


@given(texts_with_spans(), st.sampled_from([Action.MASK, Action.REMOVE, Action.HASH]))
def test_every_whole_word_string_that_stays_is_found(note, action):
    """A labeled string that is repeated after the note as a word of its own never passes."""
    text, spans = note
    policy = Policy({label: LabelRule(Kind.NAME, action) for label in LABELS})
    for span in spans[:1]:
        quote = text[span.start : span.end]
        whole = f"{text} . {quote} ."
        new = release_text(whole, spans, policy, dict.fromkeys(LABELS, "[X]"), Told())
        exceptions = Counter()
        found = Gate().find(new.text, needles_of(whole, spans, policy), new.pieces, exceptions=exceptions)
        at = len(new.text) - len(quote) - 2
        assert new.text[at : at + len(quote)] == quote
        has_words = any(character.isalpha() or character.isdecimal() for character in quote)
        assert not has_words or exceptions or any(leak.start < at + len(quote) and at < leak.end for leak in found)
        assert all(0 <= leak.start < leak.end <= len(new.text) for leak in found)


def test_of_a_string_of_more_than_a_hundred_words_the_first_ones_are_found():
    words = [f"{a}x{b}" for a in "abcdefghijk" for b in "abcdefghijk"]
    text = " ".join(words)
    (leak,) = Gate().find(" ".join([*words[:110], "other"]), [needle(text, "DATE")])
    assert text[: leak.end].split() == words[:100]


LONG_NUMBERS = [
    ("PHONE", "915123456", "call 915 123 456.", ["915 123 456"]),
    ("PHONE", "915 123 456", "tel915123456;", ["915123456"]),
    ("PHONE", "915 123 456", "0034915123456 or +34 915-12.34.56", ["0034915123456", "34 915-12.34.56"]),
    ("PHONE", "+34 915 123 456", "915123456", ["915123456"]), ("PHONE", "34 915 123 456", "915123456", ["915123456"]),
    ("ID", "12345678Z", "12.345.678-Z, 12 345 678", ["12.345.678-Z", "12 345 678"]),
    ("ID", "ES12 3456 7890", "\u00e9\u00df es1234567890", ["es1234567890"]),
    ("ID", "1234567", "12345678, 123.45, 0123 4567, 12/34567", ["12/34567"]), ("ID", "12345", "123 45", []),
    ("ID", "123456", "123 456", ["123 456"]),
    ("PHONE", "915 776 655", "915,776,655, 9 1 5 7 7 6 6 5 5", ["915,776,655", "9 1 5 7 7 6 6 5 5"]),
    ("PHONE", "915776655", "٩١٥ ٧٧٦ ٦٥٥; 915\u200e776\u200e655", ["٩١٥ ٧٧٦ ٦٥٥", "915\u200e776\u200e655"]),
    ("PHONE", "07700900123", "07700 900123, +44 7700 900123", ["07700 900123", "44 7700 900123"]),
    ("PHONE", "+44 7700 900123", "07700 900 123", ["07700 900 123"]),
    ("ID", "0012345678", "MRN 12345678", ["12345678"]),
]  # fmt: skip


@pytest.mark.parametrize(("label", "labeled", "text", "expected"), LONG_NUMBERS)
def test_long_numbers_are_found_in_any_grouping(label, labeled, text, expected):
    kind = {"PHONE": Kind.PHONE, "ID": Kind.ID, "DATE": Kind.DATE}[label]
    assert [text[leak.start : leak.end] for leak in Gate().find(text, [Needle(labeled, label, kind)])] == expected


HOSTILE = [
    "1/", "1 ", "12/03/2021 ", "915 ", "1-2-", "tel. 1 ", "(9", "Adam Wilson ", "a@", "A.", "petrie", "p e t r i e ",
    "Sr. Li ", "mar 1 ", "12 mar 2021 ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_repetition_is_linear(piece):
    text = (piece * 60_000)[:60_000]
    needles = [needle("Adam Wilson"), needle("A. A."), needle("1 1 1 1 1 1 1 1", "PHONE")]
    needles += [needle("Eve Li Petrie"), needle("Petrie")]
    needles += [needle(date, "DATE") for date in ("1/1/1", "12/03/2021", text)]
    assert takes_at_most(1, lambda: Gate().find_in_name(text, needles))
    assert takes_at_most(1, lambda: list(telephones(text))) and takes_at_most(1, lambda: years(text, "es"))


def test_many_needles_with_a_common_word_are_linear():
    days = [f"{day}/{month}/{hour}/2021" for day in range(28) for month in range(12) for hour in range(9)]
    needles = [needle(day, "DATE") for day in days]
    found = []
    assert takes_at_most(1, lambda: found.extend(Gate().find("40/40/2021 " * 3_000, needles))) and found == []


def test_equal_needles_of_many_notes_are_linear():
    needles = [needle("Ab", note=note) for note in range(5_000)]
    found = Gate().find("Ab. " * 5_000, needles, note=4_999)
    assert (len(found), found[0].needle.note) == (5_000, 4_999)
    assert takes_at_most(1, lambda: Gate().find("Ab. " * 5_000, needles, note=4_999))


# ── Lists of generic words ───────────────────────────────────────────────────────────────────────────────────────────


def test_each_language_has_its_own_list_and_unknown_ones_have_all():
    assert "hospital" in generic_words(["en"]) and "ospedale" in generic_words(["it"]) - generic_words(["en"])
    assert "avenida" in generic_words(["es", "it"])
    assert generic_words([""]) == generic_words(LANGUAGES) == generic_words([])


def test_words_are_folded():
    assert "cirugia" in generic_words(["es"])


def test_common_names_of_people_and_places_are_not_generic():
    names = "leon rosa blanco cruz wilson smith rossi bianchi garcia navarro lugo roma boston mario carmen"
    assert not generic_words(LANGUAGES) & set(names.split())
