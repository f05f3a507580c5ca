"""The notes that are measured with: MEDDOCAN's training part where it is, else invented ones of the same shape."""

import random
from pathlib import Path

MEDDOCAN = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "data" / "meddocan" / "train"
NOTES, SPANS, CHARACTERS = 500, 11_333, 2_850
LABELS = ("NOMBRE_SUJETO_ASISTENCIA", "FECHAS", "TERRITORIO", "EDAD_SUJETO_ASISTENCIA", "NOMBRE_PERSONAL_SANITARIO")
VOCABULARY = """
    paciente varón mujer de que acude al servicio por dolor fiebre tos exploración analítica normal tratamiento con
    mejoría alta controles sin hallazgos radiografía tórax abdomen ecografía antecedentes familiares hipertensión
    diabetes refiere desde hace días semanas meses años ingresa evolución favorable informe hospital consulta
"""


def folder(beside: Path) -> Path:
    """A folder of 500 brat notes with 11,333 spans."""
    if len(list(MEDDOCAN.glob("*.ann"))) == NOTES:
        return MEDDOCAN
    made = beside / "notes"
    if not made.exists():
        made.mkdir()
        chance = random.Random(20)
        for number in range(NOTES):
            text, marks = _note(chance, SPANS // NOTES + (number < SPANS % NOTES))
            (made / f"note-{number:04}.txt").write_text(text, encoding="utf-8")
            (made / f"note-{number:04}.ann").write_text(marks, encoding="utf-8")
    return made


def _note(chance: random.Random, spans: int) -> tuple[str, str]:
    """A text of lines of invented words, and `spans` of its words marked, in order."""
    vocabulary = VOCABULARY.split()
    words: list[tuple[str, int]] = []
    text = ""
    while len(text) < CHARACTERS:
        word = chance.choice(vocabulary)
        words.append((word, len(text)))
        text += word + ("\n" if chance.random() < 0.08 else " ")
    lines = []
    for number, (word, at) in enumerate(sorted(chance.sample(words, spans), key=lambda found: found[1]), 1):
        lines.append(f"T{number}\t{chance.choice(LABELS)} {at} {at + len(word)}\t{word}\n")
    return text, "".join(lines)
