"""What the schemas of all features share."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from ninja import Schema
from pydantic import AliasChoices, BeforeValidator, Field, ValidationInfo

from annotations.core.errors import ServiceError

FieldReader = BeforeValidator
"""Reads a field of an answer by a function of what the row has there."""


def attribute(name: str) -> BeforeValidator:
    """Read a field of an answer as this attribute of the row to which the column leads; null without a row."""
    return BeforeValidator(lambda one: getattr(one, name, one))


def _code(label: Any, info: ValidationInfo) -> Any:
    """The code of a label id of an answer, by the `codes` of the context."""
    return info.context["codes"][label] if type(label) is int and info.context and "codes" in info.context else label


Code = Annotated[str, FieldReader(_code)]
Username = Annotated[str | None, attribute("username")]
JobNumber = Annotated[int | None, attribute("number")]
# Of a row with a job, or of an answer that was made from one; null without a job.
JobStateName = Annotated[str | None, Field(validation_alias=AliasChoices("state", "job.state", "job"))]
AsText = Annotated[str, BeforeValidator(str)]
IsSet = Annotated[bool, BeforeValidator(bool)]


class Answer(Schema):
    """An answer that is read from the attributes of a row, or from the other names that fields have there.

    `Field(validation_alias="note_count")` names such an attribute.
    """

    model_config = {"populate_by_name": True}


class RefusedDecision(Schema):
    """The place of a refused decision in the list, from 0, and why it was refused."""

    place: int
    code: str
    message: str

    @classmethod
    def all(cls, errors: Mapping[int, ServiceError]) -> list[Self]:
        return [cls(place=at, code=error.code, message=str(error)) for at, error in sorted(errors.items())]


class SpanInSentence(Schema):
    """A span in its sentence. Offsets are in code points, end-exclusive."""

    note: int
    name: str
    start: int
    end: int
    before: str
    marked: str
    after: str


class Body(Schema):
    """The JSON object of a request. A field that it doesn't know is an error, since it is mostly a typing error."""

    model_config = {"extra": "forbid"}


class Done(Schema):
    """The answer to a change that says everything with its status."""

    changed: bool
