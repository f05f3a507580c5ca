"""A service's refusal, shown where it belongs in the form; what was typed stays."""

from collections.abc import Mapping

from django import forms

from annotations.core.errors import ServiceError


def sentence(words: object) -> str:
    """Plain words as a sentence: services write them so that commands can put a prefix before them."""
    text = str(words).strip()
    if text and not text.endswith((".", "?", "!")):
        text += "."
    return text[:1].upper() + text[1:]


def refuse(form: forms.BaseForm, error: ServiceError, fields: Mapping[str, str] | None = None) -> None:
    """Put the refusal beside the field that its code belongs to (`fields`, else a field of that name), or on top."""
    field = (fields or {}).get(error.code, error.code)
    form.add_error(field if field in form.fields else None, sentence(error))
