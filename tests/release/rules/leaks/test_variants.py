"""Variants of labeled strings that the leak gate finds, and what it knows by its shape alone."""

import pytest

from annotations.release.rules.leaks.gate import Gate
from annotations.release.rules.leaks.needles import Needle
from annotations.release.rules.leaks.shapes import device_addresses, full_dates, telephones, web_addresses
from annotations.release.rules.redaction.policy import Action, LabelRule
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.redaction.released import ReplacedPiece
from tests.release.rules.leaks.test_gate import leaks, needle, quotes
from tests.release.rules.redaction.replacing import Told

# By kind of variant: the labeled strings, and what isn't found without knowing how else they are written.
LABELED = [
    needle("Fernando Aguilera Gil"), needle("Petrie"), needle("Rosa Mora"), needle("María de la Cruz"),
    needle("San Sebastián", "CITY"), needle("12/03/2021", "DATE"), needle("Di Faenza"),
    Needle("Calle Mayor 15", "STREET", Kind.STREET), Needle("12 Oak Street", "STREET", Kind.STREET),
    Needle("Hospital San Rafael", "HOSPITAL", Kind.HOSPITAL), Needle("MRN 448172", "RECORD", Kind.RECORD),
]  # fmt: skip
VARIANTS = {
    "short name after a title": [
        "Sra. Gil", "SR GIL", "sra. gil", "Dña. Gil", "D. Gil", "Profa. Gil", "paciente Gil", "Sr(a). Gil",
        "sig.ra Gil"
    ],
    "short name in the position of a name": ["vio a Gil ayer", "F. Gil", "Sr. F. Gil", "GIL, FERNANDO", "Gil Aguilera"],
    "misspelled": ["Aguilrea", "aguileral", "Fermando", "Fernado", "Petri"],
    "name over a line break": ["Agui-\nlera", "Fernan-\r\n   do", "Petr\nie", "Agui\u00ad\nlera", "Aguil-\n\nera"],
    "letters apart": [
        "P E T R I E", "P.E.T.R.I.E", "p e t r i e", "P\nE\nT\nR\nI\nE", "R O S A", "Petr ie", "Pet rie", "Petr\tie",
        "Petr\u00a0ie", "Petr.ie", "Agui_lera", "agui/lera", "Fern ando",
    ],
    "joined": [
        "FernandoAguilera", "fernandoaguilera", "AguileraFernando", "GilFernando", "faguilera", "FAguilera",
        "DrAguilera", "sraaguilera", "delacruz", "DeLaCruz", "MaríaCruz", "SanSebastián", "fernando_aguilera",
        "aguilera77", "RosaGil", "difaenza.am",
    ],
    "invisible characters": [
        f"Agui{character}lera"
        for character in "\u00ad\u034f\u061c\u200b\u200d\u200e\u200f\u202e\u2060\u2066\u3164\ufe0f\ufeff"
    ],
    "look-alikes": [
        "Аguilera", "Aguilеra", "Aguіlera", "Αguilera", "Ꭺguilera", "ꓮguilera", "Ａｇｕｉｌｅｒａ", "𝐀𝐠𝐮𝐢𝐥𝐞𝐫𝐚",
        "Aguiłera", "ᴀguilera", "РЕТRIЕ", "Ρetrie",
    ],
    "dates": [
        "2021-03-12", "2021/3/12", "12.3.21", "12.3.'21", "12 de marzo de 2021", "12 marzo 2021", "March 12th, 2021",
        "12 Mar 2021",
        "12Mar21", "12-mar-2021", "12/III/2021", "12-iii-21", "20210312", "12032021", "03/12/2021", "12 03 2021",
        "2021-071",
        "12 de\nmarzo de 2021", "12 de marzo del año 2021", "١٢/٠٣/٢٠٢١", "12/03/\u200e2021",
    ],
    "streets": [
        "C/ Mayor, 15", "Mayor 15", "calle Mayor n.º 15", "Mayor nº 15", "Mayor, núm. 15", "Mayor número 15",
        "12 Oak St", "12 Oak",
    ],
    "institutions": ["SanRafael", "HospitalSanRafael", "sanrafael"],
    "short numbers of records": ["448 172", "44-81-72", "MRN448172", "448.172"],
}  # fmt: skip
CLEAN = [
    "del agua la gira", "el mar de la rosa", "rosado y morado", "gil", "12.3 mg en 2021", "el 3/12",
    "12 de 2021", "agui, lera", "petr ie", "dirosa",
    "mayor de 15", "la hija mayor, 15", "12 oaks", "448 1720", "2021-070", "2021-0711",
    "pet. Rie", "13/03/2021", "marzo de 2021", "sansa", "moral", "12/03/20213",
]  # fmt: skip


@pytest.mark.parametrize("kind", VARIANTS)
def test_variants_of_labeled_strings_are_found(kind: str) -> None:
    prepared = Gate((), ["es"]).prepared(LABELED)
    assert [text for text in VARIANTS[kind] if not Gate((), ["es"]).find(f"Hoy {text} fin.", prepared)] == []


def test_a_variant_is_found_from_its_first_to_its_last_letter() -> None:
    found = quotes("La Sra. Gil, P E T R I E; vio a FernandoAguilera el 12.3.21: Petr-\n ie.", *LABELED)
    assert found == ["Gil", "P E T R I E", "FernandoAguilera", "12.3.21", "Petr-\n ie"]
    assert quotes("[X] Gil", *LABELED, pieces=(ReplacedPiece(0, 8, 0, 3, "NAME", Action.MASK),)) == ["Gil"]


def test_other_words_and_numbers_are_no_variants() -> None:
    found = {text: quotes(f"Hoy {text} fin.", *LABELED) for text in CLEAN}
    assert {text: some for text, some in found.items() if some not in ([], ["rosa"])} == {}


def test_a_date_that_the_policy_made_is_no_variant() -> None:
    shift = LabelRule(Kind.DATE, Action.SHIFT)
    marks = (("12/03/2021", "DATE"), ("2021-04-11", "DATE"))
    assert leaks("12/03/2021, 2021-04-11", *marks, told=Told(days=-30), DATE=shift) == ([], set())
    keep = LabelRule(Kind.CITY, Action.KEEP)
    assert leaks("12/03/2021, 12.3.21", ("12/03/2021", "DATE"), ("12.3.21", "CITY"), CITY=keep) == ([], {"kept"})


# ── Telephone numbers, addresses and dates by their shape; values and doses have none ────────────────────────────────


TELEPHONES = [
    ("Tel. 915 12 34 56, fax: 91-512-34-57", {"915 12 34 56", "91-512-34-57"}),
    ("Teléfonos: 56-2-3543462", {"56-2-3543462"}),
    ("call +34 915123456 or 0039 02 5550 1234", {"+34 915123456", "0039 02 5550 1234"}),
    ("915123456 / 600 123 456", {"915123456", "600 123 456"}),
    ("(555) 201-8834; 555.201.8834", {"(555) 201-8834", "555.201.8834"}),
    ("06 12345678, 347 1234567", {"06 12345678", "347 1234567"}),
    ("07700 900123, 020 7946 0958, 0113 496 0123", {"07700 900123", "020 7946 0958", "0113 496 0123"}),
    ("06 12 34 56 78 / 01.23.45.67.89", {"06 12 34 56 78", "01.23.45.67.89"}),
    ("12/03/2021 10:30, TA 120/80, plaquetas 250000, 250.000, 1.234.567, 36,8 mg/dl", set()),
    ("1 2 3 4 5 6 7 8 9, PSA 0.012345678, 123456789", set()),
    ("telar 12", set()),
]


@pytest.mark.parametrize(("text", "expected"), TELEPHONES)
def test_telephone_numbers_are_found_by_their_shape(text: str, expected: set[str]) -> None:
    assert {text[start:end] for start, end in telephones(text)} == expected


def test_addresses_of_devices_and_dates_by_their_shape() -> None:
    text = "MAC 00:1B:44:11:3A:B7, 00-1b-44-11-3a-b7, 001b.4411.3ab7, at fe80::1 or 2001:db8:85a3::8a2e:370:7334; "
    text += "12:30:45, Dx:: a, 1234.5678.9012"
    found = [(text[slice(*bounds)], kind) for bounds, kind in device_addresses(text)]
    assert found == [
        ("00:1B:44:11:3A:B7", Kind.DEVICE), ("00-1b-44-11-3a-b7", Kind.DEVICE),
        ("001b.4411.3ab7", Kind.DEVICE), ("fe80::1", Kind.IP),
        ("2001:db8:85a3::8a2e:370:7334", Kind.IP),
    ]  # fmt: skip
    hosts = "facebook.com/ana.gil, sub.clinic-x.org; bit.ly/3ab; not a@b.com, www.b.com, vs.es, 5.mg/ml, comer.Es"
    found_hosts = [hosts[slice(*bounds)] for bounds in web_addresses(hosts)]
    assert found_hosts == ["facebook.com/ana.gil", "sub.clinic-x.org", "bit.ly/3ab", "www.b.com"]
    dates = "19·03·2024, 19/03/2024, 2024-03-19; not 190/03/2024 or 19/03-2024"
    assert [dates[slice(*bounds)] for bounds in full_dates(dates)] == ["19·03·2024", "19/03/2024", "2024-03-19"]
