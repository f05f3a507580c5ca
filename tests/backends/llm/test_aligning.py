"""Rewritten notes: alignment with the note, what placeholders stand for, words in doubt, clinical words."""

from collections import defaultdict

import pytest
from hypothesis import given

from annotations.text.spans import Span, covered, tokenize
from models_runtime.backends.llm.aligning import TextChanged, align
from models_runtime.backends.llm.bounding import Bounder
from models_runtime.backends.llm.evidence import FAMILIES, families_of
from models_runtime.backends.llm.extracting import mask
from models_runtime.backends.llm.prompts import LabelWord
from models_runtime.backends.rules.gazetteers import word_set
from models_runtime.backends.rules.phrases import ALL_GIVEN, is_clinical_word
from tests.backends.llm.scripted import spanned
from tests.timing import takes_at_most

LABELS = [
    LabelWord("NOME", "Nome", "", "[NOME]"), LabelWord("ETA", "Età", "", "[ETÀ]"),
    LabelWord("LUOGO", "Luogo", "", "[LUOGO/INDIRIZZO]"), LabelWord("DATA", "Data", "", "[DATA]"),
]  # fmt: skip
"""Words and placeholder of an identifier, the words removed beside it, and its words without support."""


def found(text, rewritten, *answers):
    """The identifiers, in the order of the gaps; `answers`: the model's on each second question."""
    tokens = tokenize(text)
    families = defaultdict(lambda: FAMILIES, {each.placeholder: families_of(each, "it-4") for each in LABELS})
    bounder = Bounder(text, tokens, families)
    gaps = align(text, tokens, rewritten)
    for gap in gaps:
        bounder.clear(gap)
    given = [((text.index(words), text.index(words) + len(words)), number) for words, number in answers]
    shown = []
    for gap in gaps:
        clear = bounder.clear(gap)
        for one in bounder.doubtful(gap, given) if clear is None else clear:
            removed, unsupported = ([text[slice(*each)] for each in part] for part in (one.removed, one.unsupported))
            shown.append((text[slice(*one.bounds)], gap.placeholders[one.placeholder], removed, unsupported))
    return shown


@pytest.mark.parametrize(
    ("text", "rewritten", "expected"),
    [
        # Clinical words that the model deleted never become part of the name.
        ("Mario Rossi, non diabetico, ha 54 anni", "[NOME] ha [ETÀ] anni",
         [("Mario Rossi", "[NOME]", ["non diabetico"], []), ("54", "[ETÀ]", [], [])]),
        # Two names in one gap, with a diagnosis between them.
        ("Visti oggi Mario Rossi, iperteso, e la figlia Anna Bianchi insieme", "Visti oggi [NOME] insieme",
         [(name, "[NOME]", ["iperteso, e la figlia"], []) for name in ("Mario Rossi", "Anna Bianchi")]),
        # Another mention in the note supports a name at the start of a sentence.
        ("Kwame Nkrumah diabetico assume 54 mg. Il signor Kwame Nkrumah sta bene",
         "[NOME] assume 54 mg. Il signor [NOME] sta bene",
         [("Kwame Nkrumah", "[NOME]", ["diabetico"], []), ("Kwame Nkrumah", "[NOME]", [], [])]),
        # It doesn't hide a second name in the same gap.
        ("Kwame Nkrumah, obeso, e Anna Bianchi insieme. Il signor Kwame Nkrumah sta bene",
         "[NOME] insieme. Il signor [NOME] sta bene",
         [("Kwame Nkrumah", "[NOME]", ["obeso, e"], []), ("Anna Bianchi", "[NOME]", ["obeso, e"], []),
          ("Kwame Nkrumah", "[NOME]", [], [])]),
        # Nothing tells the bounds: the gap is suggested without clinical words at its ends, and all of it is in doubt.
        ("mario rossi, non diabetico, ha freddo", "[NOME] ha freddo",
         [("mario rossi", "[NOME]", ["non diabetico"], ["mario rossi"])]),
        # Capital letters tell nothing where all is written in them.
        ("IL PAZIENTE DIABETICO KWAME NKRUMAH ASSUME", "IL PAZIENTE [NOME] ASSUME",
         [("KWAME NKRUMAH", "[NOME]", ["DIABETICO"], ["KWAME NKRUMAH"])]),
        ("Ha anni cinquantaquattro", "Ha [ETÀ]", [("anni cinquantaquattro", "[ETÀ]", [], ["cinquantaquattro"])]),
        ("Visto di Mario Rossi in casa", "Visto [NOME] in casa", [("Mario Rossi", "[NOME]", ["di"], [])]),
        # A dose is no part of a name.
        ("Visto Mario Rossi 54 mg in casa", "Visto [NOME] in casa", [("Mario Rossi", "[NOME]", ["54 mg"], [])]),
        ("nato il 12/03/2011 in via Roma 5, CF RSSMRA80A01H501U.",
         "nato il [DATA] in [LUOGO/INDIRIZZO], CF [CODICE FISCALE].",
         [("12/03/2011", "[DATA]", [], []), ("via Roma 5", "[LUOGO/INDIRIZZO]", [], []),
          ("RSSMRA80A01H501U", "[CODICE FISCALE]", [], [])]),
        # Tags of the note itself are no identifiers.
        ("Vide [sic] Rossi e [NOME] in casa", "Vide [sic] [NOME] e [NOME] in casa", [("Rossi", "[NOME]", [], [])]),
        ("Vide [sic] e [NOME]", "Vide [sic] e [NOME]", []),
        # Adjacent placeholders stay two. Their division can be in doubt until the model answers.
        ("Oggi Mario Rossi torna", "Oggi [NOME] [NOME] torna",
         [("Mario", "[NOME]", [], []), ("Rossi", "[NOME]", [], [])]),
        ("Oggi Mario Rossi 54 anni torna", "Oggi [NOME] [ETÀ] torna",
         [("Mario Rossi", "[NOME]", [], []), ("54 anni", "[ETÀ]", [], [])]),
        ("Oggi Rossi torna", "Oggi [NOME] [COGNOME] torna", [("Rossi", "[NOME]", [], [])]),
        ("Oggi Anna Maria Rossi torna", "Oggi [NOME] [NOME] torna",
         [("Anna", "[NOME]", [], ["Anna"]), ("Maria Rossi", "[NOME]", [], ["Maria Rossi"])]),
    ],
)  # fmt: skip
def test_a_placeholder_stands_for_the_identifier_alone(text, rewritten, expected):
    assert found(text, rewritten) == expected


REPEATED = [
    ("La paziente Anna Verdi {} arriva. La paziente Anna Verdi {} viene dimessa.", "sieropositiva", "Anna Verdi"),
    ("Oggi Anna Pautasso {} arriva. Poi Anna Pautasso {} torna. Infine Anna Pautasso {} va.", "sola", "Anna Pautasso"),
    ("Seen was John Smith {} today. Then John Smith {} left.", "wheezing", "John Smith"),
]


@pytest.mark.parametrize(("text", "rest", "name"), REPEATED)
def test_words_that_vanish_together_each_time_do_not_support_each_other(text, rest, name):
    """Not with another word after them once either, or if the model repeats the mistake in its answer."""
    note, rewritten = text.replace("{}", rest), text.replace(f"{name} {{}}", "[NOME]")
    times = text.count("{}")
    for answers in ([], [(f"{name} {rest}", 0)]):
        shown = found(note, rewritten, *answers)
        assert [(words, removed) for words, _, removed, _ in shown[:1]] == [(name, [rest])] and len(shown) == times
        assert all(rest not in words and removed for words, _, removed, _ in shown if not answers)
    longer = note.replace(f"{name} {rest}", f"{name} {rest} assai", 1)
    assert all(rest not in words and removed for words, _, removed, _ in found(longer, rewritten))


def test_a_capitalized_word_that_vanishes_each_time_is_in_doubt():
    text, rewritten = "Visto Mario Kelvorin oggi. Poi Mario Kelvorin {}torna.", "Visto [NOME] oggi. Poi [NOME] torna."
    for between in ("", "stanco "):
        assert all("Kelvorin" in unsupported for *_, unsupported in found(text.format(between), rewritten))


@pytest.mark.parametrize(
    ("text", "rewritten", "identifiers"),
    [
        # Each line of an address has its placeholder.
        ("Referto per\nAnna Rossi\nvia Cavour 12\nTorino\nSta bene", "Referto per\n[NOME]\n[LUOGO]\n[LUOGO]\nSta bene",
         ["Anna Rossi", "via Cavour 12", "Torino"]),
        ("Anna Rossi\r\n\r\nvia Cavour 12, Torino", "[NOME]\n\n[LUOGO], [LUOGO]",
         ["Anna Rossi", "via Cavour 12", "Torino"]),
        ("Anna Rossi 54 anni\nvia Cavour 12\nTorino\nSta bene", "[NOME] [ETÀ]\n[LUOGO]\n[LUOGO]\nSta bene",
         ["Anna Rossi", "54 anni", "via Cavour 12", "Torino"]),
        ("Anna Rossi\nvia Cavour 12\nTorino", "[NOME] [LUOGO] [LUOGO]", ["Anna Rossi", "via Cavour 12", "Torino"]),
        # Typography differs.
        ("È nata «Anna Rossi» – ha 54 anni…", "E' nata \"[NOME]\" - ha [ETÀ] anni...", ["Anna Rossi", "54"]),
        ("Perché Nicolò tace? L’età è «54»", "Perche' [NOME] tace? L'età è \"54\"", ["Nicolò"]),
        ("E' la signora Anna, in citta'", "È la signora [NOME], in città", ["Anna"]),
        ("E\u0300 la for\u00admica di Anna, 2º piano, 5 µg", "È la formica di [NOME], 2° piano, 5 μg", ["Anna"]),
    ],
)  # fmt: skip
def test_line_breaks_and_typography_do_not_refuse_a_faithful_rewriting(text, rewritten, identifiers):
    assert [(words, unsupported) for words, _, _, unsupported in found(text, rewritten)] == [
        (words, []) for words in identifiers
    ]


def test_lines_without_placeholders_of_their_own_are_still_refused():
    with pytest.raises(TextChanged):
        found("Anna Rossi\nsieropositiva\nvia Cavour 12\nTorino\nbene", "[NOME]\n[LUOGO]\n[LUOGO]\nbene")


def test_an_answer_settles_a_division_but_supports_no_words_alone():
    text, rewritten = "Oggi Anna Maria Rossi torna", "Oggi [NOME] [NOME] torna"
    answered = found(text, rewritten, ("Anna Maria", 0), ("Rossi", 1))
    assert answered == [("Anna Maria", "[NOME]", [], []), ("Rossi", "[NOME]", [], [])]
    alone = found("mario rossi, non diabetico, ha freddo", "[NOME] ha freddo", ("mario rossi", 0))
    assert alone == [("mario rossi", "[NOME]", ["non diabetico"], ["mario rossi"])]


def test_an_answer_never_brings_back_words_beside_supported_ones():
    """Even if the model repeats its mistake, or answers with other words."""
    text, rewritten = "Visto Mario Rossi, non diabetico, in casa", "Visto [NOME] in casa"
    for answer in ("Mario Rossi, non diabetico", "Rossi, non diabetico", "Mario Rossi"):
        for words, _placeholder, removed, unsupported in found(text, rewritten, (answer, 0)):
            assert "diabetico" not in words and removed[-1] == "non diabetico" and unsupported == []


def test_repeated_words_that_allow_two_alignments_are_in_doubt():
    shown = found("Oggi Anna e Rita e Sara tornano", "Oggi [NOME] e [NOME] tornano")
    assert {word for words, *_ in shown for word in words.split()} >= {"Anna", "Rita", "Sara"}
    assert all(unsupported for *_, unsupported in shown)


NOTE = "Il sig. Mario Rossi, di 54 anni, prende 54 mg.\r\nDott.ssa Bianchi"


@pytest.mark.parametrize(("rewritten", "left_out", "new"), [
    ("Il sig. [NOME], di [ETÀ] anni, prende 45 mg.\nDott.ssa [NOME]", 1, 1),
    ("Il sig. [NOME], di [ETÀ] anni, prende 54 mg.", 4, 0),
    ("Ecco: Il sig. [NOME], di [ETÀ] anni, prende 54 mg.\nDott.ssa [NOME]", 0, 2), ("", 18, 0),
])  # fmt: skip
def test_any_other_change_is_an_error_with_counts(rewritten, left_out, new):
    """White space may differ."""
    same = found(NOTE, "Il sig. [NOME],  di [ETÀ] anni, prende 54 mg. Dott.ssa [NOME]\n")
    assert [words for words, *_ in same] == ["Mario Rossi", "54", "Bianchi"]
    with pytest.raises(TextChanged) as caught:
        found(NOTE, rewritten)
    assert f"{left_out} words or signs are missing and {new} are new" in str(caught.value)
    # A note with a changed word is still a rewritten note; nothing, or a refusal, is not.
    assert "Rossi" not in str(caught.value) and caught.value.rewritten == rewritten
    with pytest.raises(TextChanged) as caught:
        found(NOTE, "Mi dispiace, non posso aiutare con questa nota.")
    assert caught.value.rewritten == ""


@pytest.mark.parametrize(("text", "rewritten"), [
    (NOTE * 9, "[NOME]"), (NOTE * 9, "Il [NOME] Bianchi"), ("parola " * 3000, "[NOME] [ETÀ] " * 3000),
], ids=["all", "most", "only placeholders, which must fail fast"])  # fmt: skip
def test_a_placeholder_cannot_swallow_the_note(text, rewritten):
    with pytest.raises(TextChanged):
        found(text, rewritten)


@pytest.mark.parametrize("piece", ["avv. ", "«»", "(", "È\u0300\u0327", "a\n"])
def test_hostile_repetition_is_fast_to_refuse(piece):
    text = piece * 4000

    def refused():
        with pytest.raises(TextChanged):
            align(text, tokenize(text), f"[NOME] x {text}")

    assert takes_at_most(1, refused)


@given(spanned())
def test_no_word_outside_the_gaps_becomes_part_of_an_identifier(case):
    """For any replaced tokens, the identifiers lie in the gaps, and every word of a gap is accounted for."""
    text, spans = case
    tokens = tokenize(text)
    snapped = [
        Span(tokens[first].start, tokens[past - 1].end, span.label)
        for span in spans
        for first, past in [covered(tokens, span.start, span.end)]
        if first < past
    ]
    try:
        gaps = align(text, tokens, mask(text, snapped).text)
    except TextChanged:
        return
    bounder = Bounder(text, tokens, defaultdict(lambda: FAMILIES))
    for gap in gaps:
        clear = bounder.clear(gap)
        bounds = bounder.doubtful(gap, []) if clear is None else clear
        start, end = tokens[gap.first].start, tokens[gap.past - 1].end
        assert all(start <= one.bounds[0] < one.bounds[1] <= end for one in bounds)


# Text, rewritten text, and the clinical words among what a placeholder replaced.
DELETED = [
    ("Mario Rossi, non diabetico, ha 54 anni", "[NOME] ha [ETÀ] anni", "non diabetico"),
    ("Oggi viene Mario Rossi Iperteso Diabetico in visita", "Oggi viene [NOME] in visita", "Iperteso Diabetico"),
    ("La signora Anna Bianchi con Morbo di Parkinson vive", "La signora [NOME] vive", "con Morbo di Parkinson"),
    ("Il signor Rossi, Parkinson, vive solo", "Il signor [NOME] vive solo", "Parkinson"),
    ("Il paziente. Diabete Mario Rossi viene in visita", "Il paziente. [NOME] viene in visita", "Diabete"),
    ("PAZIENTE MARIO ROSSI DIABETICO IPERTESO RICOVERATO", "PAZIENTE [NOME] RICOVERATO", "DIABETICO IPERTESO"),
    ("Nome: Mario Rossi\nDiagnosi: Diabete\nTerapia: insulina", "Nome: [NOME]\nTerapia: insulina", "Diagnosi Diabete"),
    ("Ha 54 anni con glicemia 140 a digiuno", "Ha [ETÀ] a digiuno", "glicemia 140"),
    ("PA 120 80 oggi, età 54 anni", "PA [ETÀ] anni", "120 80"),
    ("Visto il 12 marzo 2020 HbA1c 7.2 e stabile", "Visto il [DATA] e stabile", "HbA1c 7.2"),
    ("Mario Rossi 54 anni diabetico vive a Roma", "[NOME][ETÀ] vive a Roma", "diabetico"),
    ("Il dott. Rossi prescrive Tachipirina e Lasix oggi", "Il [NOME] oggi", "prescrive Tachipirina Lasix"),
    ("Segni di Babinski Rossi Mario negativi", "Segni di [NOME] negativi", "Babinski"),
    ("La paciente Carmen García, hipertensa, tiene 71 años", "La paciente [NOME] tiene [ETÀ] años", "hipertensa"),
    ("Paciente Juan Pérez Diabetes Mellitus Tipo II ingresado", "Paciente [NOME] ingresado", "Diabetes Mellitus Tipo"),
    ("The patient John Smith, not diabetic, is 54 years old", "The patient [NOME] is [ETÀ] years old", "not diabetic"),
    ("The patient John Smith Parkinson takes levodopa", "The patient [NOME] takes levodopa", "Parkinson"),
    ("The patient John Smith with Hodgkin Lymphoma rests", "The patient [NOME] rests", "with Hodgkin Lymphoma"),
    ("JOHN SMITH COPD ADMITTED TODAY", "[NOME] ADMITTED TODAY", "COPD"),
    ("John Smith is 54 BP 120/80 today", "John Smith is [ETÀ] today", "BP 120/80"),
    ("Dr. Alice Jones No Fever Noted today", "[NOME] today", "No Fever Noted"),
    ("Mario Rossi non ha febbre. Rossi sta bene", "[NOME] ha febbre. [NOME] sta bene", "non"),
    ("Mr Smith Denies Pain today", "Mr [NOME] today", "Denies Pain"),
]


def words(text):
    return {text[token.start : token.end] for token in tokenize(text)}


@pytest.mark.parametrize(("text", "rewritten", "clinical"), DELETED)
def test_no_clinical_word_becomes_part_of_an_identifier_in_silence(text, rewritten, clinical):
    """Not if it is capitalized, an eponym, at the start of a sentence, in capitals, or in a list."""
    shown = found(text, rewritten)
    for word in filter(str.isalnum, words(clinical)):
        beside = any(word in words(" ".join(removed)) for _, _, removed, _ in shown)
        doubted = [word in words(" ".join(unsure)) for name, _, _, unsure in shown if word in words(name)]
        assert all(doubted) and (beside or doubted)


@pytest.mark.parametrize(("text", "rewritten", "identifier"), [
    ("Il signor Mario Rossi, iperteso, torna", "Il signor [NOME] torna", "Mario Rossi"),
    ("Sr. García Pérez, Juan, diabético, acude", "Sr. [NOME], acude", "García Pérez, Juan"),
    ("The patient John Smith with Hodgkin Lymphoma rests", "The patient [NOME] rests", "John Smith"),
    ("Seen by Dr. Wells today", "Seen by [NOME] today", "Dr. Wells"),
    ("vive in via Cavour 12 Asma a Torino", "vive in [LUOGO/INDIRIZZO] a Torino", "via Cavour 12"),
    ("A 54-year-old Caucasian Diabetic male", "A [ETÀ] male", "54-year-old"),
    ("CF RSSMRA80A01H501U Diabete, ok", "CF [CODICE FISCALE], ok", "RSSMRA80A01H501U"),
])  # fmt: skip
def test_names_lists_and_rules_need_no_second_question(text, rewritten, identifier):
    assert [(words, unsupported) for words, _, _, unsupported in found(text, rewritten)] == [(identifier, [])]


UNLISTED = "Kwame Nkrumah Kelvorin"


@pytest.mark.parametrize(
    ("replaced", "answer", "identifier", "removed", "unsupported"),
    [
        (f"{UNLISTED} 300", "", UNLISTED, ["300"], [UNLISTED]),  # an unlisted name is in doubt until it is confirmed
        (f"{UNLISTED} 300", "Kwame Nkrumah", "Kwame Nkrumah", ["Kelvorin 300"], []),
        # An answer that repeats the mistake confirms nothing, and none loses a known part of a name.
        ("Kwame Nkrumah diabetico", "Kwame Nkrumah diabetico", "Kwame Nkrumah", ["diabetico"], ["Kwame Nkrumah"]),
        ("Mario Pautasso, iperteso,", "Pautasso", "Mario Pautasso", ["iperteso"], []),
        ("John Turner", "", "John Turner", [], ["Turner"]),  # a surname that is the name of a disease too
    ],
)
def test_answers_about_doubtful_names(replaced, answer, identifier, removed, unsupported):
    answers = [(answer, 0)] if answer else []
    assert found(f"Il signor {replaced} assume", "Il signor [NOME] assume", *answers) == [
        (identifier, "[NOME]", removed, unsupported)
    ]


def test_clinical_words_are_known_in_any_case_and_no_names():
    for word in ("DIABETICO", "Ipertesa", "Neumonía", "Hipotiroidismo", "Gonalgia", "Lasix"):
        assert is_clinical_word(word)
    assert not any(map(is_clinical_word, word_set("surnames")))
    assert {name for name in ALL_GIVEN if is_clinical_word(name)} <= {"dolores", "ira", "mia"}
