import pytest

from tests.backends.rules.helpers import marked, otherwise

FOUND = [
    "NHC: {MEDICALRECORD|448120}",
    "NHC {MEDICALRECORD|66-10984},",
    "MRN: {MEDICALRECORD|5518203}",
    "MR# {MEDICALRECORD|00-77-4410}",
    "Nº historia: {MEDICALRECORD|C-88213}",
    "cartella n. {MEDICALRECORD|20190455}",
    "ID paziente {MEDICALRECORD|70044128}",
    "CIP: {HEALTHPLAN|AN0541887730}",
    "NASS: {SSN|49 10077231 87}",
    "SSN {SSN|219-09-9999}",
    "SSN: {SSN|219 09 9999}",
    "N.H.C. {MEDICALRECORD|44817}",
    "El turismo {VEHICLE|B 2145 VX} quedó siniestro.",
    "Last 4: {SSN|8831}",
    "DNI: {IDNUM|45219837C}",  # by the word
    "{IDNUM|12345678Z} aportado",  # by its letter alone
    "NIE {IDNUM|X1234567L}.",
    "C.F. {IDNUM|RSSMRA80A01H501U}, residente",
    "CF {IDNUM|MRNTRS43H48H620V})",  # a wrong check letter: the form is enough
    "P. IVA {IDNUM|12345678903}",
    "conto {ACCOUNT|IT60X0542811101000000123456},",
    "IBAN {ACCOUNT|GB82 WEST 1234 5698 7654 32}",
    "NHS no. {MEDICALRECORD|943 476 5919}",
    "NºCol: {LICENSE|28 28 70973}.",
    "Nº col. {LICENSE|41/20418}",
    "NPI {LICENSE|1770455213}",
    "Episodio: {IDNUM|2019-0114772}",
    "Member ID {HEALTHPLAN|88-2010-334-01}",
    "serial {DEVICE|7741-AD-2236}, interrogated",
    "nº serie {DEVICE|EVT-530917-B};",
    "targa {VEHICLE|GA 417 KX}",
    "COVID-19: caso {IDNUM|98}",
    "SENTENZA n. {IDNUM|118/2019}",
    "campione n. {IDNUM|20-03-11874})",
    "accession {IDNUM|MC2001-3318})",
    "prot. {IDNUM|0187723} agli atti",
    "transcribed by {USERNAME|tk482}",
    "cod. {USERNAME|psanna02})",
]
LEFT = [
    "12345678A",  # wrong letter
    "ES91 2100 0418 4502 0005 1333",  # wrong check digits
    "000-12-3456",  # no such social security number
    "in questo caso 15 litri",  # no case number
    "caso clinico",
    "plaquetas 206000",
]


@pytest.mark.parametrize("row", FOUND)
def test_numbers(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("row", LEFT)
def test_no_numbers(row: str) -> None:
    assert marked(row) == row


def test_meddocan_has_finer_labels() -> None:
    rows = (
        "NHC: {ID_SUJETO_ASISTENCIA|368503}.\nNASS: {ID_ASEGURAMIENTO|26 63514095}.",
        "CIPA: nhc-{ID_SUJETO_ASISTENCIA|150679}.",
        "Episodio: {ID_CONTACTO_ASISTENCIAL|3629184}. NºCol: {ID_TITULACION_PERSONAL_SANITARIO|08-08-25574}.",
    )
    assert otherwise(*rows, label_set="meddocan") == []
