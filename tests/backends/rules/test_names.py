"""Names in fields, after titles, in lists and in running text."""

from pathlib import Path

import pytest

from models_runtime.backends import rules
from models_runtime.backends.rules.backend import LANGUAGES, RulesBackend
from models_runtime.backends.rules.gazetteers import open_given
from tests.backends.rules.helpers import marked
from tests.timing import grows_in_proportion

FOUND = [
    "\n{DOCTOR|Eva Alarcón Nicolás} - {DOCTOR|P. Guirao} (R5)\n", "Visto por {DOCTOR|Mercedes Tobar} (adjunta)",
    "Padres: {PATIENT|Iratxe Achótegui} y {PATIENT|Rubén Fernández}.",
    "Il MMG Dott. {DOCTOR|Fusco} prescrive", "(Dott.ssa {DOCTOR|G. Ruggeri}), O2",
    "dr.ssa {DOCTOR|Colombino}, ore 11.10", "dal prof. {DOCTOR|Girolamo Bettin}, sentito",
    "Dra. {DOCTOR|Carmen Huerta} col", "Dr. {DOCTOR|Carlos Veiga de la Jara}. Servicio de Urgencias",  # particles
    "Discussed w Dr. {DOCTOR|R}. Plan", "Dr. {DOCTOR|Alberto Miján de la Torre}",  # one letter
    "Dr. {DOCTOR|Rossi} TC torace",  # capitals that follow are no part
    "Sig.ra {PATIENT|Carla Venditti}, in isolamento", "sig. {PATIENT|Efisio Cossu}", "Don {PATIENT|Teófilo} llama",
    "Mr. {PATIENT|Whitcombe} is well", "Mrs. {PATIENT|O'Brien-Hale} is well",  # apostrophe and hyphen
    "Paciente: {PATIENT|Rosa María Cabrera Linde}", "Apellidos: {PATIENT|Rivera Bueno}.",
    "Name: {PATIENT|Whitcombe, Harold J.}",  # surname first
    "Cognome e nome: {PATIENT|BELLOTTI ARNALDO}", "Médico:  {DOCTOR|Ignacio Navarro Cuéllar} NºCol",
    "Médico: {DOCTOR|Gastón Demaría Martínez}NºCol",  # glued to the next field
    "Remitido por: Dra. {DOCTOR|María Merino Viveros}",
    "Médico: {DOCTOR|Julio Barrena Soto}. Motivo",  # a month in a field or after a title is a name
    "seen by Dr. {DOCTOR|June Hartley} today", "Nombre: {PATIENT|Julio}.",
    "Médico: {DOCTOR|Fermín  Olmedo Ibarra}  NºCol: 1",  # a blank too many, in a field
    "Apellidos: {PATIENT|SAntos JIménez}.",  # shift held too long
    "Médico: {DOCTOR|Luz Peña}Correo", "Attending: {DOCTOR|Priya Raghunathan}, MD",
    "Autori: {DOCTOR|Stefano Brignone}; {DOCTOR|Laura Zanetti}; {DOCTOR|Khaled Mansour}",
    "{DOCTOR|Nicola Damiani} (1), {DOCTOR|Federica Lo Presti} (1), {DOCTOR|Ettore Renzi} (2)\n",  # a line of names
    "Fdo. {DOCTOR|J. Otero Paz}", "F.to {DOCTOR|Annalisa Pintus}", "seen by {DOCTOR|Aaron Vukovich}, DO",
    "{DOCTOR|I. Quattrini}\n",  # a line that signs
    "su hija {PATIENT|Pilar} llama", "Wife {PATIENT|Lorraine} manages", "la moglie, sig.ra {PATIENT|Carla}, chiama",
    "her sister {PATIENT|Ngozi} had", "{PATIENT|Sauro LOMBARDINI}, nato ieri",  # before a birth
    "MIR {DOCTOR|Nerea Iglesias}", "(Enf. {DOCTOR|Begoña})",
    "colleghi {PATIENT|Gavino Zedda} e altri",  # a known given name
    "by {DOCTOR|A.Ph. Visser}, MD", "Dr. {DOCTOR|A.Th. van den Broek} and Dr. {DOCTOR|J.-P. Martin}",  # initials
    "Met {PATIENT|A.Th. van den Broek}; {PATIENT|K.Chr. Visser-Bos} too", "Dr. {DOCTOR|Chr. Jansen}",
    "Mr. {PATIENT|Petrie} came. {PATIENT|petrie} is well, mr {PATIENT|petrie} slept.",  # repeats in small letters
    "Name: {PATIENT|SOPHIA SANTERNO}\nSeen today. {PATIENT|sophia santerno} slept.",
    "{PATIENT|Will Young} came with May Day and {PATIENT|Grace Rich}. {PATIENT|Hope Price} called.",  # words
]  # fmt: skip
LEFT = [
    "Attending: {DATE|June 2020}, then none",  # a month, not a name
    "morbo di Parkinson", "Enfermedad de Wilson", "síndrome de Down", "Wilson disease", "test de Romberg negativo",
    "Parkinson disease, Bell palsy", "sonda Foley, Holter 24 h", "virus de Epstein-Barr", "líneas B de Kerley",
    "Informe clínico del paciente: Acude a la consulta",  # a sentence after the field
    "Informe clínico del paciente: Gestante que acude", "JUICIO CLÍNICO: ICC descompensada",  # no name field
    "VIH positivo (ELISA y Western Blot)", "ANA y LKM negativos", "vitamina D. Tras la ingesta",  # no D. = Don
    "Stocco, Primo Referendario",  # no cousin
    "la mamma IgG positiva", "Dr. de guardia", "pt. verified name", "La paciente refiere",
    "Dr. {DOCTOR|Long} waited as long as needed. Dr. {DOCTOR|Walker} brought a walker.",
    "Lyme and Rocky Mountain serologies pending", "C.A.P. de Sants",
]  # fmt: skip
# In running text, by their meanings and the words around them.
RUNNING = [
    # Names that mean nothing else.
    "Esta mañana encontramos a {PATIENT|Casilda} en el suelo", "Avvertire {PATIENT|Lamberto} appena arriva l'esame",
    "Let {PATIENT|Darnell} know as soon as the path is back", "{PATIENT|Eugenia}: sin cambios desde ayer",
    "Ni {PATIENT|Aarón} ni su padre recuerdan la vacuna", "Pendiente de avisar a {PATIENT|Youssef}.",
    "La mediatrice, {PATIENT|Naima Bouzid}, traduce.",
    # Names that are words too.
    "Pregunta {PATIENT|Nieves} cuándo le darán el alta.", "Lo stato di {PATIENT|Alba} è stabile.",
    "The drip went into the left arm for {PATIENT|Poppy}.", "{PATIENT|Modesto} es el marido y trae los informes.",
    "{PATIENT|Lourdes} missed her appointment.",
    # Names that are eponyms, months or feasts.
    "According to {PATIENT|Max}, the pain is mild.", "{PATIENT|Natale} è stato operato e sta bene.",
    "{PATIENT|May} has been afebrile for three days.", "Firma como testigo {PATIENT|Carmen Beck}.",
    # What somebody is, does or is called.
    "Handed to {PATIENT|Christmas}, night porter.", "El paciente, {PATIENT|Marfan} de apellido, es británico.",
    "A cousin called {PATIENT|Babinski} is here.", "Intervino la psicóloga {DOCTOR|Alegre} a petición de la familia.",
    "Registrar {DOCTOR|Down} examined both twins.", "Operado por {DOCTOR|Kocher} hace un mes",
    "Nos dice {PATIENT|Lis} que no ve bien la pizarra.", "PT: {PATIENT|BISHOP}, came by stretcher",
    "F.TO {DOCTOR|A. FERRARA}", "Avvisato il dottor {DOCTOR|Ferro} per l'anemia.",
    "El doctor {DOCTOR|Calle} prefiere esperar al cultivo.",
    # Towns.
    "Trabaja de {PROFESSION|camarero} en {CITY|Mayorga}.", "Da bambina stava a {CITY|Piedicavallo}.",
    "Picks fruit in {CITY|Wisbech}", "Paciente de {CITY|Glasgow}, de vacaciones en la costa.",
]  # fmt: skip
NOT_RUNNING = [
    "Imputación según Rubin. Vite di Herbert. Monitor Merlin.", "Borrmann III. Lauren intestinal. Bruce, estadio 3.",
    "Teddy bear. Elsa costume. Charlie horse. Barney.", "Se realiza biopsia según Ivor Lewis sin sangrado",
    "no Austin Flint, Stanford Binet, Merry Walker", "Mother had Graves, sister well", "Ella refiere dolor",
    "Estudio conforme a Helsinki. Comité de Tumores.", "Tornare in Pronto Soccorso. Drives a Chevrolet.",
    "Remitido desde Atención Primaria", "seen by Cardiology; treated by Gamma Knife",
]  # fmt: skip
# Text that the rules were not made for.
PROSE = [
    "Computed Tomography (CT) and Aménorrhée (SA)", "class II of the New York Heart Association",
    "Ann Arbor stage IIB lymphoma", "Los Angeles grade B esophagitis", "esofagitis grado A de Los Angeles",
    "Cipro for the infection, sospensione di Cipro", "Codes 70553 and 72148; sample of 20348 controls",
    "Magnetic Resonance Imaging was normal", "pz. Dopo 5 mesi di terapia", "dolore 6-7/10 al ginocchio",
    "lesione del 1/3 inferiore del retto", "adenocarcinoma G2 (WHO 2010)", "La donna tre mesi più tardi sta meglio",
    "FAMILY HISTORY: no cancer", "Rosa de Bengala negativo. Hope is a strength.",
    "fracture of Stewart and Milford type B",  # a name of the English open list only, without a verb
    "Son denies pain in Normal saline",
    "Old lady Smith's hip, as they say",  # a surname that an open list has as a given name
    "HOSPITAL COURSE BY SYSTEM: stable", "Survival at 5 years was 82%, supervivencia a 5 años del 74 %",
    "The 2-year-old prosthesis showed no loosening", "presented with three weeks of worsening dyspnea",
    "Of these, 1932 had an event", "Gold D. Borg 4; Balthazar D. Child A",
    "Pt. Voided 300. Pz. Apiretico. Dr. Avvisato.",
    "Marcus Gunn pupil, Charles Bonnet probable, Sister Mary Joseph nodule",
    "tornillos de Herbert, aneurysm at the circle of Willis, Polígono de Willis normal", "Hamilton 22, Beck 31",
    "American College of Gastroenterology guidance", "University of Wisconsin solution",
    "Dosis de 50000 UI semanales en 41 centros. Se incluyeron 10455. Análisis intermedio.",
    "Enjoys Bridge and crosswords. Cardiac Rehabilitation referral placed.",
    "Medicare Part D covers drugs; Camino de Santiago a pie",
]  # fmt: skip
GIVEN_NAMES = [
    "{PATIENT|Anna} è una donna di {AGE|47} anni", "{PATIENT|Osvaldo}, anni {AGE|52}, iperteso",
    "Ayer {PATIENT|Adelaida} caminó sin ayuda", "I spoke with {PATIENT|Clarissa} about discharge",
    "Le explico a {PATIENT|Ainara} el resultado",  # names of open lists
    "{PATIENT|Uberto}, anni {AGE|52}, iperteso", "{PATIENT|Mozelle} denies chest pain",
    "Acude D. {PATIENT|Anselmo Bravo} por tos", "El estado de {PATIENT|Casilda} es estable",
]  # fmt: skip


# Names that are found once are found everywhere.
EVERYWHERE = [
    # A word before a name that ends as another word does: "first" is no "St", "tuttavia" no street, "Wilson." no "n."
    "Patient {PATIENT|Adam Wilson}. Dr. {DOCTOR|Brown} saw him.",
    "At first {PATIENT|Adam Wilson} felt well.",
    "Tuttavia {PATIENT|Mario Rossi} sta meglio.",
    "Nel percorso {PATIENT|Mario Rossi} migliora.",
    "Contact: @{USERNAME|jdoe}, write to @{USERNAME|j.doe_77}",
    "Patient: {PATIENT|Agnes Parkinson}\nDx: Parkinson disease",
    "Paciente: {PATIENT|Rosa Cabrera}\nLa señora {PATIENT|Cabrera} sigue bien. {PATIENT|Rosa} camina.",  # her words
    "Dr. {DOCTOR|Velasco} viene. Informa {DOCTOR|Velasco}. {DOCTOR|VELASCO}.",  # in capitals too
    "dott.ssa {DOCTOR|Fantinel} scrive\nfirma di {DOCTOR|M.L. Fantinel}",  # with the initials before
    "Patient: {PATIENT|Agnes Parkinson}\nMs. {PATIENT|Parkinson} has Parkinson disease.",  # not in her disease
    "Sig. {PATIENT|Bianchi}. Bianchini no, e globuli bianchi.",  # whole words
    "Sra. {PATIENT|Blanco Rey}. El suero es blanco. Blanco al tacto.",  # an everyday word in this note
    "{HOSPITAL|Ospedale San Rocco}. Torna al {HOSPITAL|San Rocco} domani.",
    "Date: {DATE|2/17/2022}. Lines: R IJ ({DATE|2/14}), strength 4/5.",  # a day near the note's date
]


FIELDS = [
    "Pt: {PATIENT|H. Whitcombe}  {IDNUM|5518203}", "Pt: {PATIENT|Will May}     DOB {DATE|05/11/2009}",
    "Paciente: {PATIENT|Y. M.}, varón", "Pt: Will need oxygen",
]  # fmt: skip


def test_meddocan_tells_patients_and_staff_apart() -> None:
    row = "Nombre: {NOMBRE_SUJETO_ASISTENCIA|Rosa}.\nMédico: {NOMBRE_PERSONAL_SANITARIO|Juan Gil Mora} NºCol"
    assert marked(row, "meddocan") == row


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_open_list_has_a_source_and_each_name_once(language: str) -> None:
    folder = Path(rules.__file__).parent
    listed = (folder / "data" / f"open_given_{language}.txt").read_text(encoding="utf-8").split()
    assert listed == sorted(set(listed)) and all(len(name) > 2 for name in listed)
    assert f"`open_given_{language}.txt`" in (folder / "NOTICE.md").read_text(encoding="utf-8")
    assert {"lady", "man", "parkinson"}.isdisjoint(open_given(language)), "words of notes are no names"


# Names, ages and years that look like other words of notes, and the words that look like them.


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
    *FOUND, *LEFT, *FIELDS, *RUNNING, *NOT_RUNNING, *PROSE, *GIVEN_NAMES, *EVERYWHERE,
    *CAPITALS, *FULL, *SINCE, *EVENTS, *SERVICES, *BARE, *OTHERS,
])  # fmt: skip
def test_names(row: str) -> None:
    assert marked(row) == row


# Decisions of courts: private persons are found, lawyers and the numbers of decisions stay.


LAWYER = "dall'avv. Piera Monti del Foro di Prato (c.f. MNTPRI70A41D612X, pec: piera.monti@avvocati.example)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"promosso da Bruno Salis, nato il 03.05.1961, rappresentato {LAWYER};", ["Bruno Salis", "03.05.1961"]),
        (f"difeso {LAWYER}. La sig.ra Anna Gallo vive. L'avv. Monti deposita.", ["Anna Gallo"]),
        ("gli avv.ti Piera Monti e Carlo Gallo per il sig. Bruno Salis", ["Bruno Salis"]),
        ("difeso dagli avv. Piera Monti e Carlo Gallo", []),
        ("sono comparsi l'avv. Piera Monti e Bruno Salis", ["Bruno Salis"]),
        # The name of a private person, and one that both have.
        ("per Bruno Salis l'avv. Piera Salis ha parlato. Salis tace.", ["Bruno Salis", "Salis"]),
        ("ricorso proposto dall'avv. Piera Monti in proprio", ["Piera Monti"]),
        ("il dott. Bruno Salis, pensionato", ["Bruno Salis"]),
        ("nel giudizio iscritto al n. 12345/A del registro", []),
        ("vista la sentenza n. 245/2019 e la decisione n. 12/2020", []),
        ("nel ricorso, tessera n. 4471005", ["4471005"]),
    ],
)
def test_lawyers_and_numbers_of_decisions_stay(text: str, expected: list[str]) -> None:
    (spans,) = RulesBackend("omissis", ["it"]).predict([text])
    assert [text[span.start : span.end] for span in spans] == expected


@pytest.mark.parametrize("piece", ["Avv.ti Piera Monti, ", "Avv. Piera Monti (x ", "sentenza n. 245/2019 "])
def test_many_lawyers_take_time_in_proportion(piece: str) -> None:
    rules = RulesBackend("omissis", ["it"])
    assert grows_in_proportion(lambda: rules.predict([piece * 300]), lambda: rules.predict([piece * 1200]), 0.05)
