"""Rules for Italian text."""

from typing import Final

from models_runtime.backends.rules.it import ids, names
from models_runtime.backends.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (*names.RULES, *ids.RULES)
