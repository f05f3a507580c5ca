"""The form for a person's own keys, with a field for every label."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from annotations.annotate.selectors.personal import KeyLine
from annotations.annotate.services.personal import check_key
from annotations.core.errors import ServiceError


class KeysForm(forms.Form):
    """One field `key-<label id>` for each label; its initial value is the key in use."""

    def __init__(self, *args: Any, lines: Sequence[KeyLine], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lines = lines
        for line in lines:
            self.fields[self._name(line)] = forms.CharField(
                label=_("Key of %(label)s") % {"label": line.label["name"]},
                max_length=1,
                required=False,
                initial=line.key,
                widget=forms.TextInput(attrs={"class": "key", "autocomplete": "off", "autocapitalize": "none"}),
            )

    @staticmethod
    def _name(line: KeyLine) -> str:
        return f"key-{line.label['id']}"

    def rows(self) -> list[tuple[KeyLine, forms.BoundField]]:
        return [(line, self[self._name(line)]) for line in self.lines]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        # A key from before it was reserved stays until it is changed.
        kept = {self._name(line): line.key for line in self.lines}
        for name, key in list(cleaned.items()):
            try:
                cleaned[name] = key if key == kept.get(name) else check_key(key)
            except ServiceError as error:
                self.add_error(name, ValidationError(str(error)))
        return cleaned

    def keys(self) -> dict[int, str]:
        """The submitted key of each label, without labels that were added after the page was loaded."""
        return {
            line.label["id"]: self.cleaned_data[self._name(line)]
            for line in self.lines
            if self.add_prefix(self._name(line)) in self.data
        }
