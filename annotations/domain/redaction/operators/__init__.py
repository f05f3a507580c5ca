"""What a release writes in place of an identifier: one module for each action of a policy."""

from collections.abc import Mapping
from typing import Final

from annotations.domain.redaction.operators.base import Operator
from annotations.domain.redaction.operators.generalize import generalize
from annotations.domain.redaction.operators.hash import hashed
from annotations.domain.redaction.operators.keep import keep
from annotations.domain.redaction.operators.mask import mask
from annotations.domain.redaction.operators.remove import remove
from annotations.domain.redaction.operators.shift import shift
from annotations.domain.redaction.operators.surrogate import surrogate
from annotations.domain.redaction.policy import Action

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
