"""A vocabulary of errors: where its strings occur, and what a CSV file may hold."""

import pytest

from annotations.domain.files.csv_rows import RowError
from annotations.domain.injecting.injection import Injection, Strategy
from annotations.domain.injecting.rules import Labels, candidates
from annotations.domain.injecting.vocabulary import MOST_TERMS, Term, Vocabulary, read_terms
from annotations.domain.spans import Span

LABELS = ["CITY", "HOSPITAL", "PATIENT"]


def found(text, *terms, gold=()):
    return candidates(text, gold, Labels({}, {}), rules=[], sources=[Vocabulary("log", terms)])


def test_strings_are_marked_verbatim_as_whole_words_where_gold_has_nothing():
    text = "General care in General Hospital, generally; pleural effusion, PLEURAL, pleural."
    terms = [Term("General Hospital", "HOSPITAL"), Term("General", "CITY"), Term("pleural", "CITY", 3)]
    places = [(text[one.start : one.end], one.start, one.label) for one in found(text, *terms)]
    assert places == [
        ("General", 0, "CITY"), ("General Hospital", 16, "HOSPITAL"), ("pleural", 45, "CITY"), ("pleural", 72, "CITY"),
    ]  # fmt: skip
    gold = [Span(16, 32, "HOSPITAL"), Span(40, 52, "CITY")]
    assert [one.start for one in found(text, *terms, gold=gold)] == [0, 72]
    assert found(text, Term("pleural", "CITY"))[0] == Injection(45, 52, "CITY", "", "log", Strategy.LOG)


def test_the_most_frequent_label_of_a_string_counts():
    assert found("May", Term("May", "CITY"), Term("May", "PATIENT", 2))[0].label == "PATIENT"
    assert found("May", Term("May", "PATIENT"), Term("May", "CITY"))[0].label == "CITY"


def test_a_csv_file_is_read():
    lines = ["string;label;count;note\r\n", '"diabetes; type 2";HOSPITAL;4;x\r\n', "general;CITY;;\r\n"]
    assert read_terms(iter(lines), LABELS) == [Term("diabetes; type 2", "HOSPITAL", 4), Term("general", "CITY", 1)]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["word,label\n", "a,CITY\n"], ["“string”", "string, label"]),
        (["string,label\n", "a,CITY\n", ",CITY\n"], ["Line 3"]),
        (["string,label\n", "a\n"], ["Line 2", "“”", "CITY, HOSPITAL, PATIENT"]),
        (["string,label\n", "a,TOWN\n"], ["Line 2", "“TOWN”", "CITY, HOSPITAL, PATIENT"]),
        (["string,label\n", "a" * 201 + ",CITY\n"], ["Line 2", "201", "200"]),
        (["string,label,count\n", "a,CITY,0\n"], ["Line 2", "“0”", "1"]),
        (["string,label\n"], ["line"]),
        (["string,label\n", *["a,CITY\n"] * (MOST_TERMS + 1)], [str(MOST_TERMS + 1), str(MOST_TERMS)]),
    ],
)
def test_errors_of_a_file_say_the_line_and_what_to_do(lines, words):
    with pytest.raises(RowError) as error:
        read_terms(iter(lines), LABELS)
    assert all(word in str(error.value) for word in words)
