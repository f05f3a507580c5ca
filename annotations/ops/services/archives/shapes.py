"""Values of an archive: what they look like, and which parts of them name rows or people.

A shape makes a value of the database one of the archive, or a value of an archive one that is stored. Only the latter
is checked: it raises Bad. The former raises Gone if a row that the value names was deleted.
"""

import math
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from django.db import connection, models
from django.utils.translation import gettext as _

from annotations.core.spans import json_of
from annotations.models import Label, User
from annotations.ops.services.archives.numbers import Bad, FromArchive, Gone, Numbers
from annotations.text.attributes import AttributeDefError, as_data, attributes_of, definitions_of
from annotations.text.names import printable

Shape = Callable[[Any, Numbers], Any]
"""Moves a value to or from the archive that the numbers are of."""


def row(model: type[models.Model]) -> Shape:
    """The number of a row."""
    return lambda value, numbers: numbers.row(model, value)


def person(value: Any, numbers: Numbers) -> Any:
    """The user name of a person."""
    return numbers.person(value)


def plain(*types: type) -> Shape:
    """A value of one of these types."""

    def move(value: Any, numbers: Numbers) -> Any:
        if numbers.importing and type(value) not in types:
            raise Bad(_("has a value of the wrong type"))
        return value

    return move


def name(*kinds: str) -> Shape:
    """The name of a person, or null. With kinds: only after one of these, as in “annotator:anna”."""
    typed = plain(str, type(None))

    def move(value: Any, numbers: Numbers) -> Any:
        typed(value, numbers)
        if not kinds:
            return value and numbers.name(value)
        kind, colon, called = (value or "").partition(":")
        return f"{kind}:{numbers.name(called)}" if colon and kind in kinds else value

    return move


def maybe(shape: Shape) -> Shape:
    """Null, or another shape. What names a deleted row becomes null."""

    def move(value: Any, numbers: Numbers) -> Any:
        try:
            return None if value is None else shape(value, numbers)
        except Gone:
            return None

    return move


def each(shape: Shape) -> Shape:
    """A list. Items that name a deleted row are left out."""

    def move(value: Any, numbers: Numbers) -> Any:
        found = []
        for item in _typed(value, list, _("must be a list")):
            with suppress(Gone):
                found.append(shape(item, numbers))
        return found

    return move


def items(*shapes: Shape, optional: int = 0) -> Shape:
    """A list of one value for each shape; the last `optional` ones may be absent."""

    def move(value: Any, numbers: Numbers) -> Any:
        if not len(shapes) - optional <= len(_typed(value, list, _("must be a list"))) <= len(shapes):
            raise Bad(_("has a list of the wrong length"))
        return [shape(item, numbers) for shape, item in zip(shapes, value, strict=False)]

    return move


def within(*more: Shape, label: Shape | None = None, optional: int = 0) -> Shape:
    """Start, end, label and more. The bounds are code points within the row's note, and not empty."""
    listed = items(plain(int), plain(int), label or row(Label), *more, optional=optional)

    def move(value: Any, numbers: Numbers) -> Any:
        found = listed(value, numbers)
        if isinstance(numbers, FromArchive) and not 0 <= found[0] < found[1] <= (numbers.length or 0):
            raise Bad(_("must give spans within the note"))
        return found

    return move


def record(keys: Mapping[str, Shape], *, required: Iterable[str] = ()) -> Shape:
    """An object with these keys and no others; those of `required` must be there."""

    def move(value: Any, numbers: Numbers) -> Any:
        _typed(value, dict, _("must be an object"))
        if numbers.importing and value.keys() - keys:
            raise Bad(_("has an unknown key"))
        if missing := [key for key in required if key not in value]:
            raise Bad(_("must have “%(key)s”") % {"key": missing[0]})
        return {key: keys[key](part, numbers) for key, part in value.items() if key in keys}

    return move


def by_row(model: type[models.Model], shape: Shape) -> Shape:
    """An object whose keys name rows. Those of deleted rows are left out."""

    def move(value: Any, numbers: Numbers) -> Any:
        found = {}
        for key, part in _typed(value, dict, _("must be an object")).items():
            with suppress(Gone):
                named = numbers.row(model, int(key) if key.isdecimal() and len(key) < 20 else None)
                found[str(named)] = shape(part, numbers)
        return found

    return move


def text(shape: Shape) -> Shape:
    """A reference that JSON holds as text, such as that to a bulk act."""

    def move(value: Any, numbers: Numbers) -> Any:
        found = shape(value, numbers)
        return str(found) if isinstance(found, uuid.UUID) else found

    return move


def instead(out: Callable[[Any], Any], into: Callable[[Any], Any]) -> Shape:
    """Another value of the archive or of the database, which the functions return; each may raise Bad."""
    return lambda value, numbers: into(value) if numbers.importing else out(value)


def both(first: Shape, second: Shape) -> Shape:
    """Two shapes, one after the other."""
    return lambda value, numbers: second(first(value, numbers), numbers)


def checked(check: Callable[[Any], Any]) -> Shape:
    """A value that is written as it is. `check` returns the value to store, or raises Bad."""
    return instead(lambda value: value, check)


def only(good: Callable[[Any], object], message: object) -> Shape:
    """A value that is written and stored as it is, if it is `good`. The message may be a lazy translation."""

    def check(value: Any) -> Any:
        if not good(value):
            raise Bad(message)
        return value

    return checked(check)


def _typed(value: Any, kind: type, message: str) -> Any:
    if not isinstance(value, kind):
        raise Bad(message)
    return value


def _attributes(value: Any) -> Any:
    try:
        return json_of(attributes_of(value))
    except AttributeDefError as error:
        raise _invalid(error) from None


def _definitions(value: Any) -> Any:
    try:
        return as_data(definitions_of(value))
    except AttributeDefError as error:
        raise _invalid(error) from None


def _invalid(error: AttributeDefError) -> Bad:
    return Bad(_("is not valid: %(error)s") % {"error": printable(str(error)).removesuffix(".")})


# The attributes of a span: a choice or true by name; and those that the spans of a label may have.
ATTRIBUTES = checked(_attributes)
DEFINITIONS = checked(_definitions)


# Values of the fields of a model.


def shape_of(field: Any) -> Shape:
    """The shape of a field of a model."""
    found: Shape
    if field.many_to_many:
        return each(person)
    if field.remote_field is not None:
        found = person if field.related_model is User else row(field.related_model)
    else:
        found = instead(_written, _checker(field))
    return maybe(found) if field.null else found


def writer(field: Any) -> Callable[[Any], Any]:
    """A function that makes a value of a field ready for the database, where that takes a conversion."""
    if isinstance(field.target_field if field.is_relation else field, _CONVERTED):
        return lambda value: None if value is None else field.get_db_prep_save(value, connection)
    return lambda value: value


_CONVERTED = (models.DateTimeField, models.JSONField, models.UUIDField)


def _written(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def _checker(field: Any) -> Callable[[Any], Any]:
    # An archive has millions of spans, so what depends on the field is found once.
    if isinstance(field, models.DateTimeField):
        return _time
    if isinstance(field, models.BooleanField):
        return yes_no
    if isinstance(field, models.FloatField):
        return _number
    if isinstance(field, models.IntegerField):
        return _whole_of(field)
    if isinstance(field, models.CharField | models.TextField):
        return _text_of(field)
    raise TypeError(f"{field}: Say what its values look like in SHAPES.")


def yes_no(value: Any) -> bool:
    if type(value) is not bool:
        raise Bad(_("must be true or false"))
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise Bad(_("must be a number"))
    return float(value)


def _whole_of(field: Any) -> Callable[[Any], int]:
    least, most = connection.ops.integer_field_range(field.get_internal_type())
    least, most = -(2**63) if least is None else least, 2**63 - 1 if most is None else most
    choices = _choices(field)

    def whole(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise Bad(_("must be a whole number from %(least)s to %(most)s") % {"least": least, "most": most})
        if choices and value not in choices:
            raise _not_among(choices)
        return value

    return whole


def _text_of(field: Any) -> Callable[[Any], str]:
    longest, choices, blank = field.max_length, _choices(field), field.blank

    def text(value: Any) -> str:
        if type(value) is not str:
            raise Bad(_("must be a text"))
        if longest is not None and len(value) > longest:
            raise Bad(_("must have at most %(most)s characters") % {"most": longest})
        if choices and value not in choices and not (blank and not value):
            raise _not_among(choices)
        return value

    return text


def _choices(field: Any) -> list[Any]:
    return [choice for choice, _name in field.flatchoices]


def _not_among(choices: list[Any]) -> Bad:
    return Bad(_("must be one of: %(choices)s") % {"choices": ", ".join(map(str, choices))})


def _time(value: Any) -> datetime:
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        found = None
    if found is None or found.tzinfo is None or not 1900 < found.year < 9000:
        raise Bad(_("must be a time such as 2026-01-31T12:00:00+00:00"))
    return found
