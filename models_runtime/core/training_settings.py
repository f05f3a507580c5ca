"""Settings of a training that one kind of model has and others don't: their types, bounds and names.

A kind lists its settings in the registry. The form, the command, the model's page and the learner all read that list,
so a new setting is an entry there and a line in the learner.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError

Value = int | float | str | bool
# Values that a command accepts for a switch.
YES: Final = ("yes", "true", "1", "on")
NO: Final = ("no", "false", "0", "off")


@dataclass(frozen=True)
class Setting:
    """One setting. `label` and `help` are marked for translation where they are written, and translated where shown.

    `kind`: a whole number or a number from `least` to `most`, one of `choices` (key to name), a switch, or a text of
    at most `most` characters. A setting that is not given has the default of the algorithm. `pattern`: what a text must
    match as a whole, and `right`: the same in words.
    """

    key: str
    label: str
    kind: Literal["whole", "number", "choice", "switch", "text"]
    least: float = 0
    most: float = 0
    choices: Mapping[str, str] | None = None
    help: str = ""
    pattern: str = ""
    right: str = ""


def checked(settings: Sequence[Setting], given: Mapping[str, object], *, title: str) -> dict[str, Value]:
    """Return the given values with their types; empty ones are left out. `title` names the kind of model in errors.

    Values may be texts, as a form or a command has them. Raises ServiceError with the setting's key as its code, or
    `settings` for an unknown key.
    """
    known = {setting.key: setting for setting in settings}
    found: dict[str, Value] = {}
    for key, value in given.items():
        if key not in known:
            raise ServiceError(
                _("%(title)s has no setting “%(key)s”. Its settings: %(choices)s.")
                % {"title": _(title), "key": key, "choices": ", ".join(known) or _("none")},
                code="settings",
            )
        if value is not None and value != "":
            found[key] = _value(known[key], value)
    return found


def key_values(words: Sequence[str]) -> dict[str, str]:
    """Read the values of a command's --set. Raises ServiceError `set` for one without a key, and for a repeated key."""
    found: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key or key in found:
            raise ServiceError(f"--set takes KEY=VALUE, each key once, not “{word}”.", code="set")
        found[key] = value
    return found


def shown(settings: Sequence[Setting], values: Mapping[str, Value]) -> list[tuple[str, str]]:
    """Return the label and the value of each setting that was given, as texts for people."""
    return [(_(setting.label), _text(setting, values[setting.key])) for setting in settings if setting.key in values]


def _text(setting: Setting, value: Value) -> str:
    if setting.kind == "choice":
        return _((setting.choices or {}).get(str(value), str(value)))
    if setting.kind == "switch":
        return _("yes") if value else _("no")
    return str(value)


def _value(setting: Setting, value: object) -> Value:
    text = str(value).strip()
    if setting.kind == "switch":
        if text.lower() in YES:
            return True
        if text.lower() in NO:
            return False
        raise _wrong(setting, text, _("yes or no"))
    if setting.kind == "choice":
        choices = setting.choices or {}
        if text not in choices:
            raise _wrong(setting, text, ", ".join(choices))
        return text
    if setting.kind == "text":
        if len(text) > setting.most:
            raise _wrong(setting, text[:40], _("at most %(most)d characters") % {"most": setting.most})
        if setting.pattern and not re.fullmatch(setting.pattern, text):
            raise _wrong(setting, text[:40], _(setting.right))
        return text
    return _number(setting, text)


def _number(setting: Setting, text: str) -> int | float:
    bounds = _("from %(least)s to %(most)s") % {"least": f"{setting.least:g}", "most": f"{setting.most:g}"}
    if len(text) > 20:
        raise _wrong(setting, text[:20], bounds)
    try:
        number: int | float = int(text) if setting.kind == "whole" else float(text)
    except ValueError:
        raise _wrong(setting, text, bounds) from None
    if not setting.least <= number <= setting.most:  # Also refuses NaN.
        raise _wrong(setting, text, bounds)
    return number


def _wrong(setting: Setting, text: str, right: str) -> ServiceError:
    return ServiceError(
        _("%(label)s can't be “%(value)s”. It must be: %(right)s.")
        % {"label": _(setting.label), "value": text, "right": right},
        code=setting.key,
    )
