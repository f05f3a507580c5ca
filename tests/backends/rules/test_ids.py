"""Identifiers: numbers of persons, documents and objects."""

import pytest

from tests.backends.rules.helpers import marked, otherwise

FOUND = [
    "NHC: {MEDICALRECORD|448120}", "NHC {MEDICALRECORD|66-10984},", "MRN: {MEDICALRECORD|5518203}",
    "MR# {MEDICALRECORD|00-77-4410}", "Nº historia: {MEDICALRECORD|C-88213}", "cartella n. {MEDICALRECORD|20190455}",
    "ID paziente {MEDICALRECORD|70044128}", "CIP: {HEALTHPLAN|AN0541887730}", "NASS: {SSN|49 10077231 87}",
    "SSN {SSN|219-09-9999}", "SSN: {SSN|219 09 9999}", "N.H.C. {MEDICALRECORD|44817}",
    "El turismo {VEHICLE|B 2145 VX} quedó siniestro.", "Last 4: {SSN|8831}", "DNI: {IDNUM|45219837C}",  # by the word
    "{IDNUM|12345678Z} aportado",  # by its letter alone
    "NIE {IDNUM|X1234567L}.", "C.F. {IDNUM|RSSMRA80A01H501U}, residente",
    "CF {IDNUM|MRNTRS43H48H620V})",  # a wrong check letter: the form is enough
    "P. IVA {IDNUM|12345678903}", "conto {ACCOUNT|IT60X0542811101000000123456},",
    "IBAN {ACCOUNT|GB82 WEST 1234 5698 7654 32}", "NHS no. {MEDICALRECORD|943 476 5919}",
    "NºCol: {LICENSE|28 28 70973}.", "Nº col. {LICENSE|41/20418}", "NPI {LICENSE|1770455213}",
    "Episodio: {IDNUM|2019-0114772}", "Member ID {HEALTHPLAN|88-2010-334-01}",
    "serial {DEVICE|7741-AD-2236}, interrogated", "nº serie {DEVICE|EVT-530917-B};", "targa {VEHICLE|GA 417 KX}",
    "COVID-19: caso {IDNUM|98}", "SENTENZA n. {IDNUM|118/2019}", "campione n. {IDNUM|20-03-11874})",
    "accession {IDNUM|MC2001-3318})", "prot. {IDNUM|0187723} agli atti", "transcribed by {USERNAME|tk482}",
    "cod. {USERNAME|psanna02})",
    "Med rec no {MEDICALRECORD|12-34-56};",
]  # fmt: skip
LEFT = [
    "12345678A", "ES91 2100 0418 4502 0005 1333",  # wrong letter; wrong check digits
    "000-12-3456", "in questo caso 15 litri", "caso clinico",  # no such social security number; no case number
    "plaquetas 206000",
    "Study ID see page 4010232137; platelet count 4010232137",
]  # fmt: skip
# By the word or sign before them.
NUMBERED = [
    "Scheda n. {IDNUM|44182}.",  # whatever it is the number of
    "N. pratica {IDNUM|2023/4471}", "Nº de registro {IDNUM|44817}", "Visit number {IDNUM|44817203}",
    "Order # {IDNUM|448172031}, inmate # {IDNUM|A44817}", "Patient ID {IDNUM|PT0448172}", "S/N {IDNUM|BLC448172}",
    "CF: {IDNUM|RSS MRA 80A01 H501U}", "Cod. fiscale {IDNUM|bnclra55c50f205z}",  # in groups; in small letters
    "C.I.E. {IDNUM|CA44182AB}", "Passaporto n° {IDNUM|YA 4410278}", "NRE {IDNUM|1200A4417720931}",
    "Ordine dei Medici Chirurghi n. {LICENSE|12447}", "OMCeO Torino {LICENSE|18827}", "P.I. {IDNUM|01234567897}",
    "NIE: {IDNUM|X-4481720-R}", "Expediente {IDNUM|2023/44817}", "N.S.S. {SSN|28 44817203 10}",
    "Cuenta {ACCOUNT|2100 0418 45 0200051332}", "GMC {LICENSE|4481720}", "NINO: {SSN|AB 44 81 72 D}",
    "VIN {VEHICLE|1HGCM82633A044817}", "Acc. number {IDNUM|RX2003118842}",  # not from the digits on
    "pasaporte {IDNUM|aab123456}",  # in small letters
    "Passaporto {IDNUM|ya1234567}, patente {IDNUM|mi1234567x}", "Carta d'identità n. {IDNUM|ca12345aa}",
    "medicare number {HEALTHPLAN|1eg4-te5-mk73}", "ni number {SSN|qq123456c}", "nino {SSN|qq 12 34 56 c}",
    "passport number {IDNUM|a12345678}", "plate {VEHICLE|abc1234} from {DATE|2019}", "targa {VEHICLE|ab123cd}",
    "vin {VEHICLE|1hgcm82633a044817}", "Member number {HEALTHPLAN|1987}.",  # a year only after "policy" alone
    "Policy {HEALTHPLAN|2015 4488}", "Policy number {HEALTHPLAN|2019}", "Member ID {HEALTHPLAN|2001 4455}",
    "policy {ACCOUNT|448}, account {ACCOUNT|1234}, account {ACCOUNT|448}", "insurance {SSN|AB123456C}",
    "insurance {HEALTHPLAN|AB1234567}", "Partita IVA {IDNUM|01234567897}, P. IVA {IDNUM|01234567897}",
    "VAT {IDNUM|IT01234567897}", "Nº de registro {IDNUM|100000}, Patient ID {IDNUM|200000}",  # round, but no counts
    "Orden nº {IDNUM|44817}", "inscrito con el número {IDNUM|44817}",
]  # fmt: skip
NO_NUMBERS = [
    "D.Lgs. n. 196/2003, Ley nº 41/2002", "CAS no. 7440-09-7", "The number 48210 was counted", "n. 20348 pazienti",
    "número de plaquetas 245000, n. leucociti 14610", "in ordine 250, 300 e 400 mg", "registration with 1200 patients",
    "hospital policy 2019 applies", "documento in 20000 esemplari, carta di 123456 pagine",
    "placa de 1234 ab, registration 1234 from stock", "plate 10x40mm",
    "Plaquetas número 250000, plaquetas número 245000", "Carga viral número 120000 copias",
    "n. 100000 colonie, n. 12345 colonie", "No. 20000 copies, No. 12345 copies",
    "#20000 platelets, #23456 platelets, #23456 patients", "Nº 23456/ml", "Disp #100000", "Eosinofili n. 10500",
    "Orden nº 1355/2018",
]  # fmt: skip
# After words of an open class, and by their form.
CODED = [
    "Factura {ACCOUNT|F23/47239} pendiente de cobro",
    "Petición {IDNUM|307853720}, extraída a las 8:05",  # as long as a telephone number
    "Ref. informe radiológico {IDNUM|413451711-TC}",  # other words between the word and the code
    "Diligencias previas {IDNUM|250/23}, juzgado de guardia", "N.º de asegurado {HEALTHPLAN|25091984/45}",
    "Buono ausili {IDNUM|AUS-26-2546}, girello", "Polizza {HEALTHPLAN|2598.7218722}, compagnia privata",
    "CIP {HEALTHPLAN|LGNJ 1 651625 38 8}",  # letters and groups of digits
    "Donor ID {IDNUM|W5716 23 835902}.", "device s/n {IDNUM|AV-51031-LL}", "reg {VEHICLE|HB73 FCP} on the ambulance",
    "MBI {HEALTHPLAN|5KG4-TE2-MK93}", "Locker {IDNUM|B-227} emptied", "SSN ending {SSN|4230}",
    "Identificata con c.i. {IDNUM|AX 4659933}.", "accession number {IDNUM|MR-5023060}",
    "Dual chamber pacemaker, serial no. {DEVICE|RNB 771230}, battery good.",  # letters apart, after a sign
    "Medicaid ID: {HEALTHPLAN|ZX 90817 Q}", "The old notes are filed as {IDNUM|K-4417}.",
    "Registered under {IDNUM|44-1772} at the clinic", "Refund into account {ACCOUNT|7731 204 418}, sort code withheld.",
    "Personal health number is {IDNUM|441772093} per old chart.",  # no rate
    "MBI {HEALTHPLAN|9SX4 SL7 SB41} verified", "Inmate {IDNUM|T77120} transferred",
    # by the form alone
    "Revisado {IDNUM|S24-10233} con el tutor", "Nos llega {IDNUM|CT-482913} de otro centro",
    "Dosímetro leído: {IDNUM|44817203}",
]  # fmt: skip
NO_CODES = [
    "NCT04417720, PMID 31447182, SNOMED 22298006, RxNorm 197361, EudraCT 2019-002345-11",
    "Código de procedimiento 70553, CPT 99214, HCPCS J1100, morfología M-81403",
    "Ley 41/2002, Real Decreto 1093/2010, Orden 1355/2018", "G20210A, C677T, m.3243A>G, chr7:117559590, rs113993960",
    "Plaquetas 206000, luego 198500 y 145250. HCV RNA 2987654 IU/mL.",
    "Población de referencia 345678 habitantes, Holter with 101234 beats",
    "penicilina 2400000 UI, carga viral 1254367 copias/ml", "Historia de 20 años, lote de 250 cajas, caso 2 de 5",
    "Car seat. Vitamin D 400 IU.", "costo per caso 3980 €",
    "sample of 44100 per year, unit 12, form B, block 3 of 4, check at 1800",
]  # fmt: skip


@pytest.mark.parametrize("row", [*FOUND, *LEFT, *NUMBERED, *NO_NUMBERS, *CODED, *NO_CODES])
def test_numbers(row: str) -> None:
    assert marked(row) == row


def test_meddocan_has_finer_labels() -> None:
    rows = (
        "NHC: {ID_SUJETO_ASISTENCIA|368503}.\nNASS: {ID_ASEGURAMIENTO|26 63514095}.",
        "CIPA: nhc-{ID_SUJETO_ASISTENCIA|150679}.",
        "Episodio: {ID_CONTACTO_ASISTENCIAL|3629184}. NºCol: {ID_TITULACION_PERSONAL_SANITARIO|08-08-25574}.",
    )
    assert otherwise(*rows, label_set="meddocan") == []
