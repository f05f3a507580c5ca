"""Numbers of documents, objects and persons after words of an open class, and by their form."""

import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    "Factura {ACCOUNT|F23/47239} pendiente de cobro",
    "Petición {IDNUM|307853720}, extraída a las 8:05",  # as long as a telephone number
    "Ref. informe radiológico {IDNUM|413451711-TC}",  # other words between the word and the code
    "Diligencias previas {IDNUM|250/23}, juzgado de guardia",
    "N.º de asegurado {HEALTHPLAN|25091984/45}",
    "Buono ausili {IDNUM|AUS-26-2546}, girello",
    "Polizza {HEALTHPLAN|2598.7218722}, compagnia privata",
    "CIP {HEALTHPLAN|LGNJ 1 651625 38 8}",  # letters and groups of digits
    "Donor ID {IDNUM|W5716 23 835902}.",
    "device s/n {IDNUM|AV-51031-LL}",
    "reg {VEHICLE|HB73 FCP} on the ambulance",
    "MBI {HEALTHPLAN|5KG4-TE2-MK93}",
    "Locker {IDNUM|B-227} emptied",
    "SSN ending {SSN|4230}",
    "Identificata con c.i. {IDNUM|AX 4659933}.",
    "accession number {IDNUM|MR-5023060}",
    "Dual chamber pacemaker, serial no. {DEVICE|RNB 771230}, battery good.",  # letters apart, after a sign
    "Medicaid ID: {HEALTHPLAN|ZX 90817 Q}",
    "The old notes are filed as {IDNUM|K-4417}.",
    "Registered under {IDNUM|44-1772} at the clinic",
    "Refund into account {ACCOUNT|7731 204 418}, sort code withheld.",
    "Personal health number is {IDNUM|441772093} per old chart.",  # no rate
    "MBI {HEALTHPLAN|9SX4 SL7 SB41} verified",
    "Inmate {IDNUM|T77120} transferred",
    # by the form alone
    "Revisado {IDNUM|S24-10233} con el tutor",
    "Nos llega {IDNUM|CT-482913} de otro centro",
    "Dosímetro leído: {IDNUM|44817203}",
]
LEFT = [
    "NCT04417720, PMID 31447182, SNOMED 22298006, RxNorm 197361, EudraCT 2019-002345-11",
    "Código de procedimiento 70553, CPT 99214, HCPCS J1100, morfología M-81403",
    "Ley 41/2002, Real Decreto 1093/2010, Orden 1355/2018",
    "G20210A, C677T, m.3243A>G, chr7:117559590, rs113993960",
    "Plaquetas 206000, luego 198500 y 145250. HCV RNA 2987654 IU/mL.",
    "Población de referencia 345678 habitantes, Holter with 101234 beats",
    "penicilina 2400000 UI, carga viral 1254367 copias/ml",
    "Historia de 20 años, lote de 250 cajas, caso 2 de 5",
    "Car seat. Vitamin D 400 IU.",
    "costo per caso 3980 €",
    "sample of 44100 per year, unit 12, form B, block 3 of 4, check at 1800",
]


@pytest.mark.parametrize("row", FOUND)
def test_codes(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("row", LEFT)
def test_no_codes(row: str) -> None:
    assert marked(row) == row
