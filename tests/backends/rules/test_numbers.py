"""Identifiers: numbers of persons, documents and objects."""

import pytest

from models_runtime.backends.rules import codes
from tests.backends.rules.helpers import marked, otherwise

IDENTIFIERS = [
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
NO_IDENTIFIERS = [
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


def test_meddocan_has_finer_labels() -> None:
    rows = (
        "NHC: {ID_SUJETO_ASISTENCIA|368503}.\nNASS: {ID_ASEGURAMIENTO|26 63514095}.",
        "CIPA: nhc-{ID_SUJETO_ASISTENCIA|150679}.",
        "Episodio: {ID_CONTACTO_ASISTENCIAL|3629184}. NºCol: {ID_TITULACION_PERSONAL_SANITARIO|08-08-25574}.",
    )
    assert otherwise(*rows, label_set="meddocan") == []


GOOD = {
    # With blanks, a woman's day, which is 40 more, letters for digits, and a wrong letter.
    codes.looks_like_codice_fiscale: ["RSSMRA80A01H501U", "rss mra 80a01 h501u", "RSSMRA80A41H501Y",
                                       "RSSMRA80B29H501X", "RSSMRALNALMHRLMX", "RSSMRA80A01H501X"],
    codes.partita_iva: ["12345678903", "IT12345678903"], codes.tessera_sanitaria: ["80380001234567890123"],
    codes.dni: ["12345678Z", "12.345.678-Z", "X1234567L"], codes.cif: ["A58818501", "Q2826000H"],
    codes.nass: ["281234567840"], codes.iban: ["GB82 WEST 1234 5698 7654 32", "ES9121000418450200051332"],
    codes.nhs: ["943 476 5919"], codes.ssn: ["219-09-9999"], codes.luhn: ["4539 1488 0343 6467"],
    codes.ipv4: ["192.0.2.17"],
}  # fmt: skip
BAD = {
    codes.looks_like_codice_fiscale: ["RSSMRA80A32H501U", "RSSMRA80B30H501U", "RSSMRA80F01H501U"],  # no such days
    codes.partita_iva: ["12345678901", "00000000000"], codes.tessera_sanitaria: ["80380"],
    codes.dni: ["12345678A", "X12345678"], codes.cif: ["A58818502"],
    codes.nass: ["281234567841", "991234567840"],  # a wrong check digit, and no such province
    codes.iban: ["GB82 WEST 1234 5698 7654 33"], codes.nhs: ["943 476 5918"],
    codes.ssn: ["666-12-3456", "900-12-3456", "219-00-9999", "219-09-0000"],
    codes.luhn: ["4539 1488 0343 6468", ""], codes.ipv4: ["192.0.2.256", "1.2.3"],
}  # fmt: skip


@pytest.mark.parametrize(("numbers", "right"), [(GOOD, True), (BAD, False)])
def test_checked_numbers(numbers, right: bool) -> None:
    for check, rows in numbers.items():
        assert [number for number in rows if bool(check(number)) is not right] == [], check


@pytest.mark.parametrize("day", [(29, 2, 2020), (29, 2, 2000), (29, 2, None)])  # the last one in some year
def test_days_of_the_calendar(day: tuple[int, int, int | None]) -> None:
    assert codes.real_date(*day)
    for wrong in ((29, 2, 2021), (29, 2, 1900), (30, 2, None), (31, 4, 2020), (0, 1, 2020), (1, 13, 2020)):
        assert not codes.real_date(*wrong)


CONTACTS = [
    "Tel. {PHONE|06 5550 1423}", "Tfno: {PHONE|967 597 100}", "Teléfono:{PHONE|915868000}", "tel {PHONE|333 5550142}",
    "Tel.: {PHONE|+39 0422 555 061}", "llamar al {PHONE|954 555 037} si fiebre",  # grouping alone
    "cellulare {PHONE|3475550966}", "ph {PHONE|216-555-0133}  fax {FAX|216-555-0134}",  # two on a line
    "Nurse line {PHONE|440-555-0148}.", "{PHONE|(216) 555-0177}", "call {PHONE|555-0148}",  # area code in brackets
    "Telfs.: {PHONE|918823884} / {PHONE|918823984} / {PHONE|619128686}",  # a list
    "Tel. {PHONE|0773 555 300 int. 412}", "{PHONE|602-555-0114 x206}",  # An extension belongs to the number.
    "Please call the clinic at {PHONE|5-0142} before the next dose, or {PHONE|x4-0172}.",  # a hospital's own lines
    "Granddaughter, RN, wants labs read to her, # {PHONE|(817) 555-0174}",
    "called the family on {DATE|3-2019}", "Please ring {PHONE|1300 975 707} to confirm.",  # a month
    "Landlord gave {PHONE|9295550103}; {PHONE|5095550113} is the only contact",  # ten digits without groups
    "Last known number {PHONE|7025550156}, letter sent", "neighbor {PHONE|814 5550171} has a key",
    "Office {PHONE|(312) 555-0188, ext. 4412}.", "tlf fam. {PHONE|610314012}",  # words before the number
    "Móvil del marido, {PHONE|685/233872} y el de casa, {PHONE|(956) 282 734}.",
    "No coge el {PHONE|643623004}; se deja recado al vecino.",  # a mobile number alone
    "Teléf.:{PHONE|+34 948356042}/urgente",
    "Busca del residente de guardia: {PHONE|4122}.",  # a line inside the hospital
    "Interno del laboratorio: {PHONE|2268}.", "Lab extension {PHONE|x3558}.",
    "No answer on {PHONE|219-6052}; message left.", "calling from home, {PHONE|011 34 616 69 45 52}",
    "tfno1 {PHONE|610057821}, tfno2 {PHONE|917 964 793}", "pgr {PHONE|3391}",
    "Ambulatorio {PHONE|(06) 49970155} lun-ven", "Per urgenze {PHONE|(+39) 340 2287715}",
    "allo {PHONE|0039 011 6335512}", "call {PHONE|(646)555-0137} or {PHONE|617/555-0148}", "Home {PHONE|773 555 0126}",
    "GP surgery {PHONE|01632 960 441}, from abroad {PHONE|0044 20 7946 0772}", "Mob: {PHONE|07700900318}",
    "allo {PHONE|(02) 482151}, poi {PHONE|(0165) 23456}",  # eight digits without groups, nine
    "surgery {PHONE|(01632) 960 441}", "call {PHONE|(212)-555-0199}",  # no postal code
    "Valladolid {PHONE|983 555 010}",  # "id" at the end of a word announces no other number
    "Numero verde {PHONE|800-447722}", "Fax: {FAX|973 70 52 63}", "(fax {FAX|201-555-0186})",  # the bracket stays out
    "Scrivere a {EMAIL|g.neri@example.org}.", "E-mail:{EMAIL|rcabrera@example.es}",
    "E-mail.{EMAIL|hleon@example.com}",  # glued to the word
    "({EMAIL|gm.fadda@pec-avvocati.example})", "{URL|https://casi.example/covid-19/caso-98}",
    "vedi {URL|www.radiologia.example/casi/57}.", "IP {IPADDRESS|192.0.2.17} kiosk",
    # Addresses with letters of any language, and their form in ASCII.
    "{EMAIL|user@xn--80ak6aa92e.com} or {EMAIL|ana@xn--kln-una.xn--p1ai} or {EMAIL|lena@klinik-köln.de},",
    "{EMAIL|jürgen.groß@müller.example}; {EMAIL|o'brien@clinic.example}",
    "or {EMAIL|j.hackett at example dot com}.", "{EMAIL|ana arroba hospital punto es}, {EMAIL|ana [at] hospital.es}",
    "Call her (t: {PHONE|06 18 34 56 78}) or {PHONE|06-12345678}.",  # France; Dutch mobile
]  # fmt: skip
NO_CONTACTS = [
    "leucocitos 14.610/mm3, plaquetas 206.000", "19 x 23 mm", "17,6 x 109/l",  # counts; a size; a power of ten
    "300.1.2.999", "pressione 120 80", "10 20 30 mg", "foo@bar",  # no address has 999; no domain
    "dosis 667 mg", "L3-4-5 a 4/5", "int. 412", "(02) 123 456",  # an extension of nothing; too few digits in groups
    "(03) 12 45 67", "(012) 34 56", "DOI 617/555-0148",
    "She fell at home dot", "seen at St. Mary", "look at the dot on film",
]  # fmt: skip


DATES = [
    "Data: {DATE|12/03/2021}", "Seen {DATE|03/14/2018} in clinic",  # day, month, year; month first
    "{DATE|2021-03-12} TC torace", "esame del {DATE|19.03.1951}, negativo",  # ISO; dots
    "Ingreso: {DATE|7-10-2020}.", "Alta {DATE|20/07/22}",  # hyphens, short; two-digit year
    "nata il {DATE|29/02/2020}", "dall'{DATE|11/03/2020}:",  # a leap day that was; after an elided article
    "ingresó el {DATE|12 de marzo de 2018}", "il {DATE|1° luglio 2014}",  # Spanish words; ordinal sign
    "l'{DATE|8 giugno 1943}", "On {DATE|June 8, 2021} she",  # month, day, year
    "on the {DATE|8th of June, 2021}", "{DATE|3 February 2020}", "{DATE|28 de diciembre de 2022}",
    "del {DATE|12 al 15 de mayo de 2003}", "dal {DATE|12 al 15 ottobre}", "{DATE|14 y 15 mayo}",  # a range; two days
    "{DATE|4 novembre}, in reparto", "alta el {DATE|12-mar-2019}",  # no year; short month between hyphens
    "RM {DATE|novembre 2018}", "en {DATE|enero de 2004}",  # month and year
    "a {DATE|principios de julio de 2007}",  # part of a month
    "revisión en {DATE|febrero}",  # month alone after a preposition
    "spending since {DATE|July}.", "Back in ({DATE|mid-April}, funeral)",
    "echo {DATE|11/2017}", "febbre dal {DATE|27/02}",  # month and year in figures; day and month, said to be a date
    "Labs {DATE|3/12}: Na 138",  # month first, said to be one
    "Hemocultivos {DATE|03/02} negativos", "reported on {DATE|9/30} at home",  # month written with a zero
    "nata {DATE|3.2.'55} a casa",
    "ricoverata dal {DATE|12.3.24} al {DATE|19.3.24}.", "all'{DATE|Epifania} e el {DATE|día de Reyes}",
    "il {DATE|26/03} e il {DATE|27/03}", "nel {DATE|2011}",  # a list; year after a preposition
    "colecistectomía ({DATE|1998})", "triennio {DATE|2011-2013}",  # year in brackets; years
    "accesso {DATE|sabato 29 febbraio 2020}", "prevista {DATE|sabato 28}.",  # weekday and date; weekday and day
    "control el {DATE|martes 27} en consulta", "Wt up since {DATE|Friday}, ankles swollen",  # weekday alone
    "el {DATE|viernes}.", "ham over {DATE|Christmas}", "dieta en {DATE|Navidad}",  # feast
    "Desde el {DATE|día 7} deambula", "La noche del {DATE|4 al 5} agitado",  # a day of the stay
    # Roman months, joined months, two figures of a year.
    "Ingreso el {DATE|12-III-2021}, alta el {DATE|5/XI/98} y revisión el {DATE|3.IV.22}. {DATE|5 XI 1998}",
    "visit {DATE|12Dec19}, DOB {DATE|12DEC1919}, {DATE|2019-Dec-12}, {DATE|Dec-12-2019}, {DATE|12.Dec.19}",
    "Born in {DATE|April of 87}. Surgery in {DATE|Feb '09} and {DATE|3/4}. Seen {DATE|Mar-98} with cough",
    # Days and years in words.
    "the {DATE|third of March 2019}, {DATE|twenty-first of May, nineteen ninety-eight}, {DATE|March the 19th}.",
    "On {DATE|March third} and {DATE|March nineteen, twenty nineteen}; {DATE|3rd of March two thousand and nineteen}",
    "el {DATE|tres de marzo de dos mil diecinueve}, el día {DATE|primero de mayo}, el {DATE|DOS DE ABRIL}",
    "{DATE|treinta y uno de enero de mil novecientos noventa y ocho}, {DATE|doce del mes de enero del año dos mil}",
    "il {DATE|tre marzo duemiladiciannove}, il {DATE|primo maggio}, l'{DATE|otto giugno millenovecentonovantotto}",
    "moved in {DATE|Aug. 2010}", "in {DATE|April}, then home",
]  # fmt: skip
NO_DATES = [
    "31/02/2020", "29/02/2021", "45/13/2020",  # no such day; no leap year; neither order
    "PA 130/85, FC 98", "TA 100/60 mmHg", "versione 1.2.15 del software",  # blood pressure; version
    "dolor 2/10", "Apgar 9/10", "fuerza 4/5 en pierna", "2/6 holosystolic murmur",  # score
    "sacubitril/valsartan 49/51 bid", "Score visivo 12/25.", "amoxi-clav 875/125 c/8h",  # dose
    "leucocitos 2000/mm3", "se transfunden 2000 ml", "hace 10 días",  # count; volume; a length of time
    "de lunes a viernes de 9 a 14 h", "Bebe vino los domingos", "She may march on",  # opening hours; a habit; verbs
    "mar 3 set 4", "anni 2 set di prove", "COVID-19", "L4-L5, C3-C4",  # short months that are words; levels
    "SpO2 99. FR 22",
    "she may first rest; May second opinion be given; the third may be late; the first of the May tests",
    "moved in Sept.", "5/X/3", "grado 2-III", "SEPT9 gene", "32Dec19",
]  # fmt: skip


AGES = [
    "Uomo di {AGE|60} anni, iperteso", "Donna, {AGE|67} anni, BPCO", "paziente di {AGE|84} anni",  # comma between
    "Pz {AGE|60} aa, ricoverato", "La marangon, di anni {AGE|76}, affetta",  # abbreviation; figure after the word
    "un {AGE|72}enne con febbre", "una {AGE|sessantenne} iperlipidemica",  # in one word
    "Varón de {AGE|54} años con tos", "Niño de {AGE|ocho} años natural", "mujer de {AGE|setenta} años",  # in words
    "viene {PATIENT|Iñaki}, de {AGE|58} años, solo", "Edad: {AGE|71} años",  # after a name; a field
    "Edad:{AGE|22} Sexo: M", "diagnosticado a los {AGE|18} años de colitis",  # at an age
    "fumador desde los {AGE|14} años", "Lactante de {AGE|7} meses", "hija de {AGE|3} años",  # a relative's
    "is a {AGE|73}-year-old man", "{AGE|31} y/o M", "{AGE|76} years old",
    "{AGE|45}F here for annual", "twins ({AGE|17})", "Età: {AGE|84}",  # age and sex in one
    "a woman in her {AGE|90s}", "in his late {AGE|eighties}", "{AGE|ninety-two} years old",
    "{AGE|noventa y dos} años de edad", "{AGE|90}+ years old",
    "sus hijos ({AGE|14} y {AGE|17} años)", "R. C., {AGE|54} años.", "DOB: {DATE|1/4/1929} ({AGE|92})",
    "a {AGE|ninety-five}-year-old man", "{AGE|93}-y-o", "aged {AGE|ninety-one}, frail",
    "seguimiento hasta los {AGE|18}.", "her babysitter, {AGE|19}, is well",
    "Exam | {AGE|39} | MRN: {MEDICALRECORD|5518203}",
]  # fmt: skip
NO_AGES = [
    "tos de 10 años de evolución",  # length of an illness
    "desde hace 20 años", "durante 5 años en tratamiento", "fumatore da 20 anni", "oltre 20 anni turni notturni",
    "20 anni fa", "control a los 2 años del trasplante", "seguimiento de 3 años",  # after an operation
    "76 mg al día", "ex fumatore (20 pack/years)", "gestante de 34 semanas",  # a dose; length of a pregnancy
    "for 3 years", "2 years ago", "over the last 6 months", "paciente 150 años",  # nobody is as old
    "the two-year-old stent is open", "aged two to five hours", "HR in the 90s",
    "sats in the high eighties", "born in the 50s",
]  # fmt: skip


NUMBERS = [*IDENTIFIERS, *NO_IDENTIFIERS, *NUMBERED, *NO_NUMBERS, *CODED, *NO_CODES]
OTHERS = [*CONTACTS, *NO_CONTACTS, *DATES, *NO_DATES, *AGES, *NO_AGES]


@pytest.mark.parametrize("row", [*NUMBERS, *OTHERS])
def test_numbers(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize(
    ("row", "label_set"),
    [
        ("{SEXO_SUJETO_ASISTENCIA|Varón} de {EDAD_SUJETO_ASISTENCIA|54 años} con tos", "meddocan"),  # the unit too
        ("{SEXO_SUJETO_ASISTENCIA|Mujer} de {EDAD_SUJETO_ASISTENCIA|sesenta y tres años} con tos", "meddocan"),
        ("Edad: {EDAD_SUJETO_ASISTENCIA|70 años} Sexo: {SEXO_SUJETO_ASISTENCIA|H}.", "meddocan"),
        ("Operado en {FECHAS|1995} y el {FECHAS|año 2000}", "meddocan"),  # so does the word
        ("DOB: {BIRTH_DATE_TIME|07/19/1944}, seen 03/14/2018", "redactor-33"),  # dates of birth alone
        ("Uomo di {ETA|60 anni}", "it-4"),
        ("una {ETA|sessantenne} iperlipidemica", "it-4"),
    ],
)
def test_other_sets_mark_more_or_less(row: str, label_set: str) -> None:
    assert marked(row, label_set) == row
