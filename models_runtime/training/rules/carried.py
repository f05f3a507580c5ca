"""Calibrations as text that travels with a model's file, and strict reading of such a text from anywhere."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Final

from annotations.formats.files.json_files import JsonError, read_json
from annotations.text.names import bad_character
from models_runtime.training.rules.curves import METHOD, Curves
from models_runtime.training.rules.reliability import GROUPS, ConfidenceBin, Reliability

# Limits of what is read: calibrations, labels, length of a name, size of a count and of a curve's parameter.
MOST_CALIBRATIONS: Final = 50
MOST_LABELS: Final = 500
LONGEST: Final = 120
MOST: Final = 10**9
STEEPEST: Final = 10.0**6
# Figures are written with this many decimals; the parameters of curves are written as they are.
DECIMALS: Final = 6


class BadCalibration(ValueError):
    """A text that holds no valid calibrations."""


@dataclass(frozen=True, slots=True)
class Carried:
    """One calibration: the revision it is for, what it was fitted to, its curves and its figures.

    `curves` and `figures` are as Curves.as_dict and Fitted.figures give them; `held_out` tells that the notes were held
    out from the model's training. `gold_number` is a number in the project of the calibration.
    """

    revision: str
    held_out: bool
    gold_number: int
    gold_hash: str
    notes: int
    own_spans: int
    left_out: dict[str, int]
    curves: dict[str, Any]
    figures: dict[str, Any]


def vars_of(one: Any) -> dict[str, Any]:
    """The values of a calibration, or of a row of one, by the fields of Carried."""
    return {each.name: getattr(one, each.name) for each in fields(Carried)}


def as_text(calibrations: Sequence[Carried], *, longest: int) -> bytes:
    """Calibrations as JSON of at most `longest` bytes, the first ones first. Empty if there are none to write.

    Those that don't fit are left out, and those beyond the limits of `from_text`, which reads this text. Of each, only
    the figures by label are left out if that is enough.
    """
    parts: list[bytes] = []
    room = longest - len(b"[]")
    for one in calibrations:
        if len(parts) == MOST_CALIBRATIONS:
            break
        forms = (_written(one, with_labels=with_labels) for with_labels in (True, False))
        part = next((form for form in forms if len(form) <= room and _readable(form)), None)
        if part is not None:
            parts.append(part)
            room -= len(part) + len(b",")
    return b"[" + b",".join(parts) + b"]" if parts else b""


def from_text(text: bytes) -> list[Carried]:
    """Read calibrations. Raises BadCalibration for anything that `as_text` doesn't write."""
    try:
        found = read_json(text)
        if not isinstance(found, list) or not 0 < len(found) <= MOST_CALIBRATIONS:
            raise BadCalibration
        return [_read(one) for one in found]
    except (JsonError, KeyError, TypeError, ValueError, IndexError) as error:
        raise BadCalibration("The calibration in the file can't be read.") from error


def _readable(part: bytes) -> bool:
    try:
        return bool(from_text(b"[" + part + b"]"))
    except BadCalibration:
        return False


def _written(one: Carried, *, with_labels: bool) -> bytes:
    figures = {
        "before": _compact(one.figures["before"]),
        "after": _compact(one.figures["after"]),
        "labels": [
            {
                "label": line["label"],
                "own": line["own"],
                "before": _compact(line["before"]),
                "after": _compact(line["after"]),
            }
            for line in (one.figures["labels"] if with_labels else [])
        ],
    }
    data = {**vars_of(one), "figures": figures}
    return json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()


def _compact(figures: dict[str, Any]) -> list[Any]:
    """[ece, brier, [[confidence, spans, right], …]]: everything else follows from these."""
    groups = [[round(group["confidence"], DECIMALS), group["spans"], group["right"]] for group in figures["groups"]]
    return [round(figures["ece"], DECIMALS), round(figures["brier"], DECIMALS), groups]


def _read(data: Any) -> Carried:
    data = _object(data)
    figures, curves = _object(data["figures"]), _object(data["curves"])
    lines = [
        {
            "label": _name(line["label"]),
            "own": _truth(line["own"]),
            "before": _reliability(line["before"]),
            "after": _reliability(line["after"]),
        }
        for line in map(_object, _listed(figures["labels"]))
    ]
    if curves["method"] != METHOD:
        raise BadCalibration
    by_label = _object(curves["labels"])
    kept = {"pool": _curve(curves["pool"]), "labels": {_name(key): _curve(v) for key, v in by_label.items()}}
    kept |= {"added": _curve(curves["added"])} if "added" in curves else {}
    readers: dict[str, Any] = {
        "revision": _name,
        "held_out": _truth,
        "gold_number": _count,
        "notes": _count,
        "own_spans": _count,
    }
    return Carried(
        **{key: read(data[key]) for key, read in readers.items()},
        gold_hash=_name(data["gold_hash"])[:64],
        left_out={_name(key): _count(value) for key, value in _object(data["left_out"]).items()},
        curves=Curves.from_dict(kept).as_dict(),
        figures={"before": _reliability(figures["before"]), "after": _reliability(figures["after"]), "labels": lines},
    )


def _reliability(data: Any) -> dict[str, Any]:
    ece, brier, rows = _listed(data)
    groups = [ConfidenceBin(_share(x), _count(spans), _count(right)) for x, spans, right in map(_listed, _listed(rows))]
    if not 0 < len(groups) <= GROUPS + 1 or any(not 0 <= group.right <= group.spans > 0 for group in groups):
        raise BadCalibration
    spans = sum(group.spans for group in groups)
    return Reliability(
        spans=spans,
        right=sum(group.right for group in groups),
        confidence=sum(group.confidence * group.spans for group in groups) / spans,
        ece=_share(ece),
        brier=_share(brier),
        groups=groups,
    ).as_dict()


def _curve(data: Any) -> list[float]:
    a, b, c = (_number(value) for value in _listed(data))
    if a < 0 or b < 0 or max(a, b, abs(c)) > STEEPEST:
        raise BadCalibration
    return [a, b, c]


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not isfinite(value):
        raise BadCalibration
    return float(value)


def _share(value: Any) -> float:
    if not 0 <= _number(value) <= 1:
        raise BadCalibration
    return float(value)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MOST:
        raise BadCalibration
    return value


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise BadCalibration
    return value


def _name(value: Any) -> str:
    if type(value) is not str or not 0 < len(value) <= LONGEST or bad_character(value):
        raise BadCalibration
    return value


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict or len(value) > MOST_LABELS:
        raise BadCalibration
    return value


def _listed(value: Any) -> Iterator[Any]:
    if type(value) is not list or len(value) > MOST_LABELS:
        raise BadCalibration
    return iter(value)
