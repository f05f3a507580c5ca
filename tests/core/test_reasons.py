"""Why a figure is undefined: every reason that the domain gives has its translation."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from annotations.core.templatetags.reasons import reason
from annotations.domain.agreement.bootstrap import FEW
from annotations.domain.agreement.coefficients import NO_UNITS, NOTHING_MARKED, only_one_value
from tests.languages import pseudo

FOLDER = Path(settings.BASE_DIR) / "annotations" / "domain" / "agreement"
WRITTEN = {
    said
    for file in FOLDER.glob("*.py")
    for said in re.findall(r'(?:Value\(None, |\bor |whole\.why or )"([a-z][^"]+ [^"]+)"', file.read_text())
}


@pytest.fixture(autouse=True)
def spoken(settings, monkeypatch):
    from django.utils import translation

    with pseudo(settings, monkeypatch), translation.override("en-gb"):
        yield


def test_every_reason_is_known():
    assert len(WRITTEN) >= 6
    constants = {NO_UNITS, NOTHING_MARKED, FEW.why}
    assert [said for said in WRITTEN | constants if reason(said) != f"⟦{said}⟧"] == []


def test_values_are_put_in_again():
    assert reason(only_one_value(["ΟΝΟΜΑ"])) == f"⟦{only_one_value(['ΟΝΟΜΑ'])}⟧"
    assert reason("in 1,200 of 2,000 samples of the notes it is undefined").startswith("⟦in 1,200 of 2,000 samples")


def test_another_is_left_as_it_is():
    assert reason("something else") == "something else" and reason("") == ""
