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
    "pasaporte {IDNUM|aab123456}",  # in small letters
    "Passaporto {IDNUM|ya1234567}, patente {IDNUM|mi1234567x}",
    "Carta d'identità n. {IDNUM|ca12345aa}",
    "medicare number {HEALTHPLAN|1eg4-te5-mk73}",
    "ni number {SSN|qq123456c}",
    "nino {SSN|qq 12 34 56 c}",
    "passport number {IDNUM|a12345678}",
    "plate {VEHICLE|abc1234} from {DATE|2019}",
    "targa {VEHICLE|ab123cd}",
    "vin {VEHICLE|1hgcm82633a044817}",
    "Member number {HEALTHPLAN|1987}.",  # a year only after "policy" alone
    "Policy {HEALTHPLAN|2015 4488}",
    "Policy number {HEALTHPLAN|2019}",
    "Member ID {HEALTHPLAN|2001 4455}",
    "policy {ACCOUNT|448}, account {ACCOUNT|1234}, account {ACCOUNT|448}",
    "insurance {SSN|AB123456C}",
    "insurance {HEALTHPLAN|AB1234567}",
    "Partita IVA {IDNUM|01234567897}, P. IVA {IDNUM|01234567897}",
    "VAT {IDNUM|IT01234567897}",
    "Nº de registro {IDNUM|100000}, Patient ID {IDNUM|200000}",  # round, but no counts
    "Orden nº {IDNUM|44817}",
    "inscrito con el número {IDNUM|44817}",
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
    "documento in 20000 esemplari, carta di 123456 pagine",
    "placa de 1234 ab, registration 1234 from stock",
    "plate 10x40mm",
    "Plaquetas número 250000, plaquetas número 245000",
    "Carga viral número 120000 copias",
    "n. 100000 colonie, n. 12345 colonie",
    "No. 20000 copies, No. 12345 copies",
    "#20000 platelets, #23456 platelets, #23456 patients",
    "Nº 23456/ml",
    "Disp #100000",
    "Eosinofili n. 10500",
    "Orden nº 1355/2018",
]


@pytest.mark.parametrize("row", FOUND)
def test_numbers(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("row", LEFT)
def test_no_numbers(row: str) -> None:
    assert marked(row) == row
