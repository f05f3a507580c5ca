"""Columns of tables in an archive: how a value of the database is written, checked and read again."""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from django.db import connection, models
from django.utils.translation import gettext as _

from annotations.ops.services.archives.keys import Bad, Keys
from annotations.ops.services.archives.names import Names

MISSING: Final = object()


class Column(NamedTuple):
    """One key of a table's rows.

    `path` is what is read from the database, `attname` the attribute of the model that is written (empty: none).
    """

    key: str
    path: str
    attname: str
    out: Callable[[Names, Any], Any]
    into: Callable[[Keys, Any], Any]
    # The value of a row without this key; MISSING: every row must have the key.
    default: Any = MISSING


def columns_of(
    model: type[models.Model], *, first: list[Column], instead: Mapping[str, Column | None] | None = None
) -> list[Column]:
    """The columns of a model: `first`, then all others as they are, or those given `instead`, by attribute.

    None instead of a column leaves it out. A reference to another table must be among `first` or `instead`.
    """
    instead = instead or {}
    taken = {column.attname for column in first}
    found = list(first)
    for field in model._meta.concrete_fields:
        if field.primary_key or field.attname in taken:
            continue
        if field.attname in instead:
            column = instead[field.attname]
            found += [column] if column else []
        elif field.remote_field is not None:
            raise TypeError(f"{model.__name__}.{field.attname}: Say how an archive names this row.")
        else:
            found.append(plain(field))
    return found


def plain(field: Any) -> Column:
    """The column of a field whose value is written as it is."""
    default = field.get_default() if field.has_default() or field.null or field.blank else MISSING
    return Column(
        field.name, field.attname, field.attname, lambda names, value: written(value), _reader(field), default
    )


def written(value: Any) -> Any:
    """A value of a plain field as JSON; times in UTC."""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def _reader(field: Any) -> Callable[[Keys, Any], Any]:
    """A function that checks a value of a plain field and makes it ready to be stored. It raises Bad."""
    check, null = _checker(field), field.null

    def read(keys: Keys, value: Any) -> Any:
        if value is not None:
            return check(value)
        if not null:
            raise Bad(_("must not be null"))
        return None

    return read


def _checker(field: Any) -> Callable[[Any], Any]:
    # An archive has millions of spans, so what depends on the field is found once.
    if isinstance(field, models.DateTimeField):
        return lambda value: _prepared(field, _time(value))
    if isinstance(field, models.JSONField):
        return lambda value: _prepared(field, value)
    if isinstance(field, models.BooleanField):
        return _yes_no
    if isinstance(field, models.FloatField):
        return _number
    if isinstance(field, models.IntegerField):
        return _whole_of(field)
    return _text_of(field)


def _yes_no(value: Any) -> bool:
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


def _prepared(field: Any, value: Any) -> Any:
    return None if value is None else field.get_db_prep_save(value, connection)


def json_column(
    model: type[models.Model], name: str, out: Callable[[Names, Any], Any], into: Callable[[Keys, Any], Any]
) -> Column:
    """The column of a JSON field that holds primary keys: `out` names them, `into` finds them again."""
    field: Any = model._meta.get_field(name)

    def read(keys: Keys, value: Any) -> Any:
        return _prepared(field, into(keys, value))

    return Column(name, name, name, out, read, None if field.null else MISSING)


def checked_column(model: type[models.Model], name: str, check: Callable[[Any], Any]) -> Column:
    """The column of a field whose value is written as it is. `check` returns the value to store, or raises Bad."""
    column = plain(model._meta.get_field(name))
    return column._replace(into=lambda keys, value: column.into(keys, check(value)))


def note_column(path: str = "document__name", attname: str = "document_id", *, null: bool = False) -> Column:
    """The note of a row. It must come before columns that name something in the note."""

    def into(keys: Keys, value: Any) -> int | None:
        if value is None and null:
            keys.note = None
            return None
        return keys.take_note(value).pk

    return Column("note", path, attname, lambda names, value: value, into)


def person_column(attname: str, *, null: bool = False) -> Column:
    key = attname.removesuffix("_id")
    return _reference(key, attname, Names.person, Keys.person, null=null)


def author_column(attname: str = "author_id", *, null: bool = False) -> Column:
    return _reference(attname.removesuffix("_id"), attname, Names.author, Keys.author, null=null)


def label_column(attname: str, *, null: bool = False) -> Column:
    return _reference(attname.removesuffix("_id"), attname, Names.label, Keys.label, null=null)


def _reference(
    key: str, attname: str, out: Callable[[Names, Any], Any], into: Callable[[Keys, Any], Any], *, null: bool
) -> Column:
    def read(keys: Keys, value: Any) -> Any:
        return None if value is None and null else into(keys, value)

    return Column(key, attname, attname, out, read)
