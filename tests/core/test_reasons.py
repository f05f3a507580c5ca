"""Reasons for undefined figures: every reason of the domain can be translated."""

import re

import pytest

from annotations.agreement.rules.bootstrap import FEW
from annotations.agreement.rules.coefficients import NO_UNITS, NOTHING_MARKED, only_one_value
from annotations.core.templatetags.reasons import reason
from annotations.installation import CODE
from tests.languages import bracket_marked_texts

FOLDER = CODE / "annotations" / "agreement" / "rules"
WRITTEN = {
    text
    for file in FOLDER.glob("*.py")
    for text in re.findall(r'(?:Value\(None, |\bor |whole\.why or )"([A-Z][^"]+ [^"]+)"', file.read_text())
}


@pytest.fixture(autouse=True)
def bracketed(monkeypatch):
    bracket_marked_texts(monkeypatch)


def test_every_reason_is_known():
    assert len(WRITTEN) >= 6
    constants = {NO_UNITS, NOTHING_MARKED, FEW.why}
    assert [text for text in WRITTEN | constants if reason(text) != f"⟦{text}⟧"] == []


def test_values_are_kept_and_an_unknown_reason_is_left_unchanged():
    assert reason(only_one_value(["ΟΝΟΜΑ"])) == f"⟦{only_one_value(['ΟΝΟΜΑ'])}⟧"
    assert reason("The figure is undefined in 1,200 of 2,000 samples of the notes.").startswith("⟦The figure")
    assert reason("something else") == "something else" and reason("") == ""
