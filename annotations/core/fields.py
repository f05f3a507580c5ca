"""Form fields shared by several forms: whole numbers, and a checkbox for explicit consent."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from annotations.text.numbers import MAX_ID, whole

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise


class WholeField(forms.IntegerField):
    """A whole number from 0, as `annotations.text.numbers` reads it: ASCII digits that fit a column.

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
        found = whole(word, self.most)
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
        found = [number for each in values if (number := whole(str(each))) is not None]
        if len(found) < len(values):
            raise ValidationError(_("Select rows from the list only."), code="invalid")
        return found


class Agreed(forms.CheckboxInput):
    """A checkbox that counts as ticked only for the value `yes`, so that a script that sends `no` has not agreed."""

    def __init__(self) -> None:
        super().__init__(attrs={"value": "yes"})

    def value_from_datadict(self, data: Mapping[str, object], files: object, name: str) -> bool:
        return data.get(name) == "yes"
