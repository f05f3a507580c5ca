"""Bounds as percentages: upper bounds are rounded up, lower bounds down, so that a rounded bound still holds."""

import math

from django import template
from django.utils.translation import gettext as _

from annotations.release.selectors.audits import AuditResult

register = template.Library()


@register.filter
def at_most(share: float, digits: int = 1) -> str:
    """Format an upper bound: 1.0%."""
    scale = 10**digits
    return f"{min(100.0, math.ceil(share * 100 * scale - 1e-9) / scale):.{digits}f}%"


@register.filter
def at_least(share: float, digits: int = 0) -> str:
    """Format a lower bound: 86%."""
    scale = 10**digits
    return f"{math.floor(share * 100 * scale + 1e-9) / scale:.{digits}f}%"


@register.filter
def whole(share: float) -> str:
    """Format a chosen share: 1%, 0.5%."""
    return f"{100 * share:.4g}%"


@register.filter
def bound_in_words(result: AuditResult) -> str:
    """What an audit shows, as a sentence. A bound of 100% says nothing."""
    confidence = whole(result.confidence)
    if at_most(result.bound) == at_most(1.0):
        return _("The audit gives no upper bound of the share of notes with a leak (%(confidence)s confidence).") % {
            "confidence": confidence
        }
    return _("At most %(bound)s of the notes contain a leak (%(confidence)s confidence).") % {
        "bound": at_most(result.bound),
        "confidence": confidence,
    }
