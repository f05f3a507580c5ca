"""Addresses that can't be surrogates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.surrogates.checking import unreserved
from tests.domain.surrogates.worlds import replaced

TEXTS = [
    ("write to kevin.chang@example.org or k@mail.example.com", []),
    ("see https://www.example.net/a and www.example.org", []),
    ("write to ann.lee@gmail.com.", ["ann.lee@gmail.com"]),
    ("ann@notexample.org, x@example.org.uk", ["ann@notexample.org", "x@example.org.uk"]),  # only look reserved
    ("http://www.unizar.es/x and WWW.NHS.UK", ["http://www.unizar.es", "WWW.NHS.UK"]),
    ("a dose of 3 mg @ 10:00", []),
]


@pytest.mark.parametrize(("text", "found"), TEXTS)
def test_addresses(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in unreserved(text)] == found


def test_surrogates_of_addresses_are_reserved() -> None:
    note = "[email:ann.lee@gmail.com] [email:X@hospital.madrid.org] [url:http://www.unizar.es/a/b] [url:nhs.uk]"
    assert unreserved(" ".join(new for _old, new in replaced(note))) == []


@given(st.text(max_size=200))
def test_any_text_is_checked(text: str) -> None:
    assert all(0 <= start < end <= len(text) for start, end in unreserved(text))
