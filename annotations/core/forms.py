"""Form fields shared by several forms: lines, checkboxes, radio buttons, whole numbers, consent."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.text.names import MAX_ID, whole_number

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise

Result = TypeVar("Result")


class LineField(forms.CharField):
    """A line of text, for which browsers offer nothing that was typed before."""

    widget = forms.TextInput(attrs={"autocomplete": "off"})


class CheckField(forms.BooleanField):
    """A checkbox that may stay empty. Django's own demands a tick."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, **options)


class RadioField(forms.ChoiceField):
    """One of several choices, all of which the page shows."""

    widget = forms.RadioSelect


class WholeField(forms.IntegerField):
    """A whole number from 0, as `annotations.text.names` reads it: ASCII digits that fit a column.

    Every error gives the allowed range in the same sentence.
    """

    def __init__(
        self,
        *,
        label: "_StrOrPromise",
        least: int = 0,
        most: int = MAX_ID,
        required: bool = True,
        initial: int | None = None,
        help_text: "_StrOrPromise" = "",
        widget: forms.Widget | None = None,
    ) -> None:
        self.least, self.most = least, most
        super().__init__(
            label=label, required=required, initial=initial, help_text=help_text,
            widget=widget or forms.NumberInput(attrs={"inputmode": "numeric"}),
            min_value=least, max_value=None if most == MAX_ID else most,
        )  # fmt: skip

    def to_python(self, value: object) -> int | None:
        word = "" if value is None else str(value).strip()
        if not word:
            return None
        found = whole_number(word, self.most)
        if found is None or found < self.least:
            raise ValidationError(self._takes(), code="invalid")
        return found

    def _takes(self) -> str:
        limits = {"least": self.least, "most": self.most}
        if self.most == MAX_ID:
            return _("Enter a whole number, %(least)d or more.") % limits
        return _("Enter a whole number from %(least)d to %(most)d.") % limits


class WholesField(forms.Field):
    """Several whole numbers, such as the ids of ticked rows; [] without any."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: object) -> list[int]:
        values = value if isinstance(value, list | tuple) else []
        found = [number for each in values if (number := whole_number(str(each))) is not None]
        if len(found) < len(values):
            raise ValidationError(_("Select rows from the list only."), code="invalid")
        return found


class ConsentCheckbox(forms.CheckboxInput):
    """A checkbox that counts as ticked only for the value `yes`, so that a script that sends `no` has not agreed."""

    def __init__(self) -> None:
        super().__init__(attrs={"value": "yes"})

    def value_from_datadict(self, data: Mapping[str, object], files: object, name: str) -> bool:
        return data.get(name) == "yes"


# Choices of form fields that are known only when the form is created.


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


# Errors of services as errors of forms, so that the page keeps what the user typed.


def add_error(form: forms.BaseForm, error: ServiceError, fields: Mapping[str, str] | None = None) -> None:
    """Add the error to the field that its code maps to (`fields`, else a field of that name), or to the whole form."""
    field = (fields or {}).get(error.code, error.code)
    form.add_error(field if field in form.fields else None, str(error))


@contextmanager
def error_beside(form: forms.BaseForm, fields: Mapping[str, str] | None = None) -> Iterator[None]:
    """Add a ServiceError of the block to the form as `add_error` does, and go on after the block."""
    try:
        yield
    except ServiceError as error:
        add_error(form, error, fields)


def attempted(
    form: forms.BaseForm, act: Callable[[], Result], fields: Mapping[str, str] | None = None
) -> Result | None:
    """Call `act` if a form was sent and is valid. None if not, or if a service refuses; its error is in the form."""
    if form.is_valid():
        with error_beside(form, fields):
            return act()
    return None


def reasons(form: forms.BaseForm) -> list[str]:
    """Return the form's errors as sentences, for a page that doesn't show the form."""
    beside = [f"{field.label}: {reason}" for field in form for reason in field.errors]
    return [*map(str, form.non_field_errors()), *beside]


def valid(form: forms.BaseForm) -> dict[str, Any]:
    """Return the cleaned data of a form that a command filled in. Raises ServiceError `invalid` with all reasons."""
    if not form.is_valid():
        raise ServiceError(" ".join(reasons(form)), code="invalid")
    return form.cleaned_data
