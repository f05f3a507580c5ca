"""Names, ages and years that look like other words of notes, and the words that look like them."""

import pytest

from tests.backends.rules.helpers import marked

PATIENTS = [
    "Pt. {PATIENT|Kowalski} {AGE|62} yo male",  # an unlisted surname before an age
    "Pt: {PATIENT|Kowalski} {AGE|62}M",
    "Pz {PATIENT|Zanardi} {AGE|71} anni",
    "Pz. {PATIENT|Zanardi} {AGE|71} aa",
    "Pte. {PATIENT|Iturralde} {AGE|55} años",
    "Pt. {PATIENT|Khaled} {AGE|62} yo",
    "Pt. {PATIENT|Reed}: stable",  # with the ending of a verb or an adjective
    "Pt. {PATIENT|Fleming}, {AGE|62} yo",
    "Pt. {PATIENT|Browning}",
    "Pt. {PATIENT|Harding} 55 M",
    "Pt. {PATIENT|Sneed} (62)",
    "Pt. {PATIENT|Clemente}",
    "Pt. {PATIENT|Constable}",
    "Pz {PATIENT|Ferretti} letto 12. Pt {PATIENT|Ferris} in bed 12",
    "Pt Will need help. Pt May shower. Dr. {DOCTOR|Maurici}.",
    "Pt. Ambulated 50 feet. Pt. Stable. Pt. Resting.",
    "Pz. Emodializzato. Pz. Iperteso. Pt. Diabetic. Pz. Afasico.",
]
STATES = [
    "Dott. {DOCTOR|Stabile}",  # surnames that are words for a state
    "Paziente: {PATIENT|Stabile Maria}",
    "Nome: {PATIENT|Lucido Antonio}",
    "Paciente: {PATIENT|Obeso García, Ana}",
    "El Sr. {PATIENT|Obeso} refiere dolor",
    "Dott.ssa {DOCTOR|Tranquillo}",
    "Dr. {DOCTOR|Presente}",
    "Dott. {DOCTOR|Antonio Stabile}",
    "Dott. {DOCTOR|G. Stabile}",
    "Paziente: {PATIENT|Vigile Carla}",  # two words in a field
    "Dott. Consulente {DOCTOR|Rossi}. Dott. Reperibile {DOCTOR|Rossi}.",  # a duty before the name
    "Dra. Localizada. Wife: Notified.",
]
GRADES = [
    "Acude D. {PATIENT|Manuel} a consulta",
    "Ingresa D. {PATIENT|Eutimio Larrañaga}",
    "Ingresa D. {PATIENT|JUAN LARRAÑAGA}",
    "Visto D. {PATIENT|Manuel}.",
    "Hoy D. {PATIENT|Juan}",
    "Habitación 12 D. {PATIENT|José}",
    "{DATE|12/3/2020} D. {PATIENT|Eutimio}",
    "Mapleson D. Circuito. Vit. D. Niveles. Medicare Part D. Coverage. Grade B, C and D. Surgery. Mucinex D. Zenker",
]
EPONYMS = [
    "{PATIENT|Robert Jones} denies pain",
    "{PATIENT|Martin Bell} reports cough",
    "{PATIENT|Carl Rogers}, 62, admitted",
    "Discussed with {PATIENT|Anna Freud}",
    "Spoke with son {PATIENT|Robert Jones}",
    "Spouse {PATIENT|Charles Bonnet} at bedside",
    "Wife: {PATIENT|Mary Joseph}",
    "{PATIENT|Bernard Soulier} denies pain. Bernard Soulier.",
    "Robert Jones bandage; posición de Lloyd Davies",
    "Murmur 3/6 at the apex, Graham Steell, EF 30. Marcus Gunn ausente. Keith Wagener grade II",
    "Jak2 V617F. Philadelphia. FLT3.",
]
AGES = [
    "{AGE|92} yo stroke pt",
    "{AGE|93}-year-old hip fracture patient",
    "{AGE|62}-year-old burn patient",
    "{AGE|60}yo valve replacement",
    "{AGE|55}-year-old pacemaker recipient",
    "{AGE|70}-year-old diabetic wound care patient",
    "Lactante de {AGE|3} meses de Granada",
    "Neonato de {AGE|2} semanas de peso adecuado",
    "Niña sana de {AGE|4} meses de padres sanos",
    "Lattante di {AGE|4} mesi di madre HIV positiva",
    "paciente con riesgo de caídas a los {AGE|82} años vive sola",
    "Rischio di caduta a {AGE|82} anni",
    "Controlli a {AGE|82} anni",
    "Recidiva a los {AGE|67} años",
    "Los niños menores de 2 años no se incluyeron. Mean age 61 years (SD 9). Scadenza a 2 anni.",
    "Paziente di {AGE|45} anni dalla scorsa settimana con febbre. Acude con bebé de {AGE|3} meses",
    "Mujer con disnea progresiva de un mes, ortopnea. A 5 anni dalla diagnosi.",
    "At age {AGE|45} he retired. She is {AGE|29} and has two children. Mother, {AGE|83}, has dementia.",
    "Father died at {AGE|61}. She turned {AGE|90} last week. Turned 90 degrees. Aged 18 to 85.",
    "Paciente con cuadro de 3 semanas de tos. Mortalidad a los 15 años.",
]
YEARS = [
    "Born in {CITY|Chicago}, {DATE|1948} per records",
    "Nació en {CITY|Madrid}, {DATE|1948} según consta",
    "Graduated college, {DATE|1975} and married",
    "Of 2010 eligible participants, 1987 completed. Di 2018 esami, 1990 erano leggibili.",
    "De {DATE|2010} a {DATE|2015} trabajó fuera",
    "criteria of the American College of Rheumatology of 1990, nomenclatura de Chapel Hill de 2012",
    "Factor Christmas al 3%, enfermedad de Christmas, Factor IX (Christmas). Apgar 9/10/10.",
    "De estos, 1932 presentaron fiebre. Overall, 1932 completed the study",
]
AGED = [
    "{PATIENT|Florence} is a {AGE|45}-year-old woman",  # a town
    "{PATIENT|Siena} è una bambina di {AGE|4} anni",
    "{PATIENT|Concepción} de 45 años",
    "{PATIENT|Rosa} 78 años",  # an everyday word
    "{PATIENT|Ángel} 54 años, fumador",
    "{PATIENT|Thomas} 62 years",
    "{PATIENT|Hope} {AGE|45} years old",
    "Paciente de {COUNTRY|Ecuador}, de {AGE|5} años de residencia",
    "Clark 4, Breslow 2",
]
ALONE = [
    "La madre di {PATIENT|Jennifer} chiama",
    "Parlo con la figlia di {PATIENT|Steven}",
    "Con {PATIENT|Elena} negativa a la cirugía",
    "Hablé con {PATIENT|Marta} ausente su marido",
    "Talked with {PATIENT|Maria} absent",
    "Madre {PATIENT|Pio} ricoverata",
    "{PATIENT|Concha} refiere dolor",
    "I spoke with {PATIENT|Sierra} over video. We told {PATIENT|Faith} to fast.",
    "Hablo con {PATIENT|Remedios} por teléfono. Ho parlato con {PATIENT|Speranza} al telefono.",
    "Phone call from {PATIENT|Travis}, worried. El marido de {PATIENT|Rosario} avisa.",
    "Caregiver: {PATIENT|Fatima Haddad}. Contatto: {PATIENT|Samira Haddad}",
    "con Aria ambiente. Campo es amplio. Corona es de porcelana. Sole è alto. Ever had cancer.",
    "Padre Pio, pia madre",
]
PLACES = [
    "{LOCATION_OTHER|Cook County} resident",
    "Lives: {LOCATION_OTHER|Orange County}",
    "Jumped off {LOCATION_OTHER|Golden Gate Bridge}",
    "{HOSPITAL|Royal Infirmary} of the city",
    "Vive a las afueras de {CITY|Ginebra}. Llegó de {CITY|Glasgow} hace dos semanas. Flew in from {CITY|Glasgow}.",
    "Escala de Glasgow 15. Ginebra 5 puntos. in the Cleveland series, Torre di Hanoi, Influenza A Hong Kong",
    "compensated cirrhosis from MASH, según las tablas de la Fundación Orbegozo. Buffalo wings.",
    "La solución de Wisconsin; las guías de Australia; P/F 142 (Berlino moderata)",
]


@pytest.mark.parametrize("row", [*PATIENTS, *STATES, *GRADES, *EPONYMS, *AGES, *YEARS, *AGED, *ALONE, *PLACES])
def test_what_looks_like_another_word(row: str) -> None:
    assert marked(row) == row
