"""The form fields that several forms use."""

import pytest
from django import forms
from django.http import QueryDict

from annotations.core.forms import ConsentCheckbox, WholeField, WholesField, reasons


class _Form(forms.Form):
    count = WholeField(label="Count", least=2, most=9)
    any = WholeField(label="Any", required=False)
    several = WholesField(label="Several", required=False)
    agreed = forms.BooleanField(required=False, widget=ConsentCheckbox())


def form(query):
    return _Form(QueryDict(query))


@pytest.mark.parametrize("word", ["1", "10", "-3", "3.0", "3_0", "%2B3", "٣", "²", "x", "9" * 5000])
def test_every_invalid_number_gives_the_same_message(word):
    assert "Count: Enter a whole number from 2 to 9." in reasons(form(f"count={word}"))


def test_numbers_are_parsed_like_everywhere():
    sent = form(f"count= 7 &any={2**63 - 1}&several=1&several=2")
    assert sent.is_valid()
    assert sent.cleaned_data == {"count": 7, "any": 2**63 - 1, "several": [1, 2], "agreed": False}
    assert set(form(f"count=7&any={2**63}").errors) == {"any"} and set(form("").errors) == {"count"}


@pytest.mark.parametrize("word", ["x", "-1", "9" * 5000])
def test_one_invalid_number_refuses_the_whole_list(word):
    assert "several" in form(f"count=3&several=1&several={word}").errors


@pytest.mark.parametrize(("word", "agreed"), [("yes", True), ("no", False), ("on", False), ("true", False)])
def test_only_the_word_yes_is_a_consent(word, agreed):
    sent = form(f"count=3&agreed={word}")
    assert sent.is_valid() and sent.cleaned_data["agreed"] is agreed
