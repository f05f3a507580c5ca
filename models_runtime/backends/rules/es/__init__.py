"""Rules for Spanish text."""

from typing import Final

from models_runtime.backends.rules.es import ids, names
from models_runtime.backends.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (*names.RULES, *ids.RULES)
