import json

import pytest

from annotations.domain.strict_json import DEEPEST, JsonError, read_json, read_object


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": [1, -1, 0, 1.5, True, None, "Größe 😀 \u202e"]},
        {"a": -(2**63), "b": 2**63 - 1},
        {"": {"a": [{"b": []}]}},
    ],
)
def test_what_is_in_order_is_read_as_it_is(value):
    assert read_object(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        ("{}".encode("utf-16"), "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"a":' * 100_000, "no JSON"),
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
        (b'{"a": "\\u0000"}', "kept"),
        (b'{"a": "\\ud800"}', "kept"),
        (b'{"\\udfff": 1}', "kept"),
        (b'{"a": [{"b": "\\ud800"}]}', "kept"),
    ],
)
def test_what_is_not_is_refused_in_words_that_quote_nothing(data, why):
    with pytest.raises(JsonError, match=why) as caught:
        read_object(data)
    assert len(str(caught.value)) < 100


def test_the_deepest_that_is_taken():
    assert read_json(b"[" * (DEEPEST - 1) + b"1" + b"]" * (DEEPEST - 1))
