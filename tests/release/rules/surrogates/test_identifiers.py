"""Numbers in the format of the original that nobody has been given."""

import random
import re
from dataclasses import asdict
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban, luhn
from stdnum.es import dni, nie
from stdnum.gb import nhs
from stdnum.it import codicefiscale

from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.surrogates import identifiers
from annotations.release.rules.surrogates.folding import compact, folded, pour
from annotations.release.rules.surrogates.gazetteers import names_of
from annotations.release.rules.surrogates.generating import generate
from annotations.release.rules.surrogates.identifiers import example_domain, new_ip, new_phone, unreserved
from annotations.release.rules.surrogates.measures import ReplacedMention, measure, preserves
from annotations.release.rules.surrogates.pipeline import Around, MentionInNote, Surrogate
from annotations.release.rules.surrogates.writing import Writer
from tests.release.rules.surrogates.worlds import form, one, person, replaced


def new(text: str, kind: str = "national id", language: str = "es", seed: int = 3) -> str:
    return identifiers.new_number(random.Random(seed), text, kind=kind, language=language, owner={})


def shape(text: str) -> str:
    """Digits as 9, letters as A or a."""
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"[0-9]", "9", text)))


CHECKED = [
    ("12345678Z", "national id", "es", lambda text: dni.is_valid(text) and text[0] == "9"),
    ("12.345.678-Z", "national id", "es", lambda text: dni.is_valid(compact(text))),
    ("X1234567L", "national id", "es", lambda text: nie.is_valid(text) and text.startswith("Z9")),
    ("281234567840", "health plan", "es", lambda text: identifiers.valid_nuss(text) and text[0] == "9"),
    ("ES91 2100 0418 4502 0005 1332", "account", "es", lambda text: iban.is_valid(text) and "9999" in text),
    ("IT60X0542811101000000123456", "account", "it", lambda text: iban.is_valid(text) and text[5:10] == "99999"),
    ("DE89370400440532013000", "account", "en", lambda text: identifiers.valid_iban(text)),
    ("123-45-6789", "national id", "en", lambda text: text[0] == "9" and "01" <= text[4:6] <= "49"),
    ("1234567893", "license", "en", lambda text: identifiers.valid_npi(text) and text[0] == "2"),
    ("943 476 5919", "health plan", "en", lambda text: nhs.is_valid(text) and text.startswith("999")),
    ("4111111111111111", "account", "en", lambda text: luhn.is_valid(text) and text.startswith("400000")),
    ("00743110157", "id", "it", lambda text: luhn.is_valid(text) and text[7:10] == "000"),
    ("1M8GDM9AXKP042788", "vehicle", "en", lambda text: identifiers.vin_check(text) == text[8]),
    ("RSSMRA80A01H501U", "national id", "it", lambda text: codicefiscale.calc_check_digit(text[:15]) == text[15]),
]


@pytest.mark.parametrize(("text", "kind", "language", "holds"), CHECKED, ids=[row[0] for row in CHECKED])
def test_check_digits_and_unissued_ranges(text, kind, language, holds) -> None:
    for seed in range(6):
        made = new(text, kind, language, seed)
        assert holds(made), made
        assert compact(made) != compact(text) and len(made) == len(text)
        assert [letter for letter in made if not letter.isalnum()] == [c for c in text if not c.isalnum()]


SHAPES = [
    ("7824395", "medical record", "es"),
    ("HC-2041/98 b", "medical record", "en"),  # letters and separators
    ("14-63504522-08", "health plan", "es"),
    ("0042", "id", "it"),  # leading zeros
    ("1234 BCD", "vehicle", "es"),
]
PATTERNS = [
    ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "id", "en", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    # Plates are of series that are decades away.
    ("1234 BCD", "vehicle", "es", r"\d{4} Z[BCDFGHJ-NPR-TV-Z]{2}"),
    ("AB123CD", "vehicle", "it", r"Z[A-Z]\d{3}Z[A-Z]"),
    # MAC addresses are those of documentation.
    ("aa:bb:cc:dd:ee:ff", "device", "en", "00:00:5e:00:53:.."),
]


@pytest.mark.parametrize(("text", "kind", "language"), SHAPES)
def test_other_numbers_keep_their_shape(text: str, kind: str, language: str) -> None:
    made = new(text, kind, language)
    assert shape(made) == shape(text) and made != text


@pytest.mark.parametrize(("text", "kind", "language", "pattern"), PATTERNS)
def test_some_numbers_have_a_pattern(text: str, kind: str, language: str, pattern: str) -> None:
    assert re.fullmatch(pattern, new(text, kind, language)) and new(text, kind, language) != text


def test_equal_groups_stay_equal_and_provinces_stay_provinces() -> None:
    for seed in range(30):
        one, two, number = new("28 28 20943", "license", "es", seed).split()
        assert one == two and 1 <= int(one) <= 52 and len(number) == 5
    # A wrong check digit isn't corrected.
    assert sum(dni.is_valid(new("12345678A", seed=seed)) for seed in range(50)) < 15


def test_a_tax_code_fits_the_surrogate_and_the_shifted_birth_date() -> None:
    source, giulia = random.Random(1), {"given": "Giulia", "family": "Greco", "gender": "f"}
    made = identifiers.new_number(source, "RSSMRA80A01H501U", kind="national id", language="it", owner=giulia, days=31)
    # M9: no municipality
    assert (made[:6], identifiers.birth_in(made), made[11:13]) == ("GRCGLI", (date(1980, 2, 1), "f"), "M9")
    assert identifiers.tax_code("Gianfranco", "Fo", "m", date(2001, 12, 3), source)[:11] == "FOXGFR01T03"


PHONES = [
    ("917 27 00 83", "es", r"99\d \d\d \d\d \d\d"),  # no province has 99
    ("670.97.10.26", "es", r"79\d\.\d\d\.\d\d\.\d\d"), ("+34 917 270 083", "es", r"\+34 99\d \d{3} \d{3}"),
    ("34 93 693 29 05", "es", r"34 99 \d{3} \d\d \d\d"), ("(617) 555-8877", "en", r"\(\d{3}\) 555-01\d\d"),
    ("+1 617 231 8877", "en", r"\+1 \d{3} 555 01\d\d"), ("231-8877", "en", r"555-01\d\d"),
    ("617-231-8877 ext. 42", "en", r"\d{3}-555-01\d\d ext\. \d\d"), ("020 7234 5678", "en", r"020 7946 \d{4}"),
    ("07911 123456", "en", r"07700 900\d{3}"), ("+44 20 7234 5678", "en", r"\+44 20 7946 \d{4}"),
    ("01865 123456", "en", r"01632 960\d{3}"), ("06 1234 5678", "it", r"03 4[89]\d\d \d{4}"),
    ("+39 347 1234567", "it", r"\+39 39[56] \d{7}"),
    ("55304000", "es", r"[1-9]\d{7}"),  # of no known plan
]  # fmt: skip


@pytest.mark.parametrize(("text", "language", "pattern"), PHONES)
def test_telephone_numbers_are_for_fiction_or_not_assigned(text: str, language: str, pattern: str) -> None:
    for seed in range(10):
        assert re.fullmatch(pattern, new_phone(random.Random(seed), text, language))


def test_addresses_of_documentation() -> None:
    source = random.Random(1)
    assert new_ip(source, "10.1.2.3").rsplit(".", 1)[0] in ("192.0.2", "198.51.100", "203.0.113")
    assert new_ip(source, "fe80::1").startswith("2001:db8:")
    domains = [example_domain(name) for name in ("gmail.com", "x.net", "unizar.es")]
    assert domains == ["example.com", "example.net", "example.org"]
    assert (pour("AB12", "xy-99"), pour("12", "1.2.3")) == ("ab-12", "12")


@given(st.text(alphabet="0123456789 -./ABCxyz", min_size=1, max_size=24), st.sampled_from(["en", "es", "it"]))
def test_any_number_keeps_its_length(text: str, language: str) -> None:
    for kind in ("id", "account", "vehicle", "device", "license"):
        assert len(new(text, kind, language)) == len(text)
    new_phone(random.Random(1), text, language)


# ── A surrogate in the form of each mention ──


CHANG = person("Kevin", "Chang", gender="m")
GIL = person("Jaime", "Gómez", family2="Vega", gender="m")

FORMS = [
    ("en", CHANG, "Wilson", "Chang"),
    ("en", CHANG, "Dr. Adam Wilson", "Dr. Kevin Chang"),  # the title stays
    ("en", CHANG, "WILSON", "CHANG"),
    ("en", CHANG, "adam wilson", "kevin chang"),
    ("en", CHANG, "A.W.", "K.C."),
    ("en", CHANG, "A. Wilson", "K. Chang"),
    ("en", CHANG, "Wilson, Adam", "Chang, Kevin"),  # order and comma
    ("en", CHANG, "Wilson's", "Chang's"),
    ("en", CHANG, "Adam\n  Wilson", "Kevin\n  Chang"),  # a line break inside
    ("en", CHANG, "Mr. and Mrs. Wilson", "Mr. and Mrs. Chang"),
    ("en", CHANG, "W I L S O N", "C H A N G"),  # blanks between letters stay
    ("en", CHANG, "Adam Wils on", "Kevin Chang"),  # a blank inside a word goes
    ("en", CHANG, "Adam Wilson, MD", "Kevin Chang, MD"),  # a title behind
    ("es", GIL, "Dr. Adán Pérez de la Cruz", "Dr. Jaime Gómez de la Vega"),  # particles stay
    ("es", GIL, "Adán Pérez-Ruiz", "Jaime Gómez-Vega"),  # the hyphen stays
    ("es", GIL, "Adan Perez Ruiz", "Jaime Gomez Vega"),  # without accents where the mention leaves them out
    ("es", GIL, "PÉREZ RUIZ", "GÓMEZ VEGA"),
    ("it", person("Carlo", "Greco", gender="m"), "Rossi Mario", "Greco Carlo"),  # reversed order
    ("it", person("Anna", "Greco", gender="f"), "Dott.ssa Lucia Bianchi", "Dott.ssa Anna Greco"),
]


@pytest.mark.parametrize(("language", "surrogate", "mention", "new"), FORMS)
def test_form(language: str, surrogate: Surrogate, mention: str, new: str) -> None:
    others = {"en": ["Adam Wilson"], "es": ["Adán Pérez Ruiz"], "it": ["Mario Rossi"]}[language]
    if "Cruz" in mention or "Bianchi" in mention:
        others = []
    assert form(surrogate, mention, *others, language=language) == new


def test_a_part_that_the_surrogate_lacks_is_always_the_same() -> None:
    first = form(CHANG, "Adam Wilson Baker", language="en")
    assert first.startswith("Kevin Chang ") and len(first.split()) == 3
    assert form(CHANG, "Adam Wilson Baker", language="en") == first
    # A second surname alone gets the second surname.
    assert form(GIL, "Ruiz", "Adán Pérez Ruiz", language="es") == "Vega"


def test_numbers_take_the_separators_of_the_mention() -> None:
    # The code of the country stays; with fewer digits than the surrogate has: the last ones.
    mentions = ["917 27 00 83", "917270083", "+34 917270083", "27 00 83"]
    surrogate = Surrogate(Kind.PHONE, {"value": "995123456"})
    new = [form(surrogate, mention, language="es") for mention in mentions]
    assert new == ["995 12 34 56", "995123456", "+34 995123456", "12 34 56"]
    record = Surrogate(Kind.RECORD, {"value": "9981776"})
    new = [form(record, text, "MRN 4471203") for text in ("MRN 4471203", "447-1203", "mrn:4471203")]
    assert new == ["MRN 9981776", "998-1776", "mrn:9981776"]


def test_a_plural_of_a_family_stays_a_plural() -> None:
    assert form(CHANG, "Bakers", "Adam Baker") == "Changs"


WHOLE = [
    "[medical record:MRN 4471203], [medical record:4471203]; tel. [phone:+1 555 201 8834] or [phone:555-201-8834]",
    "[zip:94301-1234] and [zip:94301]",
    "[street:12 Oak Street] and [street:12 Oak St]",
]


@pytest.mark.parametrize("note", WHOLE)
def test_another_spelling_has_the_same_surrogate(note: str) -> None:
    (_, first), (_, other), *phones = replaced(note)
    assert first.removeprefix("MRN ").startswith(other) or first.replace(" Street", " St") == other
    if phones:
        (_, abroad), (_, short) = phones
        assert abroad.startswith("+1 ") and abroad.removeprefix("+1 ").replace(" ", "-") == short


def test_hospitals_keep_the_words_of_their_type() -> None:
    surrogate = Surrogate(Kind.HOSPITAL, {"s0": "Luis", "s1": "Vega", "value": "Hospital Universitario Luis Vega"})
    full = "Hospital Universitario Miguel Servet"
    assert form(surrogate, full, language="es") == "Hospital Universitario Luis Vega"
    assert form(surrogate, "Hospital Miguel Servet", full, language="es") == "Hospital Luis Vega"
    assert form(surrogate, "Servet", full, language="es") == "Vega"
    assert form(surrogate, "HUMS", full, language="es") == "HULV"


# ── No form of a name leaves a part of it, whatever the name ─────────────────────────────────────────────────────────


MANNERS = ("{given} {family}", "{family}, {given}", "Dr. {given} {family}", "Dra. {family}", "{given}", "{family}'s",
           "{given} de la {family}", "{given} {family}-{family}")  # fmt: skip


@st.composite
def names(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """A language, forms of one name, and its parts."""
    language = draw(st.sampled_from(["en", "es", "it"]))
    lists = names_of(language)
    first = draw(st.sampled_from(sorted(known.text for known in lists.given.values())) | st.just("Yrsa"))
    last = draw(st.sampled_from(sorted(known.text for known in lists.surnames.values())) | st.just("Quetzalli"))
    forms = [manner.format(given=first, family=last) for manner in draw(st.lists(st.sampled_from(MANNERS), min_size=1))]
    case = draw(st.sampled_from([str, str.upper, str.lower]))
    return language, [case(form) for form in forms], [first, last]


@given(names(), st.integers(0, 5))
def test_no_part_of_a_name_stays(name: tuple[str, list[str], list[str]], attempt: int) -> None:
    language, forms, parts = name
    cluster = one(Kind.NAME, *forms, language=language)
    writer = Writer(generate(random.Random(3), cluster, Around(), frozenset(), attempt), cluster)
    for mention in cluster.mentions:
        new = writer.write(mention)
        assert not {folded(part) for part in parts} & set(folded(new).split()), (mention.text, new)
        assert new.isupper() == mention.text.isupper()


# ── Addresses that can't be surrogates ───────────────────────────────────────────────────────────────────────────────


TEXTS = [
    ("write to kevin.chang@example.org or k@mail.example.com", []),
    ("see https://www.example.net/a and www.example.org", []),
    ("write to ann.lee@gmail.com.", ["ann.lee@gmail.com"]),
    ("ann@notexample.org, x@example.org.uk", ["ann@notexample.org", "x@example.org.uk"]),  # only look reserved
    ("http://www.unizar.es/x and WWW.NHS.UK", ["http://www.unizar.es", "WWW.NHS.UK"]),
    ("a dose of 3 mg @ 10:00", []),
]


@pytest.mark.parametrize(("text", "found"), TEXTS)
def test_addresses(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in unreserved(text)] == found


def test_surrogates_of_addresses_are_reserved() -> None:
    note = "[email:ann.lee@gmail.com] [email:X@hospital.madrid.org] [url:http://www.unizar.es/a/b] [url:nhs.uk]"
    assert unreserved(" ".join(new for _old, new in replaced(note))) == []


@given(st.text(max_size=200))
def test_any_text_is_checked(text: str) -> None:
    assert all(0 <= start < end <= len(text) for start, end in unreserved(text))


# ── The measures of Singh et al ──────────────────────────────────────────────────────────────────────────────────────


def row(entity: int, old: str, new: str, surrogate: Surrogate = CHANG, kind: Kind = Kind.NAME) -> ReplacedMention:
    return ReplacedMention(entity, MentionInNote(1, 0, len(old), kind, old), new, surrogate, "en")


def test_counts() -> None:
    lee = person("Amy", "Lee")
    rows = [
        row(1, "Dr. Adam Wilson", "Dr. Kevin Chang"), row(1, "Wilson", "Chang"), row(2, "Mary Ross", "Amy Lee", lee),
    ]  # fmt: skip
    rows.append(row(2, "Ross", "Chang"))  # another surrogate elsewhere
    # The original, and a collision with 1 and 2.
    rows.append(row(3, "John Carr", "John Carr", person("Kevin", "Chang")))
    counts = {"mentions": 5, "entities": 3, "collisions": 1, "originals_left": 1}
    assert asdict(measure(rows)) == counts | {"preserved": 1.0, "consistent": pytest.approx(2 / 3)}
    found = measure([])
    assert (found.preserved, found.consistent, found.mentions) == (None, None, 0)
    # Professions may repeat.
    clerk = Surrogate(Kind.PROFESSION, {"value": "clerk"})
    rows = [row(at, old, "clerk", clerk, Kind.PROFESSION) for at, old in enumerate(("baker", "farmer"))]
    assert measure(rows).collisions == 0


HOSPITAL = Surrogate(Kind.HOSPITAL, {"s0": "Lima", "value": "Lima Medical Center"})
KEPT = [
    (row(1, "Dr. Adam Wilson", "Dr. Kevin Chang"), True),
    (row(1, "Dr. Adam Wilson", "Kevin Chang"), False),  # the title is gone
    (row(1, "WILSON", "Chang"), False),  # the case
    (row(1, "Wilson, Adam", "Kevin Chang"), False),  # the order
    (row(1, "Mrs. Wilson", "Mrs. Chang"), False),  # the gender of the surrogate
    (row(1, "Lincoln Medical Center", "Lima Medical Center", HOSPITAL, Kind.HOSPITAL), True),
    (row(1, "Lincoln Medical Center", "Lima School", HOSPITAL, Kind.HOSPITAL), False),  # the type
    (row(1, "Lincoln Medical Center", "Lima", HOSPITAL, Kind.ORGANIZATION), False),  # the kind
    (row(1, "baker", "cook", Surrogate(Kind.PROFESSION, {}), Kind.PROFESSION), True),
    (row(1, "truck driver", "nurse", Surrogate(Kind.PROFESSION, {}), Kind.PROFESSION), False),  # another field
    (row(1, "flautist", "baker", Surrogate(Kind.PROFESSION, {}), Kind.PROFESSION), False),  # of no known field
    (row(1, "a@b.org", "c@example.org", Surrogate(Kind.EMAIL, {"value": "c@example.org"}), Kind.EMAIL), True),
    (row(1, "a@b.org", "c", Surrogate(Kind.EMAIL, {"value": "c"}), Kind.EMAIL), False),
]


@pytest.mark.parametrize(("replaced", "kept"), KEPT)
def test_what_is_kept(replaced: ReplacedMention, kept: bool) -> None:
    assert preserves(replaced) is kept
