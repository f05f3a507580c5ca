import pytest

from tests.backends.rules.helpers import marked

FOUND = [
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
LEFT = [
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
    "Daughter flew in yesterday from {CITY|Denver}",
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


@pytest.mark.parametrize("row", [*FOUND, *LEFT, *LISTED, *NO_PLACES])
def test_places(row: str) -> None:
    assert marked(row) == row
