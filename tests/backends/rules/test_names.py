"""Names in fields, after titles, in lists and in running text."""

from pathlib import Path

import pytest

from models_runtime.backends import rules
from models_runtime.backends.rules.backend import LANGUAGES
from models_runtime.backends.rules.gazetteers import open_given
from tests.backends.rules.helpers import marked

FOUND = [
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


@pytest.mark.parametrize("row", [*FOUND, *LEFT, *RUNNING, *NOT_RUNNING, *PROSE, *GIVEN_NAMES, *EVERYWHERE])
def test_names(row: str) -> None:
    assert marked(row) == row


def test_meddocan_tells_patients_and_staff_apart() -> None:
    row = "Nombre: {NOMBRE_SUJETO_ASISTENCIA|Rosa}.\nMédico: {NOMBRE_PERSONAL_SANITARIO|Juan Gil Mora} NºCol"
    assert marked(row, "meddocan") == row


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_open_list_has_a_source_and_each_name_once(language: str) -> None:
    folder = Path(rules.__file__).parent
    listed = (folder / "data" / f"open_given_{language}.txt").read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed)) and all(len(name) > 2 and " " not in name for name in listed)
    assert f"`open_given_{language}.txt`" in (folder / "NOTICE.md").read_text(encoding="utf-8")
    assert {"lady", "man", "parkinson"}.isdisjoint(open_given(language)), "words of notes are no names"
