import json

import pytest

from annotations.domain.files.strict_json import DEEPEST, JsonError, read_json, read_object


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": [1, -1, 0, 1.5, True, None, "Größe 😀 \u202e"]},
        {"a": -(2**63), "b": 2**63 - 1},
        {"": {"a": [{"b": []}]}},
    ],
)
def test_valid_json_is_parsed_unchanged(value):
    assert read_object(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        ("{}".encode("utf-16"), "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"a":' * 100_000, "not valid JSON"),
        (b"[" * 20 + b"]" * 20, "levels"),
        (b"[]", "object"),
        (b"1", "object"),
        (b'{"a": 1, "a": 1}', "twice"),
        (b'{"b": {"a": 1, "a": 2}}', "twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1e999}', "range"),
        (b'{"a": 9223372036854775808}', "range"),
        (b'{"a": -9223372036854775809}', "range"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "range"),
        (b'{"a": "\\u0000"}', "stored"),
        (b'{"a": "\\ud800"}', "stored"),
        (b'{"\\udfff": 1}', "stored"),
        (b'{"a": [{"b": "\\ud800"}]}', "stored"),
    ],
)
def test_errors_don_t_quote_the_input(data, why):
    with pytest.raises(JsonError, match=why) as caught:
        read_object(data)
    assert len(str(caught.value)) < 100


def test_the_deepest_allowed_nesting():
    assert read_json(b"[" * (DEEPEST - 1) + b"1" + b"]" * (DEEPEST - 1))
