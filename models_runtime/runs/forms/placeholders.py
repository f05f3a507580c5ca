"""The form that chooses labels for the placeholders of rewritten notes that are no label's."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.models import Label
from models_runtime.runs.services.external import Choice

LATER = "?"
MOST = 200


class PlaceholderForm(forms.Form):
    """Has a field for each placeholder, by number: a label's code, empty to drop its spans, or LATER."""

    def __init__(self, *args: Any, choices: Sequence[Choice], labels: Sequence[Label], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._words = [choice.label for choice in choices[:MOST]]
        offered = [
            (LATER, str(_("Decide later"))),
            *((row.code, row.name) for row in labels),
            ("", str(_("Nothing (drop these spans)"))),
        ]
        for choice in choices[:MOST]:
            self.fields[f"placeholder:{choice.label}"] = forms.ChoiceField(
                label=choice.label,
                required=False,
                choices=offered,
                initial=LATER if choice.ours is None else choice.ours,
                error_messages={"invalid_choice": _("This project has no label %(value)s. Choose from the list.")},
            )

    def rows(self) -> list[forms.BoundField]:
        return [self[f"placeholder:{word}"] for word in self._words]

    def clean(self) -> dict[str, Any]:
        """A placeholder whose field was not sent, for example because it was decided meanwhile, is decided later."""
        known = super().clean() or self.cleaned_data
        return {name: value if name in self.data else LATER for name, value in known.items()}

    @property
    def decided(self) -> dict[str, str]:
        """Label codes, or empty strings, by placeholder."""
        found = {word: self.cleaned_data[f"placeholder:{word}"] for word in self._words}
        return {word: code for word, code in found.items() if code != LATER}
