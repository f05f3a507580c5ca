"""Clinical words that a rewriting model deleted beside an identifier: none becomes part of it without being shown."""

import re

import pytest

from annotations.domain.tokens import tokenize
from models_runtime.backends.rules.clinical import is_clinical_word
from models_runtime.backends.rules.gazetteers import word_set
from models_runtime.backends.rules.names import ALL_GIVEN
from tests.backends.llm.test_aligning import found

# Text, rewritten text, and the clinical words among what a placeholder replaced.
DELETED = [
    ("Mario Rossi, non diabetico, ha 54 anni", "[NOME] ha [ETÀ] anni", "non diabetico"),
    (
        "Il paziente diabetico iperteso Mario Rossi assume aspirina",
        "Il paziente [NOME] assume aspirina",
        "diabetico iperteso",
    ),
    ("Oggi il paziente Mario Rossi Diabetico assume insulina", "Oggi il paziente [NOME] assume insulina", "Diabetico"),
    ("Oggi viene Mario Rossi Iperteso Diabetico in visita", "Oggi viene [NOME] in visita", "Iperteso Diabetico"),
    ("La signora Anna Bianchi Alzheimer grave vive sola", "La signora [NOME] vive sola", "Alzheimer grave"),
    (
        "La signora Anna Bianchi con Morbo di Parkinson vive sola",
        "La signora [NOME] vive sola",
        "con Morbo di Parkinson",
    ),
    ("Il signor Rossi affetto da Parkinson vive solo", "Il signor [NOME] vive solo", "affetto da Parkinson"),
    ("Il signor Rossi Parkinson in terapia vive solo", "Il signor [NOME] vive solo", "Parkinson in terapia"),
    ("Il signor Rossi, Parkinson, vive solo", "Il signor [NOME] vive solo", "Parkinson"),
    ("Paziente noto per Crohn Mario Rossi ricoverato", "Paziente noto per [NOME] ricoverato", "Crohn"),
    ("Diabetico Mario Rossi viene in visita", "[NOME] viene in visita", "Diabetico"),
    ("Iperteso noto, Mario Rossi viene in visita", "[NOME] viene in visita", "Iperteso noto"),
    ("Il paziente. Diabete Mario Rossi viene in visita", "Il paziente. [NOME] viene in visita", "Diabete"),
    (
        "PAZIENTE MARIO ROSSI DIABETICO IPERTESO RICOVERATO IN REPARTO",
        "PAZIENTE [NOME] RICOVERATO IN REPARTO",
        "DIABETICO IPERTESO",
    ),
    ("PAZIENTE DIABETICO MARIO ROSSI RICOVERATO", "PAZIENTE [NOME] RICOVERATO", "DIABETICO"),
    ("Nome: Mario Rossi\nDiagnosi: Diabete\nTerapia: insulina", "Nome: [NOME]\nTerapia: insulina", "Diagnosi Diabete"),
    ("- Mario Rossi\n- Diabete mellito\n- Iperteso", "- [NOME]\n- Iperteso", "Diabete mellito"),
    ("Ha 54 anni con glicemia 140 a digiuno", "Ha [ETÀ] a digiuno", "glicemia 140"),
    ("Ha 54 anni, 140 mg di glicemia, a digiuno", "Ha [ETÀ] a digiuno", "140"),
    ("PA 120 80 oggi, età 54 anni", "PA [ETÀ] anni", "120 80"),
    ("Ricovero il 12/03/2020 per ictus del 3/3 noto", "Ricovero il [DATA] noto", "per ictus"),
    ("Visto il 12 marzo 2020 HbA1c 7.2 e stabile", "Visto il [DATA] e stabile", "HbA1c 7.2"),
    ("Visto il 12/03/2020 7.2 e stabile", "Visto il [DATA] e stabile", "7.2"),
    ("Vive a Roma con Diabete tipo 2 in cura", "Vive a [LUOGO] in cura", "con Diabete tipo 2"),
    ("Vive a Roma Diabete in cura", "Vive a [LUOGO] in cura", "Diabete"),
    ("Operato a Milano, stent, sta bene", "Operato a [LUOGO], sta bene", "stent"),
    ("Mario Rossi, 54 anni, iperteso, di Roma", "[NOME] di Roma", "54 anni iperteso"),
    ("Mario Rossi 54 anni diabetico vive a Roma", "[NOME][ETÀ] vive a Roma", "diabetico"),
    ("Il dott. Rossi prescrive Tachipirina e Lasix oggi", "Il [NOME] oggi", "prescrive Tachipirina Lasix"),
    ("Visita dal dott. Rossi Tachipirina Lasix oggi", "Visita dal [NOME] oggi", "Tachipirina Lasix"),
    ("Segni di Babinski Rossi Mario negativi", "Segni di [NOME] negativi", "Babinski"),
    ("Operato da Mario Rossi, ernia inguinale, oggi sta bene", "Operato da [NOME] oggi sta bene", "ernia inguinale"),
    ("La paciente Carmen García, hipertensa, tiene 71 años", "La paciente [NOME] tiene [ETÀ] años", "hipertensa"),
    ("Paciente diabético Juan Pérez ingresado ayer", "Paciente [NOME] ingresado ayer", "diabético"),
    ("El paciente Juan Pérez EPOC ingresado", "El paciente [NOME] ingresado", "EPOC"),
    (
        "El paciente Juan Pérez Diabetes Mellitus Tipo II ingresado",
        "El paciente [NOME] ingresado",
        "Diabetes Mellitus Tipo II",
    ),
    ("Síndrome de Down Juan Pérez ingresado", "Síndrome de [NOME] ingresado", "Down"),
    ("PACIENTE JUAN PÉREZ SIN ALERGIAS INGRESADO", "PACIENTE [NOME] INGRESADO", "SIN ALERGIAS"),
    ("Nació el 3 de mayo de 1960 con cesárea en Madrid", "Nació el [DATA] en Madrid", "con cesárea"),
    ("Vive en Sevilla Asma tratada", "Vive en [LUOGO] tratada", "Asma"),
    ("The patient John Smith, not diabetic, is 54 years old", "The patient [NOME] is [ETÀ] years old", "not diabetic"),
    ("Diabetic hypertensive John Smith takes aspirin", "[NOME] takes aspirin", "Diabetic hypertensive"),
    ("The patient John Smith Diabetic takes aspirin", "The patient [NOME] takes aspirin", "Diabetic"),
    ("The patient John Smith Parkinson takes levodopa", "The patient [NOME] takes levodopa", "Parkinson"),
    ("Patient with Hodgkin John Smith takes aspirin", "Patient with [NOME] takes aspirin", "Hodgkin"),
    (
        "The patient John Smith with Hodgkin Lymphoma takes aspirin",
        "The patient [NOME] takes aspirin",
        "with Hodgkin Lymphoma",
    ),
    ("JOHN SMITH COPD ADMITTED TODAY", "[NOME] ADMITTED TODAY", "COPD"),
    ("JOHN SMITH NO ALLERGIES ADMITTED TODAY", "[NOME] ADMITTED TODAY", "NO ALLERGIES"),
    ("John Smith is 54 BP 120/80 today", "John Smith is [ETÀ] today", "BP 120/80"),
    ("John Smith is 54, HR 80, today", "John Smith is [ETÀ] today", "HR 80"),
    ("Admitted on 03/12/2020 with MI in Boston", "Admitted on [DATA] in Boston", "with MI"),
    ("Lives in Boston Asthma treated", "Lives in [LUOGO] treated", "Asthma"),
    ("Treated at Boston General Hospital for Asthma today", "Treated at [OSPEDALE] today", "for Asthma"),
    ("1. John Smith 2. Diabetes 3. Aspirin", "1. [NOME] 3. Aspirin", "Diabetes"),
    ("Dr. Alice Jones No Fever Noted today", "[NOME] today", "No Fever Noted"),
    ("Il paziente Diabete viene", "Il paziente [NOME] viene", "Diabete"),
    ("The patient has diabetes today", "The patient has [NOME] today", "diabetes"),
    ("Mario Rossi non ha febbre. Rossi sta bene", "[NOME] ha febbre. [NOME] sta bene", "non"),
    ("Rossi non fuma", "[NOME] fuma", "non"),
    ("Il sig. Rossi nega dolore. Sta bene", "Il sig. [NOME] dolore. Sta bene", "nega"),
    ("Mr Smith denies pain", "Mr [NOME] pain", "denies"),
    ("Mr Smith Denies Pain today", "Mr [NOME] today", "Denies Pain"),
]


def words(text: str) -> set[str]:
    return {text[token.start : token.end] for token in tokenize(text)}


@pytest.mark.parametrize(("text", "rewritten", "clinical"), DELETED)
def test_no_clinical_word_becomes_part_of_an_identifier_in_silence(text: str, rewritten: str, clinical: str) -> None:
    """Not if it is capitalized, an eponym, at the start of a sentence, in capitals, or in a list."""
    shown = found(text, rewritten)
    for word in filter(str.isalnum, words(clinical)):
        beside = [removed for _, _, removed, _ in shown if word in words(" ".join(removed))]
        doubted = [
            (identifier, unsupported)
            for identifier, _, _, unsupported in shown
            if word in words(identifier) and word in words(" ".join(unsupported))
        ]
        silent = [
            identifier
            for identifier, _, _, unsupported in shown
            if word in words(identifier) and word not in words(" ".join(unsupported))
        ]
        assert not silent
        assert beside or doubted


@pytest.mark.parametrize(
    ("text", "rewritten", "identifier"),
    [
        ("Il signor Mario Rossi, iperteso, torna", "Il signor [NOME] torna", "Mario Rossi"),
        ("Sr. García Pérez, Juan, diabético, acude", "Sr. [NOME], acude", "García Pérez, Juan"),
        ("The patient John Smith with Hodgkin Lymphoma rests", "The patient [NOME] rests", "John Smith"),
        ("Seen by Dr. Wells today", "Seen by [NOME] today", "Dr. Wells"),
        ("vive in via Cavour 12 Asma a Torino", "vive in [LUOGO/INDIRIZZO] a Torino", "via Cavour 12"),
        ("A 54-year-old Caucasian Diabetic male", "A [ETÀ] male", "54-year-old"),
        ("CF RSSMRA80A01H501U Diabete, ok", "CF [CODICE FISCALE], ok", "RSSMRA80A01H501U"),
    ],
)
def test_names_lists_and_rules_need_no_second_question(text: str, rewritten: str, identifier: str) -> None:
    assert [(words, unsupported) for words, _, _, unsupported in found(text, rewritten)] == [(identifier, [])]


def test_an_unlisted_name_is_in_doubt_until_the_model_confirms_it() -> None:
    text, rewritten = "Il signor Kwame Nkrumah Kelvorin 300 assume", "Il signor [NOME] assume"
    assert found(text, rewritten) == [
        ("Kwame Nkrumah Kelvorin", "[NOME]", ["300"], ["Kwame Nkrumah Kelvorin"]),
    ]
    assert found(text, rewritten, ("Kwame Nkrumah", 0)) == [("Kwame Nkrumah", "[NOME]", ["Kelvorin 300"], [])]


def test_an_answer_that_repeats_the_mistake_confirms_nothing() -> None:
    text, rewritten = "Il signor Kwame Nkrumah diabetico assume", "Il signor [NOME] assume"
    assert found(text, rewritten, ("Kwame Nkrumah diabetico", 0)) == [
        ("Kwame Nkrumah", "[NOME]", ["diabetico"], ["Kwame Nkrumah"]),
    ]


def test_an_answer_loses_no_known_part_of_a_name() -> None:
    text, rewritten = "Il signor Mario Pautasso, iperteso, assume", "Il signor [NOME] assume"
    assert found(text, rewritten, ("Pautasso", 0)) == [("Mario Pautasso", "[NOME]", ["iperteso"], [])]


def test_the_name_of_a_disease_can_be_a_surname_and_is_then_in_doubt() -> None:
    assert found("Mr John Turner arrives", "Mr [NOME] arrives") == [("John Turner", "[NOME]", [], ["Turner"])]


def test_no_listed_surname_is_a_clinical_word() -> None:
    assert sorted(name for name in word_set("surnames") if is_clinical_word(name)) == []


@pytest.mark.parametrize("word", ["DIABETICO", "Ipertesa", "Neumonía", "Hipotiroidismo", "Gonalgia", "Lasix"])
def test_clinical_words_are_known_in_any_case(word: str) -> None:
    assert is_clinical_word(word)


def test_endings_of_clinical_words_are_not_those_of_common_names() -> None:
    assert {
        name for name in ALL_GIVEN if is_clinical_word(name) and not re.fullmatch(r"dolores|ira|mia", name)
    } == set()
