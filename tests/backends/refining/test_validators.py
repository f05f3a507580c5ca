"""Validators of an agent: dates, e-mail addresses, URLs and numbers, and what only looks like one."""

import pytest

from annotations.domain.spans import Span
from models_runtime.backends.refining.validators import validate


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("Admitted on 12/03/2021.", "12/03/2021", [("date", True)]),
        ("Admitted on 31/02/2021.", "31/02/2021", [("date", False)]),
        ("BP 120/80 sitting", "120/80", [("date", False)]),
        ("Blutdruck 130/85 gemessen", "130/85", [("date", False)]),
        ("write to anna.rossi@ospedale.it now", "anna.rossi@ospedale.it", [("e-mail", True)]),
        ("write to anna@ now", "anna@", [("e-mail", False)]),
        ("see https://www.ospedale.it/a?b=1 there", "https://www.ospedale.it/a?b=1", [("url", True)]),
        ("see www. there", "www.", [("url", False)]),
        ("DNI 12345678Z", "12345678Z", [("identifier", True)]),
        ("IP 192.168.0.12", "192.168.0.12", [("ip-address", True)]),
        ("Parkinson's disease", "Parkinson", [("no-identifier", False)]),
        ("the patient Anna", "Anna", []),
    ],
)
def test_checks(text, part, expected):
    start = text.index(part)
    found = validate(text, Span(start, start + len(part), "X"))
    assert [(check.name, check.fits) for check in found] == expected
    assert all(part not in check.detail for check in found)
