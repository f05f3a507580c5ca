"""Twice as much hostile text costs at most 2.6 times the time, for every pattern that meets the text of notes."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from annotations.formats.notes import NoteError
from annotations.release.rules.known.days import days_in
from annotations.release.rules.leaks.encoded import DecodedText, is_encoded
from annotations.release.rules.leaks.gate import Gate
from annotations.release.rules.leaks.needles import Needle
from annotations.release.rules.leaks.shapes import device_addresses, full_dates, telephones, web_addresses
from annotations.release.rules.redaction.ages import told_in
from annotations.release.rules.redaction.dates import read_dates
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.rules.surrogates.identifiers import unreserved
from annotations.text.segments import sentences
from models_runtime.backends.rules.backend import RulesBackend
from tests.formats.helpers import WHOLE, read_all

MOST, TRIES = 2.6, 5
LENGTH, BY_DAY = 8_000, 2_000
"""Characters of the shorter text, at night and by day: enough that what grows with the square shows."""
# Signs and tokens of every kind, each repeated without end.
TOKENS = [
    ".", "..", "!", "?", ",", ";", ":", "-", "–", "_", "/", "\\", "(", ")", "[", "'", '"', "«", "*", "#", "@", "+", "=",
    "\t", " ", "\n", "1", "1.", "1/", "1-", "1 ", "1.1", "12:", "a:", "::", "00:",
    "a", "A", "a.", "A.", "a-", "Aa ", "Aa-", "A. ", "a@",
    "a.a@", "www.",
    "http://", "://a", "dr. ", "Mr. ", "de ", "calle ", "tel ", "+3", "00", "n. ", "mario",
    "m a r i o ", "mar 1 ", "mar1", "12/iii/", "Gil ", "Sr. Gil ", "é", "ß", "\u0301", "漢", "٣", "🙂",
    "A.Th. ", "Aa-\n", "12Dec", "5/XI/", "a at a dot ", "a dot ", "[at]", "Will Aa ", "in her 90s ", "1\n",
    "Dr.\n", "tel 1\n", "Mr. Aa aa. ",
    "tres de marzo de ", "March the ", "March nineteen ", "ninety ", "ninety-", "noventa y ", "novanta", "cento",
    "94 a ", "malaspino ", "ma1aspina", "ma1a",
    "&eacute;", "&a", "%C3", "%C3%A9", "=C3", "Ã", "Ã©", "<b>", "<a ", "\\u00e9",
    "rue de ", "12 rue A ", "Rue A-", "M. ", "Frau Dr. ", "Aastraße ", "Aa Straße 1 ", "75011 A", "Name: ", "Nom A ",
    "1 mars ", "a.com", "a.it/", "a?", "Pt: A. ",
    "1\u00ad", "1\u00a0", "a\u2011", "９", "turned 94 ", "94 years ", "age (years) ", "mujer de 94", "ninety-a year ",
]  # fmt: skip


NEEDLES = [
    Needle(text, kind.value.upper(), kind)
    for text, kind in (
        ("Mario Rossi Gil", IdentifierType.NAME), ("915 123 456", IdentifierType.PHONE), ("Mario", IdentifierType.NAME),
        ("Malaspina", IdentifierType.NAME), ("12/03/2021", IdentifierType.DATE),
    )
]  # fmt: skip


def gate(text):
    return Gate((), ["es"], ()).find(text, NEEDLES, exceptions=Counter())


READERS: dict[str, Callable[[str], object]] = {
    "sentences": sentences, "telephones": lambda text: list(telephones(text)),
    "addresses of devices": lambda text: list(device_addresses(text)),
    "dates by shape": lambda text: list(full_dates(text)), "web addresses": lambda text: list(web_addresses(text)),
    "addresses by shape": lambda text: list(unreserved(text)), "ages by shape": lambda text: list(told_in(text, 2020)),
    "a date": lambda text: read_dates(text, "es"), "days": lambda text: days_in(text),
    "signs": lambda text: is_encoded(text) and DecodedText(text), "gate": gate,
    "rules": lambda text: RulesBackend().predict([text]),
    "rules for other languages": lambda text: RulesBackend(abroad=True).predict([text]),
}  # fmt: skip


def seconds(reader: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    reader(text)
    return time.process_time() - began


# The slowest readers, which share most patterns, share the tokens by day, too.
HALVES = {"rules": slice(0, None, 2), "rules for other languages": slice(1, None, 2)}


@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_text(name, pytestconfig):
    nightly, reader, slow = pytestconfig.getoption("--nightly"), READERS[name], {}
    length = LENGTH if nightly else BY_DAY
    for token in TOKENS if nightly else TOKENS[HALVES.get(name, slice(None))]:
        text = (token * length)[:length]
        short = long = 0.0
        for _try in range(TRIES):
            # What takes less than 10 ms for the longer text is quick enough.
            if (long := seconds(reader, text + text)) <= 0.01 or long <= MOST * (short := seconds(reader, text)):
                break
        else:
            slow[token] = (round(short, 3), round(long, 3))
    assert slow == {}


@pytest.mark.parametrize("kind", sorted(kind for kind, ending in WHOLE.items() if ending in ("xml", "xmi")))
def test_time_grows_with_nested_elements(kind):
    def read(text: str) -> None:
        with suppress(NoteError):
            read_all(kind, {f"a.{WHOLE[kind]}": text})

    few, many = ("<a>" * depth + "</a>" * depth for depth in (10_000, 20_000))
    assert min(seconds(read, many) / seconds(read, few) for _try in range(TRIES)) <= MOST
