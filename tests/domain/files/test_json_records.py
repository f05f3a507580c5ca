import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.files.json_records import json_items, json_records
from annotations.domain.files.strict_json import JsonError
from tests.domain.strategies import texts

LONG = "x" * 300_000 + "é"


def read(data: bytes) -> list[tuple[int, object]]:
    """The records with their lines; an error is given as its message."""
    return [
        (line, str(value) if isinstance(value, JsonError) else value) for line, value in json_records(io.BytesIO(data))
    ]


@pytest.mark.parametrize(
    ("data", "records"),
    [
        (b'{"a": 1}\n{"a": 2}\r\n\n{"a": 3}', [(1, {"a": 1}), (2, {"a": 2}), (4, {"a": 3})]),
        (b'\xef\xbb\xbf{"a": 1}\n', [(1, {"a": 1})]),
        (b'[{"a": 1},\n{"a": 2}\n,3]', [(1, {"a": 1}), (2, {"a": 2}), (3, 3)]),
        (b'\xef\xbb\xbf [\n {"a":\n 1}]\n', [(2, {"a": 1})]),
        (b'{\n"a": 1\n}\n{\n"a": 2\n}\n', [(1, {"a": 1}), (4, {"a": 2})]),
        (b"[]", []),
        (b" [ ] \n", []),
        (b"", []),
        (b"\n \n", []),
    ],
)
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


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b'{"a": 1, "a": 2}', "names a field twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": 1e999}', "out of range"),
        (b'{"a": 99999999999999999999}', "out of range"),
        (b'{"a": "\\u0000"}', "can't be stored"),
        (b'{"a": "x\\ud800"}', "can't be stored"),
        (b'{"\\udc00": "\\ud83d\\ude00"}', "can't be stored"),
        (b'{"a": "\xff"}', "not UTF-8"),
    ],
)
def test_the_values_after_an_invalid_one_are_read(bad: bytes, why: str) -> None:
    for data in (b'{"a": 1}\n' + bad + b'\n{"a": 3}', b'[{"a": 1},\n' + bad + b',\n{"a": 3}]'):
        (first, second, third) = read(data)
        assert (first, third) == ((1, {"a": 1}), (3, {"a": 3}))
        assert second[0] == 2 and why in str(second[1])


def test_escapes_that_are_not_surrogates() -> None:
    value = ["\\ud800", "\\u0000", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")]
    assert read(json.dumps(value).encode()) == [(1, each) for each in value]


@pytest.mark.parametrize("bad", [b'{"a": x}', b'{"a": 1', b'{"a" 1}', b'{"a": "x', b"{'a': 1}", b'{"a": "\t"}'])
def test_a_broken_line_does_not_hide_the_next(bad: bytes) -> None:
    assert [line for line, _ in read(b'{"a": 1}\n' + bad + b'\n{"a": 3}')] == [1, 2, 3]
    assert [line for line, _ in read(bad + b'\n{"a": 3}')] == [1, 2]


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b'[{"a": 1},\n{"a": x}, {"a": 1}]', 2, "expecting value"),
        (b'[{"a": 1},\n{"a": 1} {"a": 1}]', 2, "expected"),
        (b'[{"a": 1},\n{"a": 1', 2, "expecting"),
        (b'[{"a": 1}\n', 2, "expected"),
        (b'[{"a": 1},\n]', 2, "expecting value"),
        (b'[{"a": 1}]\n{}', 2, "after the last record"),
        (b'[{"a": 1},\n' + b"[" * 100_000, 2, "too many levels"),
    ],
)
def test_a_broken_array_ends_with_an_error(data: bytes, line: int, why: str) -> None:
    first, *_, last = read(data)
    assert first == (1, {"a": 1})
    assert last[0] == line and why in str(last[1])


def items(data: bytes) -> list[tuple[int, object]]:
    """The items of the arrays “a” and “b” with their lines; an error is given as its message."""
    return [
        (line, str(value) if isinstance(value, JsonError) else value)
        for line, value in json_items(io.BytesIO(data), ("a", "b"))
    ]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"x": [9], "a": [1,\n{"a": [2]}], "b": 3, "y": {"a": [4]}}', [(1, 1), (2, {"a": [2]})]),
        (b'{"a": [], "b": [5]}\n{"c": {}}\n{"a": [6]}', [(1, 5), (3, 6)]),
        (b"", []),
        (b"{}", []),
    ],
)
def test_items_of_named_arrays(data: bytes, found: list[tuple[int, object]]) -> None:
    assert items(data) == found


@pytest.mark.parametrize(
    ("data", "read", "line", "fault"),
    [
        (b'{"a": [1],\n"a": [2]}', 1, 2, "same name"),
        (b'{"a": [1]\n"b": [2]}', 1, 2, "after a field"),
        (b'{"a" [1]}', 0, 1, "expected “:”"),
        (b"{1: [1]}", 0, 1, "no name"),
        (b'{"a": [1],', 1, 1, "not valid JSON"),
        (b'{"a": [1}', 1, 1, "after a record"),
        (b'{"x": NaN, "a": [1]}', 0, 1, "NaN"),
        (b'{"a": [1]} 7', 1, 1, "expected “{”"),
    ],
)
def test_faults_around_named_arrays(data: bytes, read: int, line: int, fault: str) -> None:
    *before, last = items(data)
    assert len(before) == read
    assert last[0] == line
    assert fault in str(last[1])


def test_a_fault_of_an_item_does_not_lose_the_others() -> None:
    found = items(b'{"a": [1, {"x": 1, "x": 2}, 3]}')
    assert [value for _, value in found if isinstance(value, int)] == [1, 3]
    assert len(found) == 3
