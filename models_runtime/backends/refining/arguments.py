"""Arguments of tools: their JSON schema, and the check of what an agent sends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from annotations.text.names import unkeepable
from models_runtime.backends.refining.todo import Refused

LONGEST_TEXT: Final = 2000
"""Characters of a string among the arguments."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a tool. `kind` is `integer` or `string`; `least` and `most` are bounds of an integer."""

    name: str
    kind: str
    description: str
    required: bool = False
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": self.kind, "description": self.description}
        if self.least is not None:
            found["minimum"] = self.least
        if self.most is not None:
            found["maximum"] = self.most
        if self.choices:
            found["enum"] = list(self.choices)
        return found

    def checked(self, value: object) -> int | str:
        """The value, if it fits. Raises Refused."""
        if self.kind == "integer":
            if isinstance(value, bool) or not isinstance(value, int):
                raise Refused(f"“{self.name}” must be a whole number.")
            if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
                raise Refused(f"“{self.name}” must be {self._range()}.")
            return value
        if not isinstance(value, str):
            raise Refused(f"“{self.name}” must be a string.")
        if len(value) > LONGEST_TEXT:
            raise Refused(f"“{self.name}” can have at most {LONGEST_TEXT} characters.")
        if unkeepable(value):
            raise Refused(f"“{self.name}” contains NUL or an unpaired surrogate, which can't be stored.")
        if self.required and not value.strip():
            raise Refused(f"“{self.name}” is empty.")
        if self.choices and value not in self.choices:
            raise Refused(f"“{self.name}” must be one of: {', '.join(self.choices)}.")
        return value

    def _range(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        return f"at most {self.most}" if self.least is None else f"between {self.least} and {self.most}"


def schema(arguments: Sequence[Argument]) -> dict[str, Any]:
    """The JSON schema of all arguments of a tool."""
    return {
        "type": "object",
        "properties": {argument.name: argument.schema() for argument in arguments},
        "required": [argument.name for argument in arguments if argument.required],
        "additionalProperties": False,
    }


def checked(arguments: Sequence[Argument], given: object) -> dict[str, Any]:
    """The given arguments, if they fit the schema. An argument that is null counts as absent. Raises Refused."""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise Refused("The arguments must be a JSON object.")
    known = {argument.name: argument for argument in arguments}
    unknown = [name for name in given if name not in known]
    if unknown:
        names = ", ".join(known) or "none"
        raise Refused(f"There is no argument “{str(unknown[0])[:40]}”. Arguments: {names}.")
    present = {str(name): known[name].checked(value) for name, value in given.items() if value is not None}
    for argument in arguments:
        if argument.required and argument.name not in present:
            raise Refused(f"“{argument.name}” is missing.")
    return present
