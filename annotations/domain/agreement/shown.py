"""A coefficient with its interval, ready for JSON."""

from typing import Any

from annotations.domain.agreement.bootstrap import Interval
from annotations.domain.agreement.coefficients import Value


def shown(value: Value, around: Interval | None = None) -> dict[str, Any]:
    """The JSON form of a coefficient: `why` is the reason for a missing value, `no_interval` for a missing interval."""
    interval = around if around is not None and value.value is not None else Interval()
    return {
        "value": value.value,
        "why": value.why,
        "low": interval.low,
        "high": interval.high,
        "no_interval": interval.why,
    }
