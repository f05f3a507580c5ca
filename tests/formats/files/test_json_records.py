import csv
import io
import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.formats.files.csv_files import csv_line
from annotations.formats.files.json_files import DEEPEST, JsonError, json_items, json_records, read_json, read_object
from tests.text.strategies import texts

LONG = "x" * 300_000 + "é"


def read(data: bytes, *arrays: str) -> list[tuple[int, object]]:
    """The records, or the items of these arrays, with their lines; an error is given as its message."""
    found = json_items(io.BytesIO(data), arrays) if arrays else json_records(io.BytesIO(data))
    return [(line, str(value) if isinstance(value, JsonError) else value) for line, value in found]


VALUES = [
    (b'{"a": 1}\n{"a": 2}\r\n\n{"a": 3}', [(1, {"a": 1}), (2, {"a": 2}), (4, {"a": 3})]),
    (b'\xef\xbb\xbf{"a": 1}\n', [(1, {"a": 1})]),
    (b'[{"a": 1},\n{"a": 2}\n,3]', [(1, {"a": 1}), (2, {"a": 2}), (3, 3)]),
    (b'\xef\xbb\xbf [\n {"a":\n 1}]\n', [(2, {"a": 1})]),
    (b'{\n"a": 1\n}\n{\n"a": 2\n}\n', [(1, {"a": 1}), (4, {"a": 2})]), (b"[]", []), (b" [ ] \n", []), (b"", []),
    (b"\n \n", []),
]  # fmt: skip


@pytest.mark.parametrize(("data", "records"), VALUES)
def test_values_and_their_lines(data: bytes, records: list[tuple[int, object]]) -> None:
    assert read(data) == records


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("ascii", [True, False])
def test_values_longer_than_the_window(indent: int | None, ascii: bool) -> None:
    value = [{"text": LONG, "number": number} for number in range(3)]
    data = json.dumps(value, indent=indent, ensure_ascii=ascii).encode()
    assert [found for _, found in read(data)] == value


@given(
    st.lists(
        st.recursive(
            texts() | st.integers(-(2**63), 2**63 - 1),
            lambda below: st.lists(below) | st.dictionaries(texts(3), below),
            max_leaves=8,
        )
    )
)
def test_arrays_as_the_standard_library_reads_them(value: list[object]) -> None:
    for indent in (None, 2):
        assert [found for _, found in read(json.dumps(value, indent=indent).encode())] == value
    # Escapes that are not surrogates
    strings = ["\\ud800", "\\u0000", "\U0001f600"]
    assert read(json.dumps(strings).encode()) == [(1, each) for each in strings]


INVALID_VALUES = [
    (b'{"a": 1, "a": 2}', "names a field twice"), (b'{"a": NaN}', "NaN"), (b'{"a": 1e999}', "out of range"),
    (b'{"a": 99999999999999999999}', "out of range"), (b'{"a": "\\u0000"}', "can't be stored"),
    (b'{"a": "x\\ud800"}', "can't be stored"), (b'{"\\udc00": "\\ud83d\\ude00"}', "can't be stored"),
    (b'{"a": "\xff"}', "not UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "why"), INVALID_VALUES)
def test_the_values_after_an_invalid_one_are_read(bad: bytes, why: str) -> None:
    for data in (b'{"a": 1}\n' + bad + b'\n{"a": 3}', b'[{"a": 1},\n' + bad + b',\n{"a": 3}]'):
        (first, second, third) = read(data)
        assert (first, third) == ((1, {"a": 1}), (3, {"a": 3})) and second[0] == 2 and why in str(second[1])


@pytest.mark.parametrize("bad", [b'{"a": x}', b'{"a": 1', b'{"a" 1}', b'{"a": "x', b"{'a': 1}", b'{"a": "\t"}'])
def test_a_broken_line_does_not_hide_the_next(bad: bytes) -> None:
    assert [line for line, _ in read(b'{"a": 1}\n' + bad + b'\n{"a": 3}')] == [1, 2, 3]
    assert [line for line, _ in read(bad + b'\n{"a": 3}')] == [1, 2]


BROKEN_ARRAYS = [
    (b'[{"a": 1},\n{"a": x}, {"a": 1}]', 2, "expecting value"), (b'[{"a": 1},\n{"a": 1} {"a": 1}]', 2, "expected"),
    (b'[{"a": 1},\n{"a": 1', 2, "expecting"), (b'[{"a": 1}\n', 2, "expected"),
    (b'[{"a": 1},\n]', 2, "expecting value"), (b'[{"a": 1}]\n{}', 2, "after the last record"),
    (b'[{"a": 1},\n' + b"[" * 100_000, 2, "too many levels"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "line", "why"), BROKEN_ARRAYS)
def test_a_broken_array_ends_with_an_error(data: bytes, line: int, why: str) -> None:
    first, *_, last = read(data)
    assert first == (1, {"a": 1}) and last[0] == line and why in str(last[1])


NAMED_ARRAYS = [
    (b'{"x": [9], "a": [1,\n{"a": [2]}], "b": 3, "y": {"a": [4]}}', [(1, 1), (2, {"a": [2]})]),
    (b'{"a": [], "b": [5]}\n{"c": {}}\n{"a": [6]}', [(1, 5), (3, 6)]), (b"", []), (b"{}", []),
]  # fmt: skip


@pytest.mark.parametrize(("data", "found"), NAMED_ARRAYS)
def test_items_of_named_arrays(data: bytes, found: list[tuple[int, object]]) -> None:
    assert read(data, "a", "b") == found


FAULTS = [
    (b'{"a": [1],\n"a": [2]}', 1, 2, "same name"), (b'{"a": [1]\n"b": [2]}', 1, 2, "after a field"),
    (b'{"a" [1]}', 0, 1, "expected “:”"), (b"{1: [1]}", 0, 1, "no name"), (b'{"a": [1],', 1, 1, "not valid JSON"),
    (b'{"a": [1}', 1, 1, "after a record"), (b'{"x": NaN, "a": [1]}', 0, 1, "NaN"),
    (b'{"a": [1]} 7', 1, 1, "expected “{”"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "whole", "line", "fault"), FAULTS)
def test_faults_around_named_arrays(data: bytes, whole: int, line: int, fault: str) -> None:
    *before, last = read(data, "a", "b")
    assert (len(before), last[0], fault in str(last[1])) == (whole, line, True)


def test_a_fault_of_an_item_does_not_lose_the_others() -> None:
    found = [value for _, value in read(b'{"a": [1, {"x": 1, "x": 2}, 3]}', "a", "b")]
    assert (found[0], type(found[1]), found[2:]) == (1, str, [3])


# ── Strict json ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_valid_json_is_parsed_unchanged():
    values = [{}, {"a": [1, -1, 0, 1.5, True, None, "Größe 😀 \u202e"]}, {"a": -(2**63), "b": 2**63 - 1}]
    for value in (*values, {"": {"a": [{"b": []}]}}):
        assert read_object(json.dumps(value).encode()) == value
    assert read_json(b"[" * (DEEPEST - 1) + b"1" + b"]" * (DEEPEST - 1))


INVALID_OBJECTS = [
    (b"", "not valid JSON"), (b"{", "not valid JSON"), (b"\xff", "not valid JSON"),
    ("{}".encode("utf-16"), "not valid JSON"), (b"[" * 100_000, "not valid JSON"),
    (b'{"a":' * 100_000, "not valid JSON"), (b"[" * 20 + b"]" * 20, "levels"), (b"[]", "object"), (b"1", "object"),
    (b'{"a": 1, "a": 1}', "twice"), (b'{"b": {"a": 1, "a": 2}}', "twice"), (b'{"a": NaN}', "NaN"),
    (b'{"a": -Infinity}', "Infinity"), (b'{"a": 1e999}', "range"), (b'{"a": 9223372036854775808}', "range"),
    (b'{"a": -9223372036854775809}', "range"), (b'{"a": ' + b"9" * 5_000 + b"}", "range"),
    (b'{"a": "\\u0000"}', "stored"), (b'{"a": "\\ud800"}', "stored"), (b'{"\\udfff": 1}', "stored"),
    (b'{"a": [{"b": "\\ud800"}]}', "stored"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "why"), INVALID_OBJECTS)
def test_errors_don_t_quote_the_input(data, why):
    with pytest.raises(JsonError, match=why) as caught:
        read_object(data)
    assert len(str(caught.value)) < 100


# ── Lines of CSV, in which no cell is a formula ──


SIGNS = "=+-@＝＋－＠"


def cells(line, delimiter=","):
    return next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))


def test_every_cell_is_quoted_and_the_line_ends_with_crlf():
    assert csv_line(["a", 1, None, -0.5, [[1, 2, "X"]], []]) == '"a","1","","-0.5","[[1, 2, ""X""]]",""\r\n'


PLAIN = ["caso-001", "a=b", "x@example.org", "a, b", "1-2", "Größe; klein", "a\nb", '"x"', "a - b"]


@pytest.mark.parametrize("word", PLAIN)
def test_plain_words_come_back_as_they_were(word):
    assert cells(csv_line([word])) == [word]


def test_no_cell_starts_like_a_formula():
    """Whatever character a spreadsheet takes for the delimiter, and whether or not it understands quotes."""
    places = ["", "x;", "x; ", "x,", "x\t", "x|", "x\n", "x\r\n", 'x;"', "\t", "\r", " ", "x;;"]
    for before, sign, delimiter in product(places, SIGNS, ",;\t|"):
        line = csv_line(["first", f"{before}{sign}1+1", "last"])
        rows = list(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))
        bare = [cell for part in line.splitlines() for cell in part.split(delimiter)]
        for cell in [*(cell for row in rows for cell in row), *bare]:
            assert not cell.strip(' \t\r\n"').startswith(tuple(SIGNS)), (cell, line)
