"""Choices of form fields that are known only when the form is created."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import QuerySet


def offer(form: forms.BaseForm, name: str, choices: Iterable[Any]) -> None:
    """Set the choices of a choice field. Raises TypeError for any other field."""
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"The field “{name}” is not a choice field.")
    field.choices = list(choices)


def offer_rows(form: forms.BaseForm, name: str, rows: QuerySet[Any]) -> None:
    """Set the rows that a model choice field offers. Raises TypeError for any other field."""
    field = form.fields[name]
    if not isinstance(field, forms.ModelChoiceField):
        raise TypeError(f"The field “{name}” is not a model choice field.")
    field.queryset = rows


def suggest(form: forms.BaseForm, name: str, choices: Iterable[Any]) -> None:
    """Set the choices of a select widget; a service validates the value. Raises TypeError for any other widget."""
    widget = form.fields[name].widget
    if not isinstance(widget, forms.Select):
        raise TypeError(f"The field “{name}” has no select widget.")
    widget.choices = list(choices)
