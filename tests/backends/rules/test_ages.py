import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    "Uomo di {AGE|60} anni, iperteso", "Donna, {AGE|67} anni, BPCO", "paziente di {AGE|84} anni",  # comma between
    "Pz {AGE|60} aa, ricoverato", "La marangon, di anni {AGE|76}, affetta",  # abbreviation; figure after the word
    "un {AGE|72}enne con febbre", "una {AGE|sessantenne} iperlipidemica",  # in one word
    "Varón de {AGE|54} años con tos", "Niño de {AGE|ocho} años natural", "mujer de {AGE|setenta} años",  # in words
    "viene {PATIENT|Iñaki}, de {AGE|58} años, solo", "Edad: {AGE|71} años",  # after a name; a field
    "Edad:{AGE|22} Sexo: M", "diagnosticado a los {AGE|18} años de colitis",  # at an age
    "fumador desde los {AGE|14} años", "Lactante de {AGE|7} meses", "hija de {AGE|3} años",  # a relative's
    "is a {AGE|73}-year-old man", "{AGE|31} y/o M", "{AGE|76} years old",
    "{AGE|45}F here for annual", "twins ({AGE|17})", "Età: {AGE|84}",  # age and sex in one
    "a woman in her {AGE|90s}", "in his late {AGE|eighties}", "{AGE|ninety-two} years old",
    "{AGE|noventa y dos} años de edad", "{AGE|90}+ years old",
    "a {AGE|ninety-five}-year-old man", "{AGE|93}-y-o", "aged {AGE|ninety-one}, frail",
]  # fmt: skip
LEFT = [
    "tos de 10 años de evolución",  # length of an illness
    "desde hace 20 años", "durante 5 años en tratamiento", "fumatore da 20 anni", "oltre 20 anni turni notturni",
    "20 anni fa", "control a los 2 años del trasplante", "seguimiento de 3 años",  # after an operation
    "76 mg al día", "ex fumatore (20 pack/years)", "gestante de 34 semanas",  # a dose; length of a pregnancy
    "for 3 years", "2 years ago", "over the last 6 months", "paciente 150 años",  # nobody is as old
    "the two-year-old stent is open", "aged two to five hours", "HR in the 90s",
    "sats in the high eighties", "born in the 50s",
]  # fmt: skip


@pytest.mark.parametrize("row", [*FOUND, *LEFT])
def test_ages(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize(
    ("row", "label_set"),
    [
        ("{SEXO_SUJETO_ASISTENCIA|Varón} de {EDAD_SUJETO_ASISTENCIA|54 años} con tos", "meddocan"),  # the unit too
        ("{SEXO_SUJETO_ASISTENCIA|Mujer} de {EDAD_SUJETO_ASISTENCIA|sesenta y tres años} con tos", "meddocan"),
        ("Edad: {EDAD_SUJETO_ASISTENCIA|70 años} Sexo: {SEXO_SUJETO_ASISTENCIA|H}.", "meddocan"),
        ("Uomo di {ETA|60 anni}", "it-4"),
        ("una {ETA|sessantenne} iperlipidemica", "it-4"),
    ],
)
def test_the_unit_belongs_to_the_span_in_some_sets(row: str, label_set: str) -> None:
    assert marked(row, label_set) == row
