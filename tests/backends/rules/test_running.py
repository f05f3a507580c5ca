"""Names in running text, by their meanings and the words around them, and towns after what somebody does there."""

import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    # Names that mean nothing else.
    "Esta mañana encontramos a {PATIENT|Casilda} en el suelo",
    "Avvertire {PATIENT|Lamberto} appena arriva l'esame",
    "Let {PATIENT|Darnell} know as soon as the path is back",
    "{PATIENT|Eugenia}: sin cambios desde ayer",
    "Ni {PATIENT|Aarón} ni su padre recuerdan la vacuna",
    "Pendiente de avisar a {PATIENT|Youssef}.",
    "La mediatrice, {PATIENT|Naima Bouzid}, traduce.",
    # Names that are words too.
    "Pregunta {PATIENT|Nieves} cuándo le darán el alta.",
    "Lo stato di {PATIENT|Alba} è stabile.",
    "The drip went into the left arm for {PATIENT|Poppy}.",
    "{PATIENT|Modesto} es el marido y trae los informes.",
    "{PATIENT|Lourdes} missed her appointment.",
    # Names that are eponyms, months or feasts.
    "According to {PATIENT|Max}, the pain is mild.",
    "{PATIENT|Natale} è stato operato e sta bene.",
    "{PATIENT|May} has been afebrile for three days.",
    "Firma como testigo {PATIENT|Carmen Beck}.",
    # What somebody is, does or is called.
    "Handed to {PATIENT|Christmas}, night porter.",
    "El paciente, {PATIENT|Marfan} de apellido, es británico.",
    "A cousin called {PATIENT|Babinski} is here.",
    "Intervino la psicóloga {DOCTOR|Alegre} a petición de la familia.",
    "Registrar {DOCTOR|Down} examined both twins.",
    "Operado por {DOCTOR|Kocher} hace un mes",
    "Nos dice {PATIENT|Lis} que no ve bien la pizarra.",
    "PT: {PATIENT|BISHOP}, came by stretcher",
    "F.TO {DOCTOR|A. FERRARA}",
    "Avvisato il dottor {DOCTOR|Ferro} per l'anemia.",
    "El doctor {DOCTOR|Calle} prefiere esperar al cultivo.",
    # Towns.
    "Trabaja de {PROFESSION|camarero} en {CITY|Mayorga}.",
    "Da bambina stava a {CITY|Piedicavallo}.",
    "Picks fruit in {CITY|Wisbech}",
    "Paciente de {CITY|Glasgow}, de vacaciones en la costa.",
]
LEFT = [
    "Imputación según Rubin. Vite di Herbert. Monitor Merlin.",
    "Borrmann III. Lauren intestinal. Bruce, estadio 3.",
    "Teddy bear. Elsa costume. Charlie horse. Barney.",
    "Se realiza biopsia según Ivor Lewis sin sangrado",
    "no Austin Flint, Stanford Binet, Merry Walker",
    "Mother had Graves, sister well",
    "Ella refiere dolor",
    "Estudio conforme a Helsinki. Comité de Tumores.",
    "Tornare in Pronto Soccorso. Drives a Chevrolet.",
    "Remitido desde Atención Primaria",
    "seen by Cardiology; treated by Gamma Knife",
]


@pytest.mark.parametrize("row", [*FOUND, *LEFT])
def test_names_in_running_text(row: str) -> None:
    assert marked(row) == row
