"""Errors of services as errors of forms, so that the page keeps what the user typed."""

from collections.abc import Mapping
from typing import Any

from django import forms

from annotations.core.errors import ServiceError


def add_error(form: forms.BaseForm, error: ServiceError, fields: Mapping[str, str] | None = None) -> None:
    """Add the error to the field that its code maps to (`fields`, else a field of that name), or to the whole form."""
    field = (fields or {}).get(error.code, error.code)
    form.add_error(field if field in form.fields else None, str(error))


def reasons(form: forms.BaseForm) -> list[str]:
    """Return the form's errors as sentences, for a page that doesn't show the form."""
    beside = [f"{field.label}: {reason}" for field in form for reason in field.errors]
    return [*map(str, form.non_field_errors()), *beside]


def valid(form: forms.BaseForm) -> dict[str, Any]:
    """Return the cleaned data of a form that a command filled in. Raises ServiceError `invalid` with all reasons."""
    if not form.is_valid():
        raise ServiceError(" ".join(reasons(form)), code="invalid")
    return form.cleaned_data
