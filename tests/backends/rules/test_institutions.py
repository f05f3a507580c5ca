import pytest

from tests.backends.rules.helpers import marked, otherwise

FOUND = [
    "UOC Radiologia, {HOSPITAL|Ospedale San Rocco} - {CITY|Latina}", "{HOSPITAL|Ospedale Maggiore di Sant'Eusebio}\n",
    "presso il {HOSPITAL|Ospedale militare di Cagliari}, reso", "presso {HOSPITAL|Policlinico Santa Lucia}, ieri",
    "{HOSPITAL|ASL Latina}", "{HOSPITAL|Azienda Ospedaliera Monteverde}, ieri",
    "{HOSPITAL|Casa di Cura Tre Fontane}, ieri", "{HOSPITAL|HOSPITAL UNIVERSITARIO VIRGEN DE LA VEGA}\n",
    "{HOSPITAL|Hospital Universitario 12 de Octubre}. Urgencias",  # no date
    "{HOSPITAL|Hospital Universitario Doctor Peset}. Urgencias",  # no doctor
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
LEFT = [
    "en el hospital de referencia", "ingresa en hospital de día", "the hospital bed",  # no name
    "Unidad de Nutrición Clínica",  # a speciality
    "La Rx de tórax es normal", "Historia Clínica del caso", "remitido a su centro de salud",
    "H. pylori positivo", "corte sagittale",  # a bacterium
]  # fmt: skip


@pytest.mark.parametrize("row", [*FOUND, *LEFT])
def test_institutions(row: str) -> None:
    assert marked(row) == row


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
