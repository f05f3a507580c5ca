"""Identifiers that exceptions for other words must not hide, and the words that those exceptions are for."""

import pytest

from tests.backends.rules.helpers import marked

# Surnames that look like a state or an illness, after titles.
TITLED = [
    "Pz. {PATIENT|Rizzato}.",
    "Dott. {DOCTOR|Pizzato}.",
    "Dott.ssa {DOCTOR|Rizzati}, chirurgia",
    "Dr. {DOCTOR|Pizzato} valuta il paziente.",
    "Dr. {DOCTOR|Maurizzato}",
    "Signor {PATIENT|Lizzato}",
    "Sra. {PATIENT|Lizado}.",
    "Dra. {DOCTOR|Garizada}.",
    "Sig. {PATIENT|Depresso}",
    "Dr. {DOCTOR|Verbal}.",
    "DOTT. {DOCTOR|PIZZATO}.",
    "Dott. {DOCTOR|Anziano}.",
    "Sig.ra {PATIENT|Candidata}.",
    "Dr. {DOCTOR|Scholl}",
    "Dr. {DOCTOR|Seuss}.",
    "Dr. {DOCTOR|Educado}",
    "Padre: Hipertenso. Madre: Diabética. Moglie, sig.ra {PATIENT|Depresso}.",
    "Paziente: {PATIENT|Rizzato}. Cognome: {PATIENT|Depresso}",
]
# Hospitals before a heading or a test.
HOSPITALS = [
    "Trasladado al {HOSPITAL|Hospital Vall d'Hebron}, diagnóstico: sepsis",
    "Trasladado desde el {HOSPITAL|Hospital Infanta Leonor}, escala 12.",
    "Remitido del {HOSPITAL|Hospital Infanta Leonor}, signos: fiebre.",
    "{HOSPITAL|Hospital Clínico San Carlos}, test 12",
    "{HOSPITAL|Ospedale San Raffaele}, terapia: cefazolina",
    "{HOSPITAL|Ospedale San Raffaele}, terapia 3 giorni",
    "{HOSPITAL|Hospital Ramón y Cajal}, estudio: completo",
    "Ingresa en el {HOSPITAL|Hospital La Paz} diagnóstico: neumonía",
    "{HOSPITAL|Hospital La Paz}, tumor.",
    "{HOSPITAL|Hospital Reina Sofía}, diagnóstico.",
    "University of Wisconsin solution. Maryland Hospital score 3.",
]
# Unlisted towns in capitals.
CAPITALS = [
    "Natural de {CITY|MONDOÑEDO}",
    "Residente en {CITY|VALDEFRESNO} con su esposa",
    "Procedente de {CITY|VILLARROBLEDILLO}",
    "Vive en {CITY|ARANJUELO}",
    "Nato a {CITY|BORGOSATOLLO} il {DATE|3/5/1961}",
    "Residente en {CITY|CASTROURDIALES DEL RÍO}",
    "Lives in {CITY|DUNMORE}",
    "Native of {CITY|WESTBORO}",
    "compensated cirrhosis from MASH, stable",
]
# Full names that are eponyms too.
FULL = [
    "{PATIENT|Joel Cohen}",
    "Spoke with {PATIENT|Joel Cohen}.",
    "Discussed with {PATIENT|Joel Cohen}, Esq.",
    "The patient is {PATIENT|Joel Cohen}.",
    "Cc: {PATIENT|Joel Cohen}",
    "Accompanied by {PATIENT|Joel Cohen}.",
    "{PATIENT|Joel Cohen}, Daughter",
    "Spoke with {PATIENT|Charles Bonnet}.",
    "Hablo con {PATIENT|Claude Bernard}.",
    "{PATIENT|Stuart Prower}",
    "Spoke with {PATIENT|Claude Bernard}. Claude Bernard syndrome; Charles Bonnet syndrome; Pierre Robin sequence.",
    "Joel Cohen test positive. Keith Wagener 2.",
]
# Ages before "dal" and a person or place, and times since an event.
SINCE = [
    "Operato a {AGE|45} anni dal dott. {DOCTOR|Rossi}",
    "Emigrata a {AGE|20} anni dalla {COUNTRY|Romania}",
    "Trasferito a {AGE|8} anni dall'{COUNTRY|Albania}",
    "Emigrato in {COUNTRY|Italia} a {AGE|17} anni dal {COUNTRY|Marocco}",
    "Adottata a {AGE|4} anni dalla famiglia",
    "Visitata a {AGE|12} anni dalla neurologa",
    "A 5 anni dalla diagnosi. A 3 anni dall'ultimo intervento.",
    "A 2 anni dal trapianto. A 2 anni dalla fine della terapia.",
]
# Years of events, and years of publications.
YEARS = [
    "Siguió las recomendaciones del alta de {DATE|2019}.",
    "Recomendaciones tras el ingreso de {DATE|2019}",
    "Classificato come T2 alla biopsia del {DATE|2015}",
    "Clasificación tras biopsia de {DATE|2015}",
    "Linee guida seguite dal ricovero del {DATE|2018}",
    "Guías de dieta desde la consulta de {DATE|2014}",
    "De {DATE|2015} conserva informe de alta.",
    "Of {DATE|2015} surgery no records.",
]
# Offices and services, which are no persons.
SERVICES = [
    "Contact: Precautions MRSA",
    "Contact: Emergency Services",
    "Caregiver: Home Health",
    "Caregiver: Not Available",
    "Proxy: Health Care",
    "Guardian: Public Guardian Office",
    "Tutor: Junta de {LOCATION_OTHER|Andalucía}",
    "Input from Nephrology",
    "Call from Pharmacy",
    "Request from Insurance",
    "Phone call from Medicare",
    "Letter from {CITY|Dunmore}",
    "Acompañada por Servicios Sociales, su referente",
    "Pt Walker for ambulation.",
    "Accompagnata da {PATIENT|Sonia}, {PROFESSION|badante}",
    "Pt {PATIENT|Walker} denies pain.",
]
# Numbers without a unit that are no ages.
BARE = [
    "Patient is 20 on the waiting list",
    "He is 15 from the top",
    "she is 10 of 10",
    "Turned 45 and 90 degrees",
    "The knee turned 90 and locked",
    "died at 12 of clock",
    "Give to wife, 10, 20",
    "Daughter, 12 of 20",
    "She turned {AGE|90} last week. Father died at {AGE|61} of cancer.",
    "She turned {AGE|90}. Her mother turned {AGE|80} last week. Son, {AGE|12}, at bedside.",
]
# Numbers and towns.
OTHERS = [
    "Cartella n. {IDNUM|328-123456}",
    "Cartella clinica, n. {IDNUM|328/1234567}",
    "Trasladado A {CITY|Madrid}",
    "Va A {CITY|Madrid}",
    "Se Trasladó A {CITY|Sevilla}",
    "Las niñas mayores de 6 años toman la dosis",
    "Las niñas mayores de 6 años",
    "Contatto: n. {PHONE|328/1234567}",
    "las de {CITY|Burgos} avisan",
    "Vino de la serie de {CITY|Cádiz}",
    "Influenza A Hong Kong. La solución de Wisconsin; las guías de Australia; in the Cleveland series",
    "furosemide 40 mg PO BID, then PO daily; {HOSPITAL|PO San Filippo}",
    "Guidelines of 2019, 2021 and 2023. Stroke in {DATE|2019}, {DATE|2021} and {DATE|2023}.",
    "Septic shock (SSC 2021); apixaban (ELAN, n = 2013); stent placed (RCA {DATE|2013}). Ley Orgánica 3/2018",
    "Hemocultivos 2/2 positivos. Próximo control a 3 años. Vigilancia a 3 años. Operado a los {AGE|3} años.",
    "Marcus Gunn negative, Ross River n/a, Kellgren Lawrence 3. {PATIENT|Marcus Gunter} is negative.",
    "Peter Pan syndrome, Betty Crocker mix, seen by Dr. {DOCTOR|Peter Crocker}",
]


@pytest.mark.parametrize("row", [*TITLED, *HOSPITALS, *CAPITALS, *FULL, *SINCE, *YEARS, *SERVICES, *BARE, *OTHERS])
def test_exceptions_hide_no_identifier(row: str) -> None:
    assert marked(row) == row
