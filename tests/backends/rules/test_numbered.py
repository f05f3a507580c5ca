"""Identifiers by the word or sign before them, in each language."""

import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    "Scheda n. {IDNUM|44182}.",  # whatever it is the number of
    "N. pratica {IDNUM|2023/4471}",
    "Nº de registro {IDNUM|44817}",
    "Visit number {IDNUM|44817203}",
    "Order # {IDNUM|448172031}, inmate # {IDNUM|A44817}",
    "Patient ID {IDNUM|PT0448172}",
    "S/N {IDNUM|BLC448172}",
    "CF: {IDNUM|RSS MRA 80A01 H501U}",  # in groups
    "Cod. fiscale {IDNUM|bnclra55c50f205z}",  # in small letters
    "C.I.E. {IDNUM|CA44182AB}",
    "Passaporto n° {IDNUM|YA 4410278}",
    "NRE {IDNUM|1200A4417720931}",
    "Ordine dei Medici Chirurghi n. {LICENSE|12447}",
    "OMCeO Torino {LICENSE|18827}",
    "P.I. {IDNUM|01234567897}",
    "NIE: {IDNUM|X-4481720-R}",
    "Expediente {IDNUM|2023/44817}",
    "N.S.S. {SSN|28 44817203 10}",
    "Cuenta {ACCOUNT|2100 0418 45 0200051332}",
    "GMC {LICENSE|4481720}",
    "NINO: {SSN|AB 44 81 72 D}",
    "VIN {VEHICLE|1HGCM82633A044817}",
    "Acc. number {IDNUM|RX2003118842}",  # not from the digits on
]
LEFT = [
    "D.Lgs. n. 196/2003, Ley nº 41/2002",
    "CAS no. 7440-09-7",
    "The number 48210 was counted",
    "n. 20348 pazienti",
    "número de plaquetas 245000, n. leucociti 14610",
    "in ordine 250, 300 e 400 mg",
    "registration with 1200 patients",
    "hospital policy 2019 applies",
]


@pytest.mark.parametrize("row", FOUND)
def test_numbers(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("row", LEFT)
def test_no_numbers(row: str) -> None:
    assert marked(row) == row
