"""Columns of tables in an archive: how a value of the database is written, checked and read again."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db import connection, models
from django.utils.translation import gettext as _

from annotations.archives.services.keys import Bad, Keys
from annotations.archives.services.names import Names

MISSING: Final = object()


@dataclass(frozen=True)
class Column:
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
    return lambda keys, value: checked(field, value)


def checked(field: Any, value: Any) -> Any:
    """Return the value of a plain field, ready to be stored. Raises Bad."""
    if value is None:
        if not field.null:
            raise Bad(_("must not be null"))
        return None
    return _prepared(field, _value(field, value))


def _value(field: Any, value: Any) -> Any:
    if isinstance(field, models.DateTimeField):
        return _time(value)
    if isinstance(field, models.BooleanField):
        return _of(bool, value, _("must be true or false"))
    if isinstance(field, models.IntegerField):
        return _whole(field, value)
    if isinstance(field, models.FloatField):
        if type(value) not in (int, float) or not math.isfinite(value):
            raise Bad(_("must be a number"))
        return float(value)
    if isinstance(field, models.JSONField):
        return value
    return _text(field, value)


def _of(kind: type, value: Any, message: str) -> Any:
    if type(value) is not kind:
        raise Bad(message)
    return value


def _whole(field: Any, value: Any) -> int:
    least, most = connection.ops.integer_field_range(field.get_internal_type())
    least, most = -(2**63) if least is None else least, 2**63 - 1 if most is None else most
    if type(value) is not int or not least <= value <= most:
        raise Bad(_("must be a whole number from %(least)s to %(most)s") % {"least": least, "most": most})
    _choice(field, value)
    return value


def _text(field: Any, value: Any) -> str:
    text: str = _of(str, value, _("must be a text"))
    if field.max_length is not None and len(text) > field.max_length:
        raise Bad(_("must have at most %(most)s characters") % {"most": field.max_length})
    if text or not field.blank:
        _choice(field, text)
    return text


def _choice(field: Any, value: object) -> None:
    choices = [choice for choice, _name in field.flatchoices]
    if choices and value not in choices:
        raise Bad(_("must be one of: %(choices)s") % {"choices": ", ".join(map(str, choices))})


def _time(value: Any) -> datetime:
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        found = None
    if found is None or found.tzinfo is None or not 1900 < found.year < 9000:
        raise Bad(_("must be a time such as 2026-01-31T12:00:00+00:00"))
    return found


def _prepared(field: Any, value: Any) -> Any:
    if isinstance(field, (models.DateTimeField, models.JSONField)):
        return field.get_db_prep_save(value, connection)
    return value


def json_column(
    model: type[models.Model], name: str, out: Callable[[Names, Any], Any], into: Callable[[Keys, Any], Any]
) -> Column:
    """The column of a JSON field that holds primary keys: `out` names them, `into` finds them again."""
    field: Any = model._meta.get_field(name)

    def read(keys: Keys, value: Any) -> Any:
        return _prepared(field, into(keys, value))

    return Column(name, name, name, out, read, None if field.null else MISSING)


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
