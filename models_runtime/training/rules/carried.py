"""Calibrations as text that travels with a model's file, and strict reading of such a text from anywhere."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter

from annotations.text.names import bad_character
from annotations.text.wording import WordedError
from models_runtime.training.rules.curves import GROUPS, METHOD, ConfidenceBin, Curves, Reliability

# Limits of what is read: calibrations, labels, length of a name, size of a count and of a curve's parameter.
MOST_CALIBRATIONS: Final = 50
MOST_LABELS: Final = 500
LONGEST: Final = 120
MOST: Final = 10**9
STEEPEST: Final = 10.0**6
# Figures are written with this many decimals; the parameters of curves are written as they are.
DECIMALS: Final = 6


class BadCalibration(WordedError, ValueError):
    """A text that holds no valid calibrations."""


def _visible(name: str) -> str:
    if bad_character(name):
        raise BadCalibration
    return name


Name = Annotated[str, Field(min_length=1, max_length=LONGEST), AfterValidator(_visible)]
Count = Annotated[int, Field(ge=0, lt=MOST)]
Share = Annotated[float, Field(ge=0, le=1)]
Slope = Annotated[float, Field(ge=0, le=STEEPEST)]
Parameters = tuple[Slope, Slope, Annotated[float, Field(ge=-STEEPEST, le=STEEPEST)]]
Groups = Annotated[list[tuple[Share, Count, Count]], Field(min_length=1, max_length=GROUPS + 1)]
Compact = tuple[Share, Share, Groups]
"""Figures of reliability: ece, brier, and confidence, spans and right spans of each group. All else follows."""


@dataclass(frozen=True)
class CarriedCalibration:
    """One calibration: the revision it is for, what it was fitted to, its curves and its figures.

    `curves` and `figures` are as Curves.as_dict and Fitted.figures give them; `held_out` tells that the notes were held
    out from the model's training. `gold_number` is a number in the project of the calibration.
    """

    revision: Name
    held_out: bool
    gold_number: Count
    gold_hash: Name
    notes: Count
    own_spans: Count
    left_out: Annotated[dict[Name, Count], Field(max_length=MOST_LABELS)]
    curves: Any
    figures: Any


@dataclass
class _Curves:
    method: Annotated[str, Field(pattern=f"^{METHOD}$")]
    pool: Parameters
    labels: Annotated[dict[Name, Parameters], Field(max_length=MOST_LABELS)]
    added: Parameters | None = None


@dataclass
class _Line:
    label: Name
    own: bool
    before: Compact
    after: Compact


@dataclass
class _Figures:
    before: Compact
    after: Compact
    labels: Annotated[list[_Line], Field(max_length=MOST_LABELS)]


@dataclass(frozen=True)
class _Sent(CarriedCalibration):
    """A calibration as it stands in a text."""

    curves: _Curves
    figures: _Figures


_SENT: Final = TypeAdapter(
    Annotated[list[_Sent], Field(min_length=1, max_length=MOST_CALIBRATIONS)],
    config=ConfigDict(strict=True, allow_inf_nan=False),
)


def vars_of(one: Any) -> dict[str, Any]:
    """The values of a calibration, or of a row of one, by the fields of Carried."""
    return {each.name: getattr(one, each.name) for each in fields(CarriedCalibration)}


def as_text(calibrations: Sequence[CarriedCalibration], *, longest: int) -> bytes:
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


def from_text(text: bytes) -> list[CarriedCalibration]:
    """Read calibrations. Raises BadCalibration for anything that `as_text` doesn't write."""
    try:
        return [_read(one) for one in _SENT.validate_json(text)]
    except ValueError as error:
        raise BadCalibration("The calibration in the file can't be read.") from error


def _readable(part: bytes) -> bool:
    try:
        return bool(from_text(b"[" + part + b"]"))
    except BadCalibration:
        return False


def _written(one: CarriedCalibration, *, with_labels: bool) -> bytes:
    labels = one.figures["labels"] if with_labels else []
    figures = _compact(one.figures) | {
        "labels": [{"label": line["label"], "own": line["own"], **_compact(line)} for line in labels]
    }
    data = {**vars_of(one), "figures": figures}
    return json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()


def _compact(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures of `before` and `after` as in Compact."""
    found = {}
    for when in ("before", "after"):
        one = figures[when]
        groups = [[round(group["confidence"], DECIMALS), group["spans"], group["right"]] for group in one["groups"]]
        found[when] = [round(one["ece"], DECIMALS), round(one["brier"], DECIMALS), groups]
    return found


def _read(sent: _Sent) -> CarriedCalibration:
    figures, curves = sent.figures, {key: value for key, value in vars(sent.curves).items() if value is not None}
    return CarriedCalibration(
        **vars(sent)
        | {
            "gold_hash": sent.gold_hash[:64],
            "curves": Curves.from_dict(curves).as_dict(),
            "figures": _both(figures)
            | {"labels": [{"label": line.label, "own": line.own, **_both(line)} for line in figures.labels]},
        }
    )


def _both(figures: _Figures | _Line) -> dict[str, Any]:
    return {"before": _reliability(*figures.before), "after": _reliability(*figures.after)}


def _reliability(ece: float, brier: float, rows: list[tuple[float, int, int]]) -> dict[str, Any]:
    groups = [ConfidenceBin(*row) for row in rows]
    if any(not 0 <= group.right <= group.spans > 0 for group in groups):
        raise BadCalibration
    spans, right = sum(group.spans for group in groups), sum(group.right for group in groups)
    confidence = sum(group.confidence * group.spans for group in groups) / spans
    return Reliability(spans, right, confidence, ece, brier, groups).as_dict()
