"""A vocabulary of errors: where its strings occur, and what a CSV file may hold."""

import itertools

import pytest

from annotations.formats.files.csv_files import RowError
from annotations.text.spans import Span
from models_runtime.refining.rules.injection import MOST_TERMS, Injection, Strategy, Term, Vocabulary, read_terms
from models_runtime.refining.rules.rules import Labels, candidates
from models_runtime.refining.rules.systemic import Space, Systemic, clusters, examples_in

LABELS = ["CITY", "HOSPITAL", "PATIENT"]


def found(text, *terms, gold=()):
    return candidates(text, gold, Labels({}, {}), rules=[], sources=[Vocabulary("log", terms)])


def test_strings_are_marked_verbatim_as_whole_words_where_gold_has_nothing():
    text = "General care in General Hospital, generally; pleural effusion, PLEURAL, pleural."
    terms = [Term("General Hospital", "HOSPITAL"), Term("General", "CITY"), Term("pleural", "CITY", 3)]
    marked = [(one.start, one.end, one.label) for one in found(text, *terms)]
    assert marked == [(0, 7, "CITY"), (16, 32, "HOSPITAL"), (45, 52, "CITY"), (72, 79, "CITY")]
    gold = [Span(16, 32, "HOSPITAL"), Span(40, 52, "CITY")]
    assert [one.start for one in found(text, *terms, gold=gold)] == [0, 72]
    assert found(text, Term("pleural", "CITY"))[0] == Injection(45, 52, "CITY", "", "log", Strategy.LOG)
    # The most frequent label of a string counts.
    assert found("May", Term("May", "CITY"), Term("May", "PATIENT", 2))[0].label == "PATIENT"
    assert found("May", Term("May", "PATIENT"), Term("May", "CITY"))[0].label == "CITY"
    lines = ["string;label;count;note\r\n", '"diabetes; type 2";HOSPITAL;4;x\r\n', "general;CITY;;\r\n"]
    assert read_terms(iter(lines), LABELS) == [Term("diabetes; type 2", "HOSPITAL", 4), Term("general", "CITY", 1)]


INVALID_FILES = [
    (["word,label\n", "a,CITY\n"], ["“string”", "string, label"]),
    (["string,label\n", "a,CITY\n", ",CITY\n"], ["Line 3"]),
    (["string,label\n", "a\n"], ["Line 2", "“”", "CITY, HOSPITAL, PATIENT"]),
    (["string,label\n", "a,TOWN\n"], ["Line 2", "“TOWN”", "CITY, HOSPITAL, PATIENT"]),
    (["string,label\n", "a" * 201 + ",CITY\n"], ["Line 2", "201", "200"]),
    (["string,label,count\n", "a,CITY,0\n"], ["Line 2", "“0”", "1"]),
    (["string,label\n"], ["line"]),
    (["string,label\n", *["a,CITY\n"] * (MOST_TERMS + 1)], [str(MOST_TERMS + 1), str(MOST_TERMS)]),
]


@pytest.mark.parametrize(("lines", "words"), INVALID_FILES)
def test_errors_of_a_file_say_the_line_and_what_to_do(lines, words):
    with pytest.raises(RowError) as error:
        read_terms(iter(lines), LABELS)
    assert all(word in str(error.value) for word in words)


# ── Clusters of rejected annotations, and places that are like those of a cluster ────────────────────────────────────


CLUBS = ["Real Betis", "Real Oviedo", "Celta Vigo", "Real Murcia", "Racing Ferrol", "Celta Lugo"]
DRUGS = ["omeprazol", "paracetamol", "ibuprofeno", "metamizol", "lansoprazol", "pantoprazol"]


def rejected():
    """Clubs as CITY, and drugs as CITY and as PATIENT, each in a sentence of its own note."""
    examples = []
    for note, (string, label) in enumerate(
        [*((club, "CITY") for club in CLUBS), *((drug, "CITY") for drug in DRUGS), ("omeprazol", "PATIENT")], 1
    ):
        text = f"Socio del club de fútbol {string} desde niño." if string in CLUBS else f"Toma {string} 20 mg al día."
        start = text.index(string)
        examples += examples_in(note, text, [(start, start + len(string), label)])
    return examples


def test_similar_annotations_of_a_label_are_together():
    found = clusters(rejected(), 7)
    assert {(one.label, frozenset(string for string, _count in one.strings)) for one in found} == {
        ("CITY", frozenset(CLUBS)), ("CITY", frozenset(DRUGS))
    }  # fmt: skip
    words = {frozenset(one.words) for one in found if one.examples[0].string in CLUBS}
    assert words == {frozenset({"club", "de", "del", "desde", "fútbol", "niño"})}


def test_the_same_seed_gives_the_same_clusters_in_any_order():
    rows = rejected()
    first = [(one.key, one.examples, one.words) for one in clusters(rows, 7)]
    assert first == [(one.key, one.examples, one.words) for one in clusters(rows[::-1], 7)]
    assert clusters([], 7) == [] == clusters(rows[:1], 7)
    # Words around stay on the line.
    text = "uno dos\ntres Torino, 3 cuatro cinco seis siete ocho\nnueve"
    (one,) = examples_in(1, text, [(13, 19, "CITY")])
    assert one.context == ("tres", "cuatro", "cinco", "seis", "siete")


def places(text, gold=()):
    rows = rejected()
    clubs = next(one for one in clusters(rows, 7) if one.examples[0].string in CLUBS)
    source = Systemic("clubs", clubs.examples, Space(rows))
    assert source.notes == set(range(1, len(CLUBS) + 1))
    return candidates(text, gold, Labels({}, {}), rules=[], sources=[source])


def test_new_strings_in_similar_sentences_are_like_them():
    text = "Mujer de Torrelavega Cantabria.\nSocia del club de fútbol Atlético Burgos desde niña. Toma amoxicilina."
    (one,) = places(text)
    assert (text[one.start : one.end], one.label, one.was) == ("Atlético Burgos", "CITY", "")
    assert (one.rule, one.strategy) == ("systemic:clubs", Strategy.SYSTEMIC)
    assert places(text, [Span(one.start, one.start + 8, "CITY")]) == []
    assert places("Vive en Puerto Rico desde 2010.\nAcude al Centro Galego.") == []


def test_the_same_string_is_like_them_anywhere_and_no_two_overlap():
    text = "Ayer vio al Real Betis.\nNada más. Club de fútbol Real Betis Real Oviedo."
    found = places(text)
    assert [text[one.start : one.end] for one in found].count("Real Betis") == 2
    assert [one.label for one in found] == ["CITY"] * len(found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
