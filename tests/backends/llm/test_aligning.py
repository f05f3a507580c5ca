"""Rewritten notes: alignment with the note, what placeholders stand for, and words in doubt."""

from collections import defaultdict

import pytest
from hypothesis import given

from annotations.domain.spans import Span
from annotations.domain.tokens import covered, tokenize
from models_runtime.backends.llm.aligning import Changed, align
from models_runtime.backends.llm.bounding import Bounder
from models_runtime.backends.llm.evidence import FAMILIES, families_of
from models_runtime.backends.llm.masking import mask
from models_runtime.backends.llm.prompts import LabelWord
from tests.backends.llm.texts import spanned

LABELS = [
    LabelWord("NOME", "Nome", "", "[NOME]"),
    LabelWord("ETA", "Età", "", "[ETÀ]"),
    LabelWord("LUOGO", "Luogo", "", "[LUOGO/INDIRIZZO]"),
    LabelWord("DATA", "Data", "", "[DATA]"),
]

Shown = tuple[str, str, list[str], list[str]]
"""Words and placeholder of an identifier, the words removed beside it, and its words without support."""


def found(text: str, rewritten: str, *answers: tuple[str, int]) -> list[Shown]:
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
            shown.append(
                (
                    text[slice(*one.bounds)],
                    gap.placeholders[one.placeholder],
                    [text[slice(*each)] for each in one.removed],
                    [text[slice(*each)] for each in one.unsupported],
                )
            )
    return shown


@pytest.mark.parametrize(
    ("text", "rewritten", "expected"),
    [
        # Clinical words that the model deleted never become part of the name.
        (
            "Mario Rossi, non diabetico, ha 54 anni",
            "[NOME] ha [ETÀ] anni",
            [("Mario Rossi", "[NOME]", ["non diabetico"], []), ("54", "[ETÀ]", [], [])],
        ),
        (
            "Il paziente diabetico iperteso Mario Rossi assume aspirina",
            "Il paziente [NOME] assume aspirina",
            [("Mario Rossi", "[NOME]", ["diabetico iperteso"], [])],
        ),
        # Two names in one gap, with a diagnosis between them.
        (
            "Visti oggi Mario Rossi, iperteso, e la figlia Anna Bianchi insieme",
            "Visti oggi [NOME] insieme",
            [
                ("Mario Rossi", "[NOME]", ["iperteso, e la figlia"], []),
                ("Anna Bianchi", "[NOME]", ["iperteso, e la figlia"], []),
            ],
        ),
        # Another mention in the note supports a name at the start of a sentence.
        (
            "Kwame Nkrumah diabetico assume 54 mg. Il signor Kwame Nkrumah sta bene",
            "[NOME] assume 54 mg. Il signor [NOME] sta bene",
            [("Kwame Nkrumah", "[NOME]", ["diabetico"], []), ("Kwame Nkrumah", "[NOME]", [], [])],
        ),
        # It doesn't hide a second name in the same gap.
        (
            "Kwame Nkrumah, obeso, e Anna Bianchi insieme. Il signor Kwame Nkrumah sta bene",
            "[NOME] insieme. Il signor [NOME] sta bene",
            [
                ("Kwame Nkrumah", "[NOME]", ["obeso, e"], []),
                ("Anna Bianchi", "[NOME]", ["obeso, e"], []),
                ("Kwame Nkrumah", "[NOME]", [], []),
            ],
        ),
        # Nothing tells the bounds: the gap is suggested without clinical words at its ends, and all of it is in doubt.
        (
            "mario rossi, non diabetico, ha freddo",
            "[NOME] ha freddo",
            [("mario rossi", "[NOME]", ["non diabetico"], ["mario rossi"])],
        ),
        # Capital letters tell nothing where all is written in them.
        (
            "IL PAZIENTE DIABETICO KWAME NKRUMAH ASSUME",
            "IL PAZIENTE [NOME] ASSUME",
            [("KWAME NKRUMAH", "[NOME]", ["DIABETICO"], ["KWAME NKRUMAH"])],
        ),
        ("Ha anni cinquantaquattro", "Ha [ETÀ]", [("anni cinquantaquattro", "[ETÀ]", [], ["cinquantaquattro"])]),
        ("Visto di Mario Rossi in casa", "Visto [NOME] in casa", [("Mario Rossi", "[NOME]", ["di"], [])]),
        # A dose is no part of a name.
        ("Visto Mario Rossi 54 mg in casa", "Visto [NOME] in casa", [("Mario Rossi", "[NOME]", ["54 mg"], [])]),
        (
            "nato il 12/03/2011 a Torino, in via Roma 5, CF RSSMRA80A01H501U.",
            "nato il [DATA] a [LUOGO/INDIRIZZO], in [LUOGO/INDIRIZZO], CF [CODICE FISCALE].",
            [
                ("12/03/2011", "[DATA]", [], []),
                ("Torino", "[LUOGO/INDIRIZZO]", [], []),
                ("via Roma 5", "[LUOGO/INDIRIZZO]", [], []),
                ("RSSMRA80A01H501U", "[CODICE FISCALE]", [], []),
            ],
        ),
    ],
)
def test_a_placeholder_stands_for_the_identifier_alone(text: str, rewritten: str, expected: list[Shown]) -> None:
    assert found(text, rewritten) == expected


@pytest.mark.parametrize(
    ("text", "rewritten", "expected"),
    [
        ("Oggi Mario Rossi torna", "Oggi [NOME] [NOME] torna", [("Mario", "[NOME]"), ("Rossi", "[NOME]")]),
        (
            "Oggi Mario Rossi 54 anni torna",
            "Oggi [NOME] [ETÀ] torna",
            [("Mario Rossi", "[NOME]"), ("54 anni", "[ETÀ]")],
        ),
        ("Oggi Rossi torna", "Oggi [NOME] [COGNOME] torna", [("Rossi", "[NOME]")]),
    ],
)
def test_adjacent_placeholders_stay_two(text: str, rewritten: str, expected: list[tuple[str, str]]) -> None:
    assert [(words, placeholder) for words, placeholder, *_ in found(text, rewritten)] == expected


def test_an_unclear_division_between_placeholders_is_in_doubt_until_the_model_answers() -> None:
    text, rewritten = "Oggi Anna Maria Rossi torna", "Oggi [NOME] [NOME] torna"
    assert found(text, rewritten) == [
        ("Anna", "[NOME]", [], ["Anna"]),
        ("Maria Rossi", "[NOME]", [], ["Maria Rossi"]),
    ]
    assert found(text, rewritten, ("Anna Maria", 0), ("Rossi", 1)) == [
        ("Anna Maria", "[NOME]", [], []),
        ("Rossi", "[NOME]", [], []),
    ]


def test_an_answer_never_brings_back_words_beside_supported_ones() -> None:
    """Even if the model repeats its mistake, or answers with other words."""
    text, rewritten = "Visto Mario Rossi, non diabetico, in casa", "Visto [NOME] in casa"
    for answer in ("Mario Rossi, non diabetico", "Rossi, non diabetico", "Mario Rossi"):
        for words, _placeholder, removed, unsupported in found(text, rewritten, (answer, 0)):
            assert "diabetico" not in words and removed[-1] == "non diabetico" and unsupported == []


def test_words_that_only_the_models_answer_supports_stay_in_doubt() -> None:
    text = "mario rossi, non diabetico, ha freddo"
    assert found(text, "[NOME] ha freddo", ("mario rossi", 0)) == [
        ("mario rossi", "[NOME]", ["non diabetico"], ["mario rossi"])
    ]


def test_repeated_words_that_allow_two_alignments_are_in_doubt() -> None:
    shown = found("Oggi Anna e Rita e Sara tornano", "Oggi [NOME] e [NOME] tornano")
    assert {word for words, *_ in shown for word in words.split()} >= {"Anna", "Rita", "Sara"}
    assert all(unsupported for *_, unsupported in shown)


def test_tags_of_the_note_itself_are_no_identifiers() -> None:
    text = "Vide [sic] Rossi e [NOME] in casa"
    assert found(text, "Vide [sic] [NOME] e [NOME] in casa") == [("Rossi", "[NOME]", [], [])]
    assert found(text, text) == []


NOTE = "Il sig. Mario Rossi, di 54 anni, prende 54 mg.\r\nDott.ssa Bianchi"


@pytest.mark.parametrize(
    ("rewritten", "left_out", "new"),
    [
        ("Il sig. [NOME], di [ETÀ] anni, prende 45 mg.\nDott.ssa [NOME]", 1, 1),
        ("Il sig. [NOME], di [ETÀ] anni, prende 54 mg.", 4, 0),
        ("Ecco: Il sig. [NOME], di [ETÀ] anni, prende 54 mg.\nDott.ssa [NOME]", 0, 2),
        ("", 18, 0),
    ],
)
def test_any_other_change_is_an_error_with_counts(rewritten: str, left_out: int, new: int) -> None:
    with pytest.raises(Changed) as caught:
        found(NOTE, rewritten)
    assert "rejected" in str(caught.value) and "Rossi" not in str(caught.value)
    assert f"{left_out} words or signs are missing and {new} are new" in str(caught.value)
    # A note with a changed word is still a rewritten note; nothing, or a refusal, is not.
    assert caught.value.rewritten == rewritten


def test_a_refusal_is_no_rewritten_note() -> None:
    with pytest.raises(Changed) as caught:
        found(NOTE, "Mi dispiace, non posso aiutare con questa nota.")
    assert caught.value.rewritten == ""


def test_white_space_may_differ() -> None:
    assert [words for words, *_ in found(NOTE, "Il sig. [NOME],  di [ETÀ] anni, prende 54 mg. Dott.ssa [NOME]\n")] == [
        "Mario Rossi",
        "54",
        "Bianchi",
    ]


def test_a_placeholder_cannot_swallow_the_note() -> None:
    for rewritten in ("[NOME]", "Il [NOME] Bianchi"):
        with pytest.raises(Changed):
            found(NOTE * 9, rewritten)


def test_an_answer_of_only_placeholders_fails_fast() -> None:
    with pytest.raises(Changed):
        found("parola " * 3000, "[NOME] [ETÀ] " * 3000)


@given(spanned())
def test_no_word_outside_the_gaps_becomes_part_of_an_identifier(case: tuple[str, list[Span]]) -> None:
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
    except Changed:
        return
    bounder = Bounder(text, tokens, defaultdict(lambda: FAMILIES))
    for gap in gaps:
        clear = bounder.clear(gap)
        bounds = bounder.doubtful(gap, []) if clear is None else clear
        start, end = tokens[gap.first].start, tokens[gap.past - 1].end
        assert all(start <= one.bounds[0] < one.bounds[1] <= end for one in bounds)
