import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.files.json_records import json_records
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
            texts() | st.integers(-(2**63), 2**63 - 1), lambda below: st.lists(below) | st.dictionaries(texts(3), below)
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
