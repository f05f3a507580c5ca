"""Names, ages and years that look like other words of notes, and the words that look like them."""

import pytest

from tests.backends.rules.helpers import marked

PATIENTS = [
    "Pt. {PATIENT|Kowalski} {AGE|62} yo male",  # an unlisted surname before an age
    "Pt: {PATIENT|Kowalski} {AGE|62}M", "Pz {PATIENT|Zanardi} {AGE|71} anni", "Pz. {PATIENT|Zanardi} {AGE|71} aa",
    "Pte. {PATIENT|Iturralde} {AGE|55} años", "Pt. {PATIENT|Khaled} {AGE|62} yo",
    "Pt. {PATIENT|Reed}: stable",  # with the ending of a verb or an adjective
    "Pt. {PATIENT|Fleming}, {AGE|62} yo", "Pt. {PATIENT|Browning}", "Pt. {PATIENT|Harding} 55 M",
    "Pt. {PATIENT|Sneed} (62)", "Pt. {PATIENT|Clemente}", "Pt. {PATIENT|Constable}",
    "Pz {PATIENT|Ferretti} letto 12. Pt {PATIENT|Ferris} in bed 12",
    "Pt Will need help. Pt May shower. Dr. {DOCTOR|Maurici}.", "Pt. Ambulated 50 feet. Pt. Stable. Pt. Resting.",
    "Pz. Emodializzato. Pz. Iperteso. Pt. Diabetic. Pz. Afasico.",
]  # fmt: skip
STATES = [
    "Dott. {DOCTOR|Stabile}",  # surnames that are words for a state
    "Paziente: {PATIENT|Stabile Maria}", "Nome: {PATIENT|Lucido Antonio}", "Paciente: {PATIENT|Obeso García, Ana}",
    "El Sr. {PATIENT|Obeso} refiere dolor", "Dott.ssa {DOCTOR|Tranquillo}", "Dr. {DOCTOR|Presente}",
    "Dott. {DOCTOR|Antonio Stabile}", "Dott. {DOCTOR|G. Stabile}",
    "Paziente: {PATIENT|Vigile Carla}",  # two words in a field
    "Dott. Consulente {DOCTOR|Rossi}. Dott. Reperibile {DOCTOR|Rossi}.",  # a duty before the name
    "Dra. Localizada. Wife: Notified.",
]  # fmt: skip
GRADES = [
    "Acude D. {PATIENT|Manuel} a consulta", "Ingresa D. {PATIENT|Eutimio Larrañaga}",
    "Ingresa D. {PATIENT|JUAN LARRAÑAGA}", "Visto D. {PATIENT|Manuel}.", "Hoy D. {PATIENT|Juan}",
    "Habitación 12 D. {PATIENT|José}", "{DATE|12/3/2020} D. {PATIENT|Eutimio}",
    "Mapleson D. Circuito. Vit. D. Niveles. Medicare Part D. Coverage. Grade B, C and D. Surgery. Mucinex D. Zenker",
]  # fmt: skip
EPONYMS = [
    "{PATIENT|Robert Jones} denies pain", "{PATIENT|Martin Bell} reports cough", "{PATIENT|Carl Rogers}, 62, admitted",
    "Discussed with {PATIENT|Anna Freud}", "Spoke with son {PATIENT|Robert Jones}",
    "Spouse {PATIENT|Charles Bonnet} at bedside", "Wife: {PATIENT|Mary Joseph}",
    "{PATIENT|Bernard Soulier} denies pain. Bernard Soulier.", "Robert Jones bandage; posición de Lloyd Davies",
    "Murmur 3/6 at the apex, Graham Steell, EF 30. Marcus Gunn ausente. Keith Wagener grade II",
    "Jak2 V617F. Philadelphia. FLT3.",
]  # fmt: skip
AGES = [
    "{AGE|92} yo stroke pt", "{AGE|93}-year-old hip fracture patient", "{AGE|62}-year-old burn patient",
    "{AGE|60}yo valve replacement", "{AGE|55}-year-old pacemaker recipient",
    "{AGE|70}-year-old diabetic wound care patient", "Lactante de {AGE|3} meses de Granada",
    "Neonato de {AGE|2} semanas de peso adecuado", "Niña sana de {AGE|4} meses de padres sanos",
    "Lattante di {AGE|4} mesi di madre HIV positiva", "paciente con riesgo de caídas a los {AGE|82} años vive sola",
    "Rischio di caduta a {AGE|82} anni", "Controlli a {AGE|82} anni", "Recidiva a los {AGE|67} años",
    "Los niños menores de 2 años no se incluyeron. Mean age 61 years (SD 9). Scadenza a 2 anni.",
    "Paziente di {AGE|45} anni dalla scorsa settimana con febbre. Acude con bebé de {AGE|3} meses",
    "Mujer con disnea progresiva de un mes, ortopnea. A 5 anni dalla diagnosi.",
    "At age {AGE|45} he retired. She is {AGE|29} and has two children. Mother, {AGE|83}, has dementia.",
    "Father died at {AGE|61}. She turned {AGE|90} last week. Turned 90 degrees. Aged 18 to 85.",
    "Paciente con cuadro de 3 semanas de tos. Mortalidad a los 15 años.",
]  # fmt: skip
YEARS = [
    "Born in {CITY|Chicago}, {DATE|1948} per records", "Nació en {CITY|Madrid}, {DATE|1948} según consta",
    "Graduated college, {DATE|1975} and married",
    "Of 2010 eligible participants, 1987 completed. Di 2018 esami, 1990 erano leggibili.",
    "De {DATE|2010} a {DATE|2015} trabajó fuera",
    "criteria of the American College of Rheumatology of 1990, nomenclatura de Chapel Hill de 2012",
    "Factor Christmas al 3%, enfermedad de Christmas, Factor IX (Christmas). Apgar 9/10/10.",
    "De estos, 1932 presentaron fiebre. Overall, 1932 completed the study",
]  # fmt: skip
AGED = [
    "{PATIENT|Florence} is a {AGE|45}-year-old woman",  # a town
    "{PATIENT|Siena} è una bambina di {AGE|4} anni", "{PATIENT|Concepción} de 45 años",
    "{PATIENT|Rosa} 78 años",  # an everyday word
    "{PATIENT|Ángel} 54 años, fumador", "{PATIENT|Thomas} 62 years", "{PATIENT|Hope} {AGE|45} years old",
    "Paciente de {COUNTRY|Ecuador}, de {AGE|5} años de residencia", "Clark 4, Breslow 2",
]  # fmt: skip
ALONE = [
    "La madre di {PATIENT|Jennifer} chiama", "Parlo con la figlia di {PATIENT|Steven}",
    "Con {PATIENT|Elena} negativa a la cirugía", "Hablé con {PATIENT|Marta} ausente su marido",
    "Talked with {PATIENT|Maria} absent", "Madre {PATIENT|Pio} ricoverata", "{PATIENT|Concha} refiere dolor",
    "I spoke with {PATIENT|Sierra} over video. We told {PATIENT|Faith} to fast.",
    "Hablo con {PATIENT|Remedios} por teléfono. Ho parlato con {PATIENT|Speranza} al telefono.",
    "Phone call from {PATIENT|Travis}, worried. El marido de {PATIENT|Rosario} avisa.",
    "Acompañada por {PATIENT|Loli Cantero}, su vecina. Accompanied by Physical Therapy.",
    "Caregiver: {PATIENT|Fatima Haddad}. Contatto: {PATIENT|Samira Haddad}",
    "con Aria ambiente. Campo es amplio. Corona es de porcelana. Sole è alto. Ever had cancer.", "Padre Pio, pia madre",
]  # fmt: skip
PLACES = [
    "{LOCATION_OTHER|Cook County} resident", "Lives: {LOCATION_OTHER|Orange County}",
    "Jumped off {LOCATION_OTHER|Golden Gate Bridge}", "{HOSPITAL|Royal Infirmary} of the city",
    "Vive a las afueras de {CITY|Ginebra}. Llegó de {CITY|Glasgow} hace dos semanas. Flew in from {CITY|Glasgow}.",
    "Escala de Glasgow 15. Ginebra 5 puntos. in the Cleveland series, Torre di Hanoi, Influenza A Hong Kong",
    "compensated cirrhosis from MASH, según las tablas de la Fundación Orbegozo. Buffalo wings.",
    "La solución de Wisconsin; las guías de Australia; P/F 142 (Berlino moderata)",
]  # fmt: skip
# Surnames that look like a state or an illness, after titles.
TITLED = [
    "Pz. {PATIENT|Rizzato}.", "Dott. {DOCTOR|Pizzato}.", "Dott.ssa {DOCTOR|Rizzati}, chirurgia",
    "Dr. {DOCTOR|Pizzato} valuta il paziente.", "Dr. {DOCTOR|Maurizzato}", "Signor {PATIENT|Lizzato}",
    "Sra. {PATIENT|Lizado}.", "Dra. {DOCTOR|Garizada}.", "Sig. {PATIENT|Depresso}", "Dr. {DOCTOR|Verbal}.",
    "DOTT. {DOCTOR|PIZZATO}.", "Dott. {DOCTOR|Anziano}.", "Sig.ra {PATIENT|Candidata}.", "Dr. {DOCTOR|Scholl}",
    "Dr. {DOCTOR|Seuss}.", "Dr. {DOCTOR|Educado}",
    "Padre: Hipertenso. Madre: Diabética. Moglie, sig.ra {PATIENT|Depresso}.",
    "Paziente: {PATIENT|Rizzato}. Cognome: {PATIENT|Depresso}",
]  # fmt: skip
# Hospitals before a heading or a test.
HOSPITALS = [
    "Trasladado al {HOSPITAL|Hospital Vall d'Hebron}, diagnóstico: sepsis",
    "Trasladado desde el {HOSPITAL|Hospital Infanta Leonor}, escala 12.",
    "Remitido del {HOSPITAL|Hospital Infanta Leonor}, signos: fiebre.",
    "{HOSPITAL|Hospital Clínico San Carlos}, test 12", "{HOSPITAL|Ospedale San Raffaele}, terapia: cefazolina",
    "{HOSPITAL|Ospedale San Raffaele}, terapia 3 giorni", "{HOSPITAL|Hospital Ramón y Cajal}, estudio: completo",
    "Ingresa en el {HOSPITAL|Hospital La Paz} diagnóstico: neumonía", "{HOSPITAL|Hospital La Paz}, tumor.",
    "{HOSPITAL|Hospital Reina Sofía}, diagnóstico.", "University of Wisconsin solution. Maryland Hospital score 3.",
]  # fmt: skip
# Unlisted towns in capitals.
CAPITALS = [
    "Natural de {CITY|MONDOÑEDO}", "Residente en {CITY|VALDEFRESNO} con su esposa",
    "Procedente de {CITY|VILLARROBLEDILLO}", "Vive en {CITY|ARANJUELO}",
    "Nato a {CITY|BORGOSATOLLO} il {DATE|3/5/1961}", "Residente en {CITY|CASTROURDIALES DEL RÍO}",
    "Lives in {CITY|DUNMORE}", "Native of {CITY|WESTBORO}", "compensated cirrhosis from MASH, stable",
]  # fmt: skip
# Full names that are eponyms too.
FULL = [
    "{PATIENT|Joel Cohen}", "Spoke with {PATIENT|Joel Cohen}.", "Discussed with {PATIENT|Joel Cohen}, Esq.",
    "The patient is {PATIENT|Joel Cohen}.", "Cc: {PATIENT|Joel Cohen}", "Accompanied by {PATIENT|Joel Cohen}.",
    "{PATIENT|Joel Cohen}, Daughter", "Spoke with {PATIENT|Charles Bonnet}.", "Hablo con {PATIENT|Claude Bernard}.",
    "{PATIENT|Stuart Prower}",
    "Spoke with {PATIENT|Claude Bernard}. Claude Bernard syndrome; Charles Bonnet syndrome; Pierre Robin sequence.",
    "Joel Cohen test positive. Keith Wagener 2.",
]  # fmt: skip
# Ages before "dal" and a person or place, and times since an event.
SINCE = [
    "Operato a {AGE|45} anni dal dott. {DOCTOR|Rossi}", "Emigrata a {AGE|20} anni dalla {COUNTRY|Romania}",
    "Trasferito a {AGE|8} anni dall'{COUNTRY|Albania}",
    "Emigrato in {COUNTRY|Italia} a {AGE|17} anni dal {COUNTRY|Marocco}", "Adottata a {AGE|4} anni dalla famiglia",
    "Visitata a {AGE|12} anni dalla neurologa", "A 5 anni dalla diagnosi. A 3 anni dall'ultimo intervento.",
    "A 2 anni dal trapianto. A 2 anni dalla fine della terapia.",
]  # fmt: skip
# Years of events, and years of publications.
EVENTS = [
    "Siguió las recomendaciones del alta de {DATE|2019}.", "Recomendaciones tras el ingreso de {DATE|2019}",
    "Classificato come T2 alla biopsia del {DATE|2015}", "Clasificación tras biopsia de {DATE|2015}",
    "Linee guida seguite dal ricovero del {DATE|2018}", "Guías de dieta desde la consulta de {DATE|2014}",
    "De {DATE|2015} conserva informe de alta.", "Of {DATE|2015} surgery no records.",
]  # fmt: skip
# Offices and services, which are no persons.
SERVICES = [
    "Contact: Precautions MRSA", "Contact: Emergency Services", "Caregiver: Home Health", "Caregiver: Not Available",
    "Proxy: Health Care", "Guardian: Public Guardian Office", "Tutor: Junta de {LOCATION_OTHER|Andalucía}",
    "Input from Nephrology", "Call from Pharmacy", "Request from Insurance", "Phone call from Medicare",
    "Letter from {CITY|Dunmore}", "Acompañada por Servicios Sociales, su referente", "Pt Walker for ambulation.",
    "Accompagnata da {PATIENT|Sonia}, {PROFESSION|badante}", "Pt {PATIENT|Walker} denies pain.",
]  # fmt: skip
# Numbers without a unit that are no ages.
BARE = [
    "Patient is 20 on the waiting list", "He is 15 from the top", "she is 10 of 10", "Turned 45 and 90 degrees",
    "The knee turned 90 and locked", "died at 12 of clock", "Give to wife, 10, 20", "Daughter, 12 of 20",
    "She turned {AGE|90} last week. Father died at {AGE|61} of cancer.",
    "She turned {AGE|90}. Her mother turned {AGE|80} last week. Son, {AGE|12}, at bedside.",
]  # fmt: skip
# Numbers and towns.
OTHERS = [
    "Cartella n. {IDNUM|328-123456}", "Cartella clinica, n. {IDNUM|328/1234567}", "Trasladado A {CITY|Madrid}",
    "Va A {CITY|Madrid}", "Se Trasladó A {CITY|Sevilla}", "Las niñas mayores de 6 años toman la dosis",
    "Las niñas mayores de 6 años", "Contatto: n. {PHONE|328/1234567}", "las de {CITY|Burgos} avisan",
    "Vino de la serie de {CITY|Cádiz}",
    "Influenza A Hong Kong. La solución de Wisconsin; las guías de Australia; in the Cleveland series",
    "furosemide 40 mg PO BID, then PO daily; {HOSPITAL|PO San Filippo}",
    "Guidelines of 2019, 2021 and 2023. Stroke in {DATE|2019}, {DATE|2021} and {DATE|2023}.",
    "Septic shock (SSC 2021); apixaban (ELAN, n = 2013); stent placed (RCA {DATE|2013}). Ley Orgánica 3/2018",
    "Hemocultivos 2/2 positivos. Próximo control a 3 años. Vigilancia a 3 años. Operado a los {AGE|3} años.",
    "Marcus Gunn negative, Ross River n/a, Kellgren Lawrence 3. {PATIENT|Marcus Gunter} is negative.",
    "Peter Pan syndrome, Betty Crocker mix, seen by Dr. {DOCTOR|Peter Crocker}",
]  # fmt: skip


@pytest.mark.parametrize("row", [
    *PATIENTS, *STATES, *GRADES, *EPONYMS, *AGES, *YEARS, *AGED, *ALONE, *PLACES, *TITLED, *HOSPITALS,
    *CAPITALS, *FULL, *SINCE, *EVENTS, *SERVICES, *BARE, *OTHERS,
])  # fmt: skip
def test_what_looks_like_another_word(row: str) -> None:
    assert marked(row) == row
