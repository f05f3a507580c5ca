import copy
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.labels import CODE, LabelSetError, ascii_code, parse_label_set

DATA = {
    "key": "it-4",
    "name": "Italian, four labels",
    "description": "Two\nlines",
    "source": "A source",
    "languages": ["it", "pt-BR"],
    "categories": [
        {
            "code": "PERSON",
            "name": "Person",
            "labels": [
                {"code": "NOME", "name": "NOME", "hotkey": "o", "description": "Names", "placeholder": "[NAME]"},
                {"name": "ETÀ", "hotkey": "t"},
            ],
        },
        {"name": "Luogo e data", "labels": [{"name": "LUOGO/INDIRIZZO"}, {"code": "DATA", "name": "DATA"}]},
    ],
}


def changed(path: list, value: object) -> dict:
    data = copy.deepcopy(DATA)
    at = data
    for step in path[:-1]:
        at = at[step]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


def test_a_label_set_is_parsed_and_completed() -> None:
    label_set = parse_label_set(DATA)
    assert (label_set.key, label_set.languages) == ("it-4", ("it", "pt-BR"))
    assert [category.code for category in label_set.categories] == ["PERSON", "Luogo_e_data"]
    assert [label.code for label in label_set.labels()] == ["NOME", "ETA", "LUOGO_INDIRIZZO", "DATA"]
    assert [label.placeholder for label in label_set.labels()][:2] == ["[NAME]", "[ETÀ]"]
    assert label_set.accepted() == {
        "NOME": "NOME",
        "ETA": "ETA",
        "LUOGO_INDIRIZZO": "LUOGO_INDIRIZZO",
        "DATA": "DATA",
        "ETÀ": "ETA",
        "LUOGO/INDIRIZZO": "LUOGO_INDIRIZZO",
    }


LABEL = ["categories", 0, "labels", 1]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "key, name"),
        (changed(["key"], None), "“key”"),
        (changed(["key"], "It 4"), "a-z, 0-9"),
        (changed(["name"], "  "), "“name”"),
        (changed(["name"], 7), "“name”"),
        (changed(["name"], "a\tb"), "U+0009"),
        (changed(["colour"], "red"), "“colour”"),
        (changed(["languages"], "it"), "“languages”"),
        (changed(["languages", 0], "italian!"), "“pt-BR”"),
        (changed(["categories"], []), "at least one category"),
        (changed(["categories", 0, "labels"], []), "category 1 (Person)"),
        (
            changed(["categories", 0], "PERSON"),
            "category 1: ",
        ),
        (changed([*LABEL, "hotKey"], "x"), "category 1 (Person), label 2: "),
        (changed([*LABEL, "code"], "ET À"), "“ET À”"),
        (changed([*LABEL, "code"], "---"), "“---”"),
        (changed([*LABEL, "name"], "***"), "“***”"),
        (changed([*LABEL, "code"], "nome"), "“nome”"),
        (changed([*LABEL, "name"], "Nome"), "“Nome”"),
        (changed([*LABEL, "hotkey"], "o"), "“o”"),
        (changed([*LABEL, "hotkey"], "N"), "* / ? a e f g j k m n p u v w x"),
        (changed([*LABEL, "hotkey"], "ab"), "hotkey"),
        (changed([*LABEL, "hotkey"], "\x07"), "control character"),
        (changed(["categories", 1, "code"], "person"), "“Person” and “Luogo e data”"),
    ],
)
def test_errors(data: dict, words: str) -> None:
    with pytest.raises(LabelSetError, match=re.escape(words)):
        parse_label_set(data)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ETÀ", "ETA"),
        ("ETA\u0300", "ETA"),
        ("LUOGO/INDIRIZZO", "LUOGO_INDIRIZZO"),
        (" Straße 1 ", "Strasse_1"),
        ("Øre & Łódź", "Ore_Lodz"),
        ("ID-NUM_x", "ID-NUM_x"),
        ("Name 姓", "Name"),
        ("姓名", "U59D3_U540D"),
    ],
)
def test_ascii_code(name: str, code: str) -> None:
    assert ascii_code(name) == code


@given(st.text())
def test_a_code_fits_the_grammar(name: str) -> None:
    try:
        code = ascii_code(name)
    except ValueError:
        assert not any(ch.isascii() and ch.isalnum() for ch in name)
    else:
        assert CODE.fullmatch(code)
