"""Styles of annotated notes: each span stays at its words, whatever the text."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.spans import Span
from models_runtime.backends.augmenting.edits import Edit, edited
from models_runtime.backends.augmenting.styles import (
    LANGUAGES,
    Style,
    header_end,
    in_case,
    other_names,
    styled,
    with_other_names,
    without_header,
)

HEADER = "Datos del paciente.\nNombre:  Eva.\nCP: 28013.\nMédico: Luis Otero NºCol: 28 28 7.\n"
PROSE = "Informe: " + "acude por dolor " * 6 + "a Eva.\nRemitido por: Luis Otero.\n"
NOTE = HEADER + PROSE
# Letters whose other case has another length (İ, ß, ŉ, ﬁ), a final sigma, line ends, and what headers are made of.
TEXTS = st.text(st.sampled_from("aEéİßŉﬁΣσ𐐀 \n\r:.\ufeffñ") | st.characters(exclude_categories=["Cs"]), max_size=80)


def spans_of(text: str) -> list[Span]:
    found = []
    for words in ("Eva", "28013", "Luis Otero", "28 28 7"):
        at = text.find(words)
        while at >= 0:
            found.append(Span(at, at + len(words), words))
            at = text.find(words, at + 1)
    return sorted(found)


@st.composite
def annotated(draw: st.DrawFn) -> tuple[str, list[Span]]:
    """A text with spans that may overlap, and begin and end anywhere but at white space."""
    text = draw(st.sampled_from(["", HEADER, "Nombre: İß\r\nCP: 1\r\n"])) + draw(TEXTS)
    places = [at for at, letter in enumerate(text) if letter.isalnum()]
    ends = draw(st.lists(st.tuples(st.sampled_from(places), st.sampled_from(places)), max_size=5)) if places else []
    return text, sorted({Span(min(pair), max(pair) + 1, "L") for pair in ends})


def words(note: tuple[str, list[Span]]) -> list[str]:
    return [note[0][span.start : span.end] for span in note[1]]


def test_without_header_only_the_prose_and_its_spans_stay() -> None:
    assert without_header(NOTE, spans_of(NOTE)) == (PROSE, spans_of(PROSE))


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (NOTE, len(HEADER)),
        (
            "\ufeff\r\nWARD 7\r\nName: A\r\nDOB: 1\r\n\r\nShe came.\r\n",
            len("\ufeff\r\nWARD 7\r\nName: A\r\nDOB: 1\r\n"),
        ),
        ("Name: A\rDOB: 1\rShe came.", len("Name: A\rDOB: 1\r")),
        (PROSE, 0),  # no fields before the prose
        ("Motivo de ingreso: dolor.\n" + PROSE, 0),  # one line is a heading
        (HEADER, 0),  # nothing else
        ("", 0),
        ("Visto alle 10:30\nRivisto alle 11:30\n" + PROSE, 0),  # times are no fields
    ],
)
def test_where_the_header_ends(text: str, end: int) -> None:
    assert header_end(text) == end


def test_other_names_of_fields() -> None:
    text, spans = with_other_names(NOTE, spans_of(NOTE), "es")
    assert text.startswith(
        "Filiación.\nNombre de pila:  Eva.\nCÓDIGO POSTAL: 28013.\nFacultativo: Luis Otero Colegiado: "
    )
    assert text.endswith("a Eva.\nEnviado por: Luis Otero.\n")
    assert spans == spans_of(text) and len(spans) == len(spans_of(NOTE))


def test_names_within_prose_and_spans_stay() -> None:
    text = PROSE + "Al final, edad: 3. Edad: 4\n"
    assert with_other_names(text, [], "es").text == text.replace("Remitido", "Enviado")
    name = Span(0, 6, "L")
    assert with_other_names("Nombre: x\nEdad: 4\n" + PROSE, [name], "es").text.startswith("Nombre: x\nAños: 4\n")


def test_a_seed_chooses_among_names_and_other_languages_keep_theirs() -> None:
    found = {
        with_other_names("Name: A\nAge: 3\nShe came.", [], "en-GB", random.Random(seed)).text for seed in range(20)
    }
    assert len(found) == 4
    assert with_other_names(NOTE, [], "de").text == NOTE


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_names_are_other_ones(language: str) -> None:
    names = other_names(language)
    assert len(names) > 15
    for name, others in names.items():
        assert name == name.lower() and others and name not in map(str.lower, others)


def test_lengths_that_change_with_the_case() -> None:
    text = "İ İvan ß Straße"
    lower, upper = (in_case(text, [Span(2, 6, "A"), Span(9, 15, "B")], upper=upper) for upper in (False, True))
    assert lower.text == text.lower() and words(lower) == ["i̇van", "straße"]
    assert upper.text == text.upper() and words(upper) == ["İVAN", "STRASSE"]


@given(annotated())
def test_spans_keep_their_words_in_each_case(note: tuple[str, list[Span]]) -> None:
    text, spans = note
    for style, change in ((Style.LOWER, str.lower), (Style.UPPER, str.upper)):
        changed = styled(style, text, spans)
        assert changed.text == change(text)
        # Only in context does a final Σ become ς.
        assert [found.replace("ς", "σ") for found in words(changed)] == [
            change(old).strip().replace("ς", "σ") for old in words(note)
        ]


@given(annotated(), st.sampled_from(LANGUAGES))
def test_spans_keep_their_words_under_other_names(note: tuple[str, list[Span]], language: str) -> None:
    assert words(styled(Style.RENAMED, *note, language)) == words(note)


@given(annotated())
def test_without_header_each_span_after_it_keeps_its_words(note: tuple[str, list[Span]]) -> None:
    text, spans = note
    end, changed = header_end(text), styled(Style.WITHOUT_HEADER, text, spans)
    assert changed.text == text[end:] and len(changed.spans) == sum(span.end > end for span in spans)
    assert [Span(span.start + end, span.end + end, "L") for span in changed.spans if span.start] == [
        span for span in spans if span.start > end
    ]


def test_edits_that_touch_and_cross_spans() -> None:
    text, spans = "ab cd ef", [Span(0, 2, "A"), Span(1, 5, "B"), Span(3, 5, "C"), Span(6, 8, "D")]
    assert edited(text, spans, [Edit(3, 5, "xyz")]) == (
        "ab xyz ef", [Span(0, 2, "A"), Span(1, 6, "B"), Span(3, 6, "C"), Span(7, 9, "D")],
    )  # fmt: skip
    assert edited(text, spans, [Edit(1, 4, "")]) == (
        "ad ef",
        [Span(0, 1, "A"), Span(1, 2, "B"), Span(1, 2, "C"), Span(3, 5, "D")],
    )
    assert edited(text, spans, []) == (text, sorted(spans))
    assert edited(text, spans[:1], [Edit(0, 2, " ")]) == ("  cd ef", [])
