"""Numbers in the format of the original that nobody has been given."""

import random
import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban, luhn
from stdnum.es import dni, nie
from stdnum.gb import nhs
from stdnum.it import codicefiscale

from annotations.release.rules.surrogates import identifiers
from annotations.release.rules.surrogates.folding import compact, pour
from annotations.release.rules.surrogates.identifiers import example_domain, new_ip, new_phone


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
