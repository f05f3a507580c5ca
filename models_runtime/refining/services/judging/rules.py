"""The rules of judgings for people: their names and prompts, and the checks of what a person or command chooses."""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext, gettext_lazy

from annotations.core.errors import ServiceError
from annotations.scores.rules.judging import MIRANDA, RULES, STANDARD, JudgedUnit, Rules

RULE_NAMES: Final[Mapping[str, Any]] = {
    STANDARD.key: gettext_lazy("Standard rules"),
    MIRANDA.key: gettext_lazy("Rules of Miranda et al. 2025"),
}
UNIT_NAMES: Final[Mapping[str, Any]] = {
    JudgedUnit.OCCURRENCE: gettext_lazy("each occurrence"),
    JudgedUnit.TEXT: gettext_lazy("each text with its label, once per note"),
}
# The prompt of each rules (models_runtime.backends.llm.prompts), and its title.
PROMPTS: Final[Mapping[str, str]] = {STANDARD.key: "judge", MIRANDA.key: "judge-miranda-2025"}
HOTTEST: Final = 2.0


def rules_named(key: str) -> Rules:
    """Return the rules with this name, by default the standard ones. Raises ServiceError `rules`."""
    found = RULES.get(key or STANDARD.key)
    if found is None:
        raise ServiceError(
            gettext("There are no rules “%(name)s”. Choose one of: %(choices)s.")
            % {"name": key[:80], "choices": ", ".join(RULES)},
            code="rules",
        )
    return found


def unit_named(name: str, rules: Rules) -> JudgedUnit:
    """Return the unit with this name, by default that of the rules. Raises ServiceError `unit`."""
    if not name:
        return rules.unit
    if name not in list(JudgedUnit):
        raise ServiceError(
            gettext("There is no entity unit “%(name)s”. Choose one of: %(choices)s.")
            % {"name": name[:80], "choices": ", ".join(JudgedUnit)},
            code="unit",
        )
    return JudgedUnit(name)


def checked_temperature(value: float | None, rules: Rules) -> float:
    """Return the temperature, by default that of the rules. Raises ServiceError `temperature`."""
    if value is None:
        return rules.temperature
    # This comparison also refuses NaN.
    if not 0 <= value <= HOTTEST:
        raise ServiceError(
            gettext("The temperature can't be %(value)s. Enter a number from 0 to %(most)s.")
            % {"value": f"{value:g}", "most": f"{HOTTEST:g}"},
            code="temperature",
        )
    return value
