import pytest

from models_runtime.backends.rules import RulesBackend
from models_runtime.backends.rules.gazetteers import listed
from models_runtime.backends.rules.reading import is_foreign
from models_runtime.backends.rules.recasing import recased
from tests.backends.rules.helpers import marked, otherwise
from tests.timing import grows_in_proportion, takes_at_most

TOWNS = [
    "Mujer procedente de {COUNTRY|Marruecos} ({CITY|Nador}), sana", "vive en la pedanía de {CITY|La Alberca}",
    "Informe\n{CITY|Bembibre} ({CITY|León}), natural de {CITY|Oviedo}",
    "{STREET|via Deledda n. 9}, resta", "{STREET|Corso Garibaldi 112}, {CITY|Novara}",
    "{STREET|piazza del Carmine n. 41}", "{STREET|via delle Acacie 27/B}, {ZIP|04100} {CITY|Latina}",
    "{STREET|Vicolo del Mulino 3}, {CITY|Susegana} il",  # a town that no list has, after a street
    "Domicilio: {STREET|C/ del Olmo 7, 3º B}, {ZIP|49001} {CITY|Zamora}",
    "Domicilio: {STREET|Calle Losada Martí 23, 5 B}..",
    "{STREET|Avda. de la Palmera 203, bloque 2}, {CITY|Dos Hermanas} ({ZIP|41702}), {LOCATION_OTHER|Andalucía}",
    "{STREET|Calle del Dr. Esquerdo, 46}, {ZIP|28007} {CITY|Madrid}",  # a street named after a doctor
    "{STREET|Plaza del Hospital Civil, s/n}",  # and one after a hospital
    "{STREET|Ctra. de Colmenar, km. 9,100}. {ZIP|28034} {CITY|Madrid}",
    "{STREET|Cartagena, 340-350} - {ZIP|08025} {CITY|Barcelona}",  # a street without its type
    "{STREET|Paseo de la Castellana, 261}, {ZIP|28046} {CITY|Madrid} ({COUNTRY|España})",
    "{STREET|22 Birch Lane, Suite 3}, {CITY|Dunmore}, {STATE|OH} {ZIP|44107-2210}", "lives at {STREET|9 Elm Court}",
    "nato a {CITY|Nuoro} ieri", "nata a {CITY|Borgosesto}, coniugata",  # a town that no list has
    "natural de {CITY|Cuenca}", "natural de {COUNTRY|Marruecos}", "residente in {CITY|Oliena}, contumace",
    "visiting from {CITY|Erie}, {STATE|PA}, today", "back from {CITY|Lagos}, {COUNTRY|Nigeria}",
    "sbarcato a {CITY|Civitavecchia}", "vive en {CITY|Terrassa}", "{CITY|Conegliano} ({CITY|TV})", "CP: {ZIP|28016}.",
    "zona norte ({ZIP|41702}) y", "{STREET|Av. Rivadavia 120}, código postal {ZIP|1426} ({COUNTRY|Argentina})",
    "C.P. {ZIP|40140-276}, {COUNTRY|Costa Rica}", "País: {COUNTRY|España}.", "Localidad/ Provincia: {CITY|Madrid}.",
    "trasferito a {CITY|Como} ieri",  # an everyday word after a word of place
    "Marlow, {ZIP|SL7 9QX}", "viaggio negli {COUNTRY|USA}",
]  # fmt: skip
NO_TOWNS = [
    "Como antecedentes, HTA", "Massa di 3 cm",  # everyday words that are towns
    "per via orale, per via EV",  # a route of administration
    "vía intravenosa cada 8 h", "5 mg c/8h", "consulta c/o ambulatorio", "il corso della malattia",
    "Rosa de Bengala positivo", "criterios de Roma III", "fiebre de Malta", "paziente che usa ossigeno",  # a verb
    "Leucocitos 12000, normal", "10000 UI de heparina", "AV OD 0,3",  # visual acuity, no avenue
    "plaza libre en planta",
]  # fmt: skip
# Listed place names are locations unless the words around them say otherwise.
LISTED = [
    "She lives in\n{CITY|Boston} with her son",  # lines are broken anywhere
    "Si trasferisce a\n{CITY|Torino} dal fratello", "Procedente\nde {CITY|Oviedo}", "Vive en  {CITY|Madrid}.",
    "Lugar de nacimiento: {CITY|Sevilla}",  # fields
    "País de origen: {COUNTRY|Ecuador}", "Comune di residenza: {CITY|Torino}", "Cittadinanza: {COUNTRY|Marocco}",
    "Born: {CITY|Chicago}, {DATE|1948}", "Recent travel: {COUNTRY|Brazil}, three weeks ago",
    "Camionero: {CITY|Madrid}, {CITY|Valencia}, {CITY|Barcelona}",
    "Viajes: {COUNTRY|Brasil} ({DATE|2018}), {COUNTRY|Perú} ({DATE|2019})", "Tos.\n- {CITY|Boston}",  # items and cells
    "Ciudad | {CITY|Madrid}", "{CITY|Madrid}: vive sola", "Cittadino dell'{COUNTRY|Ucraina}",  # elisions
    "Tornato nell'{STATE|Ohio}", "Tornato nell’{STATE|Ohio}", "Partito per l'{COUNTRY|Argentina}",
    "Nazionale d'{COUNTRY|Italia}", "Es de {CITY|Madrid}",  # towns that scales are named after
    "È di {CITY|Roma} e vive sola", "Uomo di {CITY|Napoli}", "Studente di {CITY|Padova}",
    "She left {CITY|Boston} last year", "The {CITY|Boston} police brought him", "Former {CITY|Chicago} firefighter",
    "{CITY|Barcelona} es su ciudad natal", "{CITY|Sevilla} {DATE|12 de enero de 2018}",
    "{CITY|Napoli} lì {DATE|3 marzo 2020}", "{CITY|Paris}-based lawyer", "{CITY|Sydney} to {CITY|London} flight",
    "{CITY|Madrid}-Barcelona por carretera", "{CITY|Philadelphia} PA", "{CITY|Chicago} and {CITY|Detroit}",
    "Daughter flew in yesterday from {CITY|Denver}", "nata il {DATE|12.3.50} a {CITY|Monterosso}",
    "nato il {DATE|3/4/1961} a {CITY|Borgonovo Val Tidone}, residente a {CITY|Piacenza}",
    "Nacido el {DATE|3 de mayo de 1961} en {CITY|Cifuentes}",
    "He lives at {STREET|12 Oak Street}. He works.", "Mail to {STREET|P.O. Box 443}.",
    "Taken to {HOSPITAL|Mercy General} after the fall. The Surgeon General warned.",
    "ricoverato all'{HOSPITAL|Osp. Maggiore di Bologna}",
    "Alta. {STREET|Doctor Esquerdo, 46}. {ZIP|28007} {CITY|Madrid}",
    "He came from {CITY|Boston} last week with a stroke",  # no scale of Boston
    "Turista de {COUNTRY|Alemania} ingresada",  # names that mean nothing else
    "Ha visitato {COUNTRY|Egitto}", "Recorrió {COUNTRY|Grecia}, sin fiebre", "{COUNTRY|Vietnam} War veteran",
    "Travelled through {COUNTRY|Mexico} and {COUNTRY|Guatemala}", "He went across {STATE|Texas} by bus",
    "{COUNTRY|Italia}, {COUNTRY|Francia} y {COUNTRY|Suiza} antes de ingresar",
    "{STATE|Alabama} and {STATE|Tennessee} before moving", "Regione {LOCATION_OTHER|Lombardia}",
    "Viaggio. {COUNTRY|Nigeria}. Febbre.", "Estancia: {COUNTRY|Perú} 2 meses", "Breña Alta, Isla de {CITY|La Palma}",
]  # fmt: skip
NO_PLACES = [
    "Boston naming 52/60, Vienna category 3", "MoCA (Montreal) 22/30",  # a noun follows; a score follows the bracket
    "Schwab and England 80%", "protocolo de Seattle, C2M4 de Praga", "cera di Siena, gesso di Parigi",  # materials
    "café de Colombia, coles de Bruselas", "Virginia ham, Brazil nuts, Idaho potatoes",
    "Antígeno Australia negativo, Rosso Congo negativo", "In the Framingham and Rotterdam studies, risk was lower",
    "Hong Kong strain, Brisbane lineage", "Estudio conforme a Helsinki y Strobe",
    "Downes 3. Rochester. Yale. San Antonio: datos presentados",  # lists of scales
    "Newcastle-Ottawa 7, Newcastle Ottawa 7", "Rochester and Philadelphia criteria, Brighton nivel 1",
    "Criterios: Roma. Escala:\nBoston 8", "Hgb C Harlem excluded",
    "Crema barriera, Potenza muscolare", "Kansas protocols for hypothermia",  # everyday words
]  # fmt: skip


INSTITUTIONS = [
    "UOC Radiologia, {HOSPITAL|Ospedale San Rocco} - {CITY|Latina}", "{HOSPITAL|Ospedale Maggiore di Sant'Eusebio}\n",
    "presso il {HOSPITAL|Ospedale militare di Cagliari}, reso", "presso {HOSPITAL|Policlinico Santa Lucia}, ieri",
    "{HOSPITAL|ASL Latina}", "{HOSPITAL|Azienda Ospedaliera Monteverde}, ieri",
    "{HOSPITAL|Casa di Cura Tre Fontane}, ieri", "{HOSPITAL|HOSPITAL UNIVERSITARIO VIRGEN DE LA VEGA}\n",
    "{HOSPITAL|Hospital Universitario 12 de Octubre}. Urgencias",  # no date
    "{HOSPITAL|Hospital Universitario Doctor Peset}. Urgencias",  # no doctor
    "Ingresa en {HOSPITAL|Virgen de la Vega}, ayer", "Seen at {HOSPITAL|Lakeside VAMC} today", "RX normales",
    "at {HOSPITAL|Oak Hill Family Med}, {HOSPITAL|Tamarack Behavioral Health}, at {HOSPITAL|Bay Street Community ED}",
    '{HOSPITAL|Hospital Universitario "Marqués de Valdecilla"} sigue',  # quotes
    "{HOSPITAL|Hospital Ramón y Cajal}, ieri", "{HOSPITAL|Hospital Clínico Universitario La Fe} Avda",
    "{HOSPITAL|Complejo Hospitalario de Navarra}. Sigue", "{HOSPITAL|Clínica Nuestra Señora del Rocío} ·",
    "{HOSPITAL|Centro de Salud Las Calesas}. Sigue", "Control en {HOSPITAL|CS La Alamedilla} pronto",
    "{HOSPITAL|H. U. La Princesa}. Sigue", "at {HOSPITAL|Mercy Hospital} yesterday",
    "({HOSPITAL|St. Brendan's Hospital}, today)", "{HOSPITAL|LAKESIDE VETERANS MEDICAL CENTER}\n",
    "{HOSPITAL|Oak Hill Family Medicine}\n", "{ORGANIZATION|Universidad de Salamanca}, hoy",
    "per la {ORGANIZATION|Latticini Valdorba srl}.", "(empresa: {ORGANIZATION|Bodega El Quijote SL}).",
    "contro l'{ORGANIZATION|INPS} ieri", "filled at {ORGANIZATION|Hillside Pharmacy} today",
    "walks around {LOCATION_OTHER|Harbor Park} daily", "uomo, {PROFESSION|autotrasportatore}, rientrato",
    "Varón, {PROFESSION|camarero}, sin alergias", "retired {PROFESSION|millwright} with HTN",
]  # fmt: skip
NO_INSTITUTIONS = [
    "en el hospital de referencia", "ingresa en hospital de día", "the hospital bed",  # no name
    "Unidad de Nutrición Clínica",  # a speciality
    "La Rx de tórax es normal", "Historia Clínica del caso", "remitido a su centro de salud",
    "H. pylori positivo", "corte sagittale",  # a bacterium
]  # fmt: skip


def test_family_sex_makers_and_traits_are_marked_where_a_set_wants_them() -> None:
    wanted = (
        "{SEXO_SUJETO_ASISTENCIA|Mujer} de {EDAD_SUJETO_ASISTENCIA|40 años}. Su {FAMILIARES_SUJETO_ASISTENCIA|madre} y "
        "{FAMILIARES_SUJETO_ASISTENCIA|dos hermanos}. Sin antecedentes familiares.",
        "{FAMILIARES_SUJETO_ASISTENCIA|tres hijos varones}, {FAMILIARES_SUJETO_ASISTENCIA|bisabuelo} diabético y "
        "{FAMILIARES_SUJETO_ASISTENCIA|dos familiares} sordos. Sin antecedentes familiares.",
        "Stent ({INSTITUCION|Boston Scientific}) y toxina ({INSTITUCION|Allergan}).",
        "{ID_SUJETO_ASISTENCIA|Viuda}, de {ID_SUJETO_ASISTENCIA|raza blanca}; en el {SEXO_SUJETO_ASISTENCIA|niño}.",
        "Ingresa en el {HOSPITAL|Hospital Niño Jesús}.",
    )
    left = ("Mujer de {AGE|40} años. Su madre y dos hermanos.", "Toxina (Allergan) y Nestlé.",
            "Viuda, de raza blanca; en el niño. Es la casada del pueblo.")  # fmt: skip
    assert otherwise(*wanted, label_set="meddocan") == [] == otherwise(*left)


# Identifiers that a line end or a tab divides, and texts in languages that the rules don't know.


DIVIDED = [
    "Seen by Dr. {DOCTOR|Anna Petrie-\nLund} today. MRN {MEDICALRECORD|4471-\n0099} on file.",
    "Dr.\n{DOCTOR|Petrie} called; seen with {PATIENT|Sarah\nConnor} in the ward.",
    "Dr. {DOCTOR|Jan van\n  der Berg} came.",
    "She is at {PHONE|617 555\n0199} or {PHONE|617\n555-0199}. Phone {PHONE|07700\n900123}.",
    "Mail {EMAIL|a.moss-\nlund@clinic.org} or {EMAIL|anna.moss@\nclinic.org} or {EMAIL|b@clinic\n.org}",
    "Admitted on {DATE|12\nMarch 2019} and {DATE|March\n14, 2020}, then {DATE|12/03/\n2019}.",
    "Dr.\t{DOCTOR|Petrie} and {PATIENT|Sarah\tConnor}; MRN:\t{MEDICALRECORD|4471-0099}; tel\t{PHONE|312-714-8142}",
    "Dr. {DOCTOR|Petrie-\r\nLund} came; {PATIENT|Rosa Petrie-\n\tLund} too.",
]
WHOLE = [
    "Seen by {DOCTOR|Sarah Petrie}\nReports pain.", "Dr. {DOCTOR|Petrie}\nStable overnight.",
    "Given 12\nmg of it. Hb 120\n130 140", "Dose 3-\n\nNext: none",
]  # fmt: skip


FOREIGN = [
    "Le patient est vu le {DATE|12/03/1950}. Douleurs avec Mme {PATIENT|Durand} et cas. Tel {PHONE|06 12 34 56 78}.",
    "Der Patient wird mit Herrn {PATIENT|Weber} auf der Station betreut und ist nicht fit. Mail {EMAIL|a@b.de}",
    "Paciente não foi visto pelo Dr. {DOCTOR|Souza} em São Paulo. A alta foi em {DATE|03/04/2020}.",
]  # fmt: skip
# What is found by its shape alone in such a text.
ABROAD = [
    "M. {PATIENT|Durand} et Mme {PATIENT|Jeanne de la Tour}, docteur {DOCTOR|Pierre MARTIN}. Le patient M. se plaint",
    "Frau Dr. med. {PATIENT|Anna von Müller}, Prof. Dr. {DOCTOR|Hans Klein}, Schwester {DOCTOR|Ute}; M. Crohn",
    "{STREET|12 bis, rue Victor Hugo}, {ZIP|75011} {CITY|Paris}; {STREET|5 avenue de la République}, en mars",
    "wohnt {STREET|Hauptstraße 5}, {ZIP|10115} {CITY|Berlin}; {STREET|Berliner Str. 12a}, der Weg 5",
    "{STREET|Kerkstraat 12}, {ZIP|1012 AB} {CITY|Amsterdam}; {STREET|Rua das Flores, 12}, {ZIP|1000-001} {CITY|Lisboa}",
    "vu le {DATE|12 mars 2019}, le {DATE|1er mai}; am {DATE|3. März 2020}; {DATE|4 mei}; a {DATE|5 de março de 2021}",
    "Nom : {PATIENT|DURAND}\nPrénom : {PATIENT|Jeanne}\nName des Patienten: {PATIENT|Weber, Hans}\nin 2019 Operation",
]
KNOWN = [
    "Visto il paziente in reparto per dolore", "The patient was seen with des Plaines in mind", "Visto por el Dr. Gil",
    "", "120/80", "Madame Butterfly et al. were in the ward with her",
]  # fmt: skip


@pytest.mark.parametrize("row", ABROAD)
def test_shapes_of_names_and_addresses_in_other_languages(row: str) -> None:
    assert marked(row, abroad=True) == row


@pytest.mark.parametrize(
    "row", [*TOWNS, *NO_TOWNS, *LISTED, *NO_PLACES, *INSTITUTIONS, *NO_INSTITUTIONS, *DIVIDED, *WHOLE, *FOREIGN]
)
def test_places(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("text", KNOWN)
def test_languages_of_the_rules(text: str) -> None:
    assert not is_foreign(text)


# Notes in lower case: names are found, ordinary words are left, and time grows in proportion to length.


FIELDS = [
    "INFORME CLÍNICO\nnombre: {PATIENT|aurora león blanco}\nPaciente con tos.\nla madre come aurora boreal",
    "nombre: {PATIENT|maría garcía lópez}", "nombre y apellidos: {PATIENT|iker aramburu zabala}",
    "apellidos: {PATIENT|sola mayor}", "remitido por: dra. {DOCTOR|nerea goñi arrieta}",
    "domicilio: {STREET|calle mayor 3}", "localidad: {CITY|talavera de la reina}", "país: {COUNTRY|españa}",
    "cognome: {PATIENT|esposito}", "comune: {CITY|busto arsizio}", "attending: {DOCTOR|susan clark}",
    "dni {IDNUM|44817203f}", "{STREET|22 birch lane, suite 3}, {CITY|dunmore}, {STATE|oh} {ZIP|44107}",
    "dott. {DOCTOR|a. perotti}, cip: {HEALTHPLAN|an0541887730}", "nombre: {PATIENT|etxegoien zubizarreta}",
    "nombre del paciente: {PATIENT|etxegoien}", "patient name: {PATIENT|wozniak, katarzyna}",
    "surname: {PATIENT|etxegoien}", "apellidos, nombre: {PATIENT|garcía lópez, ubaldo}",
    "nombre: {PATIENT|maría garcía}, alérgica a penicilina", "paciente: {PATIENT|etxegoien, maría}",
    "paciente: sra. {PATIENT|etxegoien}", "medico: {DOCTOR|a. perotti}", "provincia: {CITY|cuenca}",
    "domicilio: {STREET|sierra nevada 4}",
]  # fmt: skip
IN_PROSE = [
    "dr. {DOCTOR|zubiaur} valora al paciente.", "sra. {PATIENT|gutiérrez} con dolor.",
    "acude {PATIENT|maría pérez} por tos.", "hablo con su hija {PATIENT|carmen}.", "pte {PATIENT|rodríguez} estable.",
    "mr. {PATIENT|anthony greco}, bed 4.", "vive en {CITY|zaragoza} con su madre.", "nato a {CITY|catania}",
    "from {STATE|ohio}, retired.", "trasladado al {HOSPITAL|hospital clínico san carlos} ayer.",
    "friend {PATIENT|mary ellis} visits", "acude {PATIENT|maría etxegoien}", "{PATIENT|carmen etxea}",
]  # fmt: skip
UNCHANGED = [
    "paciente: acude por dolor abdominal", "médico: avisado",
    "superficie lisa, rama paterna, terapia assunta, tomas de alimento",
    "leucocitos 17850 neutrofilos 86%, rosa de bengala negativo", "vancouver b1, ann arbor iiia, los angeles grado b",
    "ms unlikely. mark improvement since last visit. may shower. hope to wean.", "a guinea pig was used",
    "prof. sanitario",
]  # fmt: skip
NO_NAMES = [
    "name: metoprolol 25 mg", "nombre: paracetamol 1 g", "nombre comercial: augmentine",
    "medico: omeprazol suspendido", "responsable: escherichia coli", "surgeon: laparoscopic approach",
    "nurse: wound dressed", "physician: unavailable", "firma: ilegible", "autores: varios",
    "paciente: diabética conocida", "paciente: muy dolorido", "paciente: señora mayor", "paziente: febbrile",
    "patient: sleepy", "pac: fibrilación auricular", "pt: elongated", "pt: inr alto", "pt: gait training",
    "provincia: afectada", "comune: cefalea", "localidad: dolor abdominal", "address: diet and exercise",
]  # fmt: skip


@pytest.mark.parametrize("row", [*FIELDS, *IN_PROSE, *UNCHANGED])
def test_lower_case(row: str) -> None:
    assert marked(row) == row and marked(f"{row}\r\n") == f"{row}\r\n"


@pytest.mark.parametrize("row", NO_NAMES)
def test_fields_without_a_name(row: str) -> None:
    assert marked(row) == row and marked(f"Stable Today.\n{row}") == f"Stable Today.\n{row}"


def test_prose_in_lower_case_keeps_its_case_where_the_note_has_capitals_and_offsets_stay() -> None:
    text = "Paciente con tos de Burgos.\nhabla el dr. garcía de burgos\nSin Fiebre. Alta."
    assert recased(text) == text
    text = "nombre: ßeta ŉala ǰun garcía\ncorreo: maria.perez@salud.example\nnhc 12345"
    assert len(recased(text)) == len(text) and "maria.perez@salud.example" in recased(text)


PIECES = [
    "a", "1", "1a", "a1", "ab1234", "a-", "1-", "a ", "1 ", ".", ",", ", ", " ", ":", "é", "@", "a@", "www.", "c/", "_",
    "calle", "calle ", "1 a ", "1 a lane ", "dr. ", "sra. a ", "maría ", "maría etxea ", "garcía, ", "de la ",
    "hospital ", "hospital de ", "vive en ", "burgos ", "a. ", "pt ", "hija ", "y ", "los angeles b1 ", "nombre: ",
]  # fmt: skip
# The pieces that `make test` tries: letters and digits in turn, a word, a title and a field.
FEW = {"1a", "a ", "a@", "calle ", "dr. ", "de la ", "nombre: "}
LEADS = ["", "a", "nombre: ", "nombre: x ", "paciente: ", "dirección: ", "comune: ", "dr. ", "calle "]
ENDS = ["", "éé", "@", " 28001", ".x"]


@pytest.mark.parametrize(
    "piece", [piece if piece in FEW else pytest.param(piece, marks=pytest.mark.nightly) for piece in PIECES]
)
def test_hostile_lower_case_grows_in_proportion(piece: str) -> None:
    """Text of one repeated piece, after a field, a title or nothing, with an end that makes patterns backtrack."""
    recased("nombre: maría")

    def changed(length: int) -> None:
        for lead in LEADS:
            for end in ENDS:
                recased(lead + (piece * length)[:length] + end)

    assert grows_in_proportion(lambda: changed(300), lambda: changed(1_200))


@pytest.mark.parametrize("group", ["sure_name_fields", "name_fields", "sure_place_fields", "place_fields"])
def test_hostile_fields_are_fast(group: str) -> None:
    texts = [f"{field}: {piece * 400}" for field in listed(group) for piece in ("a", "1a", "calle", "a ")]
    assert takes_at_most(1, lambda: [recased(text) for text in texts])


@pytest.mark.parametrize(
    "text",
    ["nombre: " + "a" * 10_000, "nombre: x " + "b" * 10_000, "a" + "1" * 8_000 + "éé", "paciente: " + "calle" * 1_200],
)
def test_hostile_notes_in_lower_case_are_fast(text: str) -> None:
    backend = RulesBackend()
    backend.predict(["nombre: maría"])
    assert takes_at_most(0.5, lambda: backend.predict([text]))
