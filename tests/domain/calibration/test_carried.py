"""Calibrations as text: everything that counts is kept, and nothing else is accepted."""

import json
from dataclasses import replace
from functools import cache

import pytest

from annotations.domain.calibration import BadCalibration, Carried, Curves, Outcomes, as_text, fitted, from_text

LABELS = ["CITY", "DOCTOR", "PATIENT"]


@cache
def curves_of(*labels):
    outcomes, added = Outcomes(), Outcomes()
    for at, label in enumerate(labels):
        for number in range(60):
            confidence = 0.5 + (number % 50) / 100
            outcomes.add(label, confidence, right=number % (3 + at % 5) > 0, fold=number % 5)
            added.add(label, confidence, right=number % 2 > 0, fold=number % 5)
    return fitted(outcomes, added)


def calibration(labels=LABELS, revision="1-abc"):
    made = curves_of(*labels)
    return Carried(
        revision=revision, held_out=True, gold_number=3, gold_hash="f" * 64, notes=12, own_spans=0,
        left_out={"test": 4}, curves=made.curves.as_dict(), figures=made.figures(),
    )  # fmt: skip


def close(figures):
    return {name: pytest.approx(value, abs=1e-4) for name, value in figures.items() if name != "groups"}


def test_a_calibration_is_read_as_it_was_written():
    one = calibration()
    (read,) = from_text(as_text([one], longest=65_000))
    assert replace(read, figures={}) == replace(one, figures={}), "curves are the same to the last digit"
    assert Curves.from_dict(read.curves)("CITY", 0.77) == Curves.from_dict(one.curves)("CITY", 0.77)
    for name in ("before", "after"):
        found, wanted = read.figures[name], one.figures[name]
        assert {key: value for key, value in found.items() if key != "groups"} == close(wanted)
        assert found["groups"] == [pytest.approx(group, abs=1e-4) for group in wanted["groups"]]
    assert [line["label"] for line in read.figures["labels"]] == LABELS


def test_what_does_not_fit_is_left_out_figures_by_label_first():
    many = [calibration([f"LABEL-{number}" for number in range(60)], f"revision-{n}") for n in range(2)]
    whole = as_text(many, longest=10**6)
    assert [len(one.figures["labels"]) for one in from_text(whole)] == [60, 60]
    shorter = as_text(many, longest=len(whole) - 1)
    assert [len(one.figures["labels"]) for one in from_text(shorter)] == [60, 0]
    bare = as_text(many, longest=8_000)
    assert len(bare) <= 8_000 and [len(one.figures["labels"]) for one in from_text(bare)] == [0]
    assert len(from_text(bare)[0].curves["labels"]) == 60


def changed(path, value):
    data = json.loads(as_text([calibration()], longest=65_000))
    at = data[0]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["revision"], ""),
        (["revision"], "x\u202ey"),
        (["revision"], "x" * 121),
        (["held_out"], 1),
        (["gold_number"], -1),
        (["gold_number"], "1"),
        (["notes"], 10**9),
        (["notes"], True),
        (["left_out"], []),
        (["curves", "method"], "other"),
        (["curves", "pool"], [1, 1]),
        (["curves", "pool"], [-0.1, 1, 0]),
        (["curves", "pool"], [1, 1, 1e7]),
        (["curves", "labels", "CITY"], [1, "1", 0]),
        (["curves", "labels"], {"a\u0007": [1, 1, 0]}),
        (["curves", "labels"], []),
        (["curves", "labels"], "ab"),
        (["curves", "labels"], None),
        (["curves", "labels"], {f"L{n}": [1, 1, 0] for n in range(501)}),
        (["curves", "labels", "CITY"], {"1": 1, "2": 1, "3": 1}),
        (["curves", "added"], "abc"),
        (["curves"], []),
        (["curves"], "beta-1"),
        (["figures"], []),
        (["figures", "labels"], ["ab"]),
        (["figures", "labels"], [["label"]]),
        (["figures", "labels"], "ab"),
        (["figures", "before"], {"0": 1, "1": 1, "2": 1}),
        (["figures", "before"], [0.1, 0.1, {"abc": 1}]),
        (["figures", "before"], [0.1, 0.1, ["abc"]]),
        (["figures", "labels"], {}),
        (["figures", "before"], [0.1, 0.1, []]),
        (["figures", "before"], [0.1, 1.1, [[0.5, 4, 2]]]),
        (["figures", "before"], [0.1, 0.1, [[0.5, 4, 5]]]),
        (["figures", "before"], [0.1, 0.1, [[0.5, 4, 2]] * 12]),
    ],
)
def test_anything_else_is_refused(path, value):
    with pytest.raises(BadCalibration):
        from_text(changed(path, value))


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"[1]", b"[{}]", b"\xff", b"[NaN]", b"[" * 100_000])
def test_no_calibrations_at_all_are_refused(text):
    with pytest.raises(BadCalibration):
        from_text(text)


def test_nothing_is_written_that_would_be_refused():
    small = calibration(revision="small")
    many = Curves.from_dict({"pool": [1, 1, 0], "labels": {f"L{n}": [1, 1, 0] for n in range(501)}})
    wide = replace(calibration(), curves=many.as_dict())
    assert [one.revision for one in from_text(as_text([wide, small], longest=10**6))] == ["small"]
    assert [as_text([wide], longest=10**6), as_text([small], longest=100), as_text([], longest=99)] == [b""] * 3
    line = small.figures["labels"][0]
    long = replace(small, figures=small.figures | {"labels": [line | {"label": f"L{n}"} for n in range(501)]})
    assert [one.figures["labels"] for one in from_text(as_text([long], longest=10**6))] == [[]]
    several = [replace(small, revision=f"r{n}") for n in range(60)]
    assert len(from_text(as_text([wide, *several], longest=10**6))) == 50
