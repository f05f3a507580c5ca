"""Attributes of spans as the database stores them: a choice or true by name; null without attributes."""

import json
from collections.abc import Mapping

from django.utils.translation import gettext, pgettext

from annotations.core.errors import ServiceError
from annotations.models import Label
from annotations.text.attributes import AttributeDef, Attributes, Value, definitions_of, fitting, with_value

Stored = dict[str, Value]
"""A choice or True by name of attribute."""


def stored(attributes: Attributes) -> Stored | None:
    return dict(attributes) or None


def pairs_of(attributes: Mapping[str, Value] | None) -> Attributes:
    return tuple(sorted(attributes.items())) if attributes else ()


def as_json(attributes: Mapping[str, Value] | None) -> str | None:
    """JSON text for rows that are inserted in bulk."""
    return json.dumps(attributes) if attributes else None


def definitions(label: Label) -> tuple[AttributeDef, ...]:
    return definitions_of(label.attributes)


def definitions_by_label(project_id: int) -> dict[int, tuple[AttributeDef, ...]]:
    """The attributes of each label of the project that has any, by label id."""
    labels = Label.objects.filter(label_set__project_id=project_id).exclude(attributes=[])
    return {pk: definitions_of(data) for pk, data in labels.values_list("pk", "attributes")}


def fitting_label(attributes: Mapping[str, Value] | None, label: int) -> Stored | None:
    """Those of a span's attributes that it may keep when it gets the label."""
    if not attributes:
        return None
    data = Label.objects.filter(pk=label).values_list("attributes", flat=True).first()
    return stored(fitting(pairs_of(attributes), definitions_of(data or []))[0])


def with_attribute(attributes: Mapping[str, Value] | None, label: int, name: str, value: Value | None) -> Stored | None:
    """A span's attributes with one of them set to a value, or removed (None).

    Raises ServiceError `attribute` for an attribute or a value that spans of this label can't have.
    """
    if value is not None:
        data = Label.objects.filter(pk=label).values_list("attributes", flat=True).first()
        defined = next((each for each in definitions_of(data or []) if each.name == name), None)
        if defined is None or not defined.allows(value):
            raise ServiceError(
                gettext("The label of this span doesn't have this attribute or value. Reload the page."),
                code="attribute",
            )
    return stored(with_value(pairs_of(attributes), name, value))


def attribute_words(attributes: Mapping[str, Value]) -> list[str]:
    """Each attribute as pages show it: its name, or its name and value. `editor/words.js` does the same."""
    return [
        name
        if value is True
        else pgettext("an attribute of a span", "%(name)s: %(value)s") % {"name": name, "value": value}
        for name, value in attributes.items()
    ]
