"""The result of a release's audit, for its page and its certificate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotations.models import Release


@dataclass(frozen=True, slots=True)
class Rate:
    """Leaks among what was read, and the upper bound of their share at the audit's confidence (0 to 1)."""

    read: int
    leaks: int
    bound: float


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit shows about a release. Shares are from 0 to 1.

    `notes`: released notes; `drawn`: notes of the sample; `read`: those that were read completely; `leaks`: notes with a
    leak. `bound`: the upper bound of the share of notes with a leak, corrected by `recall`, the lower bound of the share
    of planted leaks that the auditors find (None without planted leaks). `labels` counts spans by label code.
    """

    plan: int
    confidence: float
    method: str
    notes: int
    drawn: int
    read: int
    leaks: int
    bound: float
    planted: int
    planted_found: int
    recall: float | None
    strata: Mapping[str, Rate]
    labels: Mapping[str, Rate]
    readers: Sequence[str]
    complete: bool


def audit_result(release: Release) -> AuditResult | None:
    """The result of a release's newest audit, or None without one."""
    return None
