"""What a release writes in place of an identifier: one module for each action of a policy."""

from collections.abc import Mapping
from typing import Final

from annotations.release.rules.redaction.operators.base import Operator
from annotations.release.rules.redaction.operators.generalize import generalize
from annotations.release.rules.redaction.operators.hash import hashed
from annotations.release.rules.redaction.operators.keep import keep
from annotations.release.rules.redaction.operators.mask import mask
from annotations.release.rules.redaction.operators.remove import remove
from annotations.release.rules.redaction.operators.shift import shift
from annotations.release.rules.redaction.operators.surrogate import surrogate
from annotations.release.rules.redaction.policy import Action

OPERATORS: Final[Mapping[Action, Operator]] = {
    Action.KEEP: keep,
    Action.MASK: mask,
    Action.REMOVE: remove,
    Action.HASH: hashed,
    Action.GENERALIZE: generalize,
    Action.SHIFT: shift,
    Action.SURROGATE: surrogate,
}
"""The operator of each action. Numbered masks have their own (`operators.mask.numbered_mask`)."""
