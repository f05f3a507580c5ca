"""What a field offers, where that is known only when the form is made."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import QuerySet


def offer(form: forms.BaseForm, name: str, choices: Iterable[Any]) -> None:
    """Give a choice field its choices. Raises TypeError for another kind of field."""
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"{name} is no choice field")
    field.choices = list(choices)


def offer_rows(form: forms.BaseForm, name: str, rows: QuerySet[Any]) -> None:
    """Give a field of rows those that may be chosen. Raises TypeError for another kind of field."""
    field = form.fields[name]
    if not isinstance(field, forms.ModelChoiceField):
        raise TypeError(f"{name} offers no rows")
    field.queryset = rows
