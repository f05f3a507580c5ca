"""The page on which a person chooses their own keys for labels; ?note=ID is the note that it was opened from."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotations.annotate.selectors.personal import KeyLine, key_lines, program_keys
from annotations.annotate.services.personal import check_key, reset_keys, set_keys
from annotations.core.access import Access, Can, notes_for
from annotations.core.forms import add_error
from annotations.core.requests import FORM, Request, in_project, number, posted
from annotations.core.services import ServiceError

# The form for a person's own keys, with a field for every label.


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


@in_project(Can.ANNOTATE, *FORM)
def keys(request: Request, access: Access) -> HttpResponse:
    """Show all labels with the project's key and one's own; a POST changes one's own, or with do=reset deletes them."""
    note = notes_for(access).only("id", "name").filter(pk=number(request.GET, "note") or 0).first()
    here = access.url("keys") + (f"?note={note.pk}" if note else "")
    if request.method == "POST" and request.POST.get("do") == "reset":
        reset_keys(access=access)
        messages.success(request, _("Your keys are reset to the project's keys."))
        return redirect(here)
    lines = key_lines(access.project.pk, access.user.pk)
    form = KeysForm(posted(request), lines=lines)
    if request.method == "POST" and form.is_valid() and _saved(request, access, form):
        return redirect(here)
    context = {
        "form": form,
        "note": note,
        "here": here,
        "program": program_keys(),
        "changed": any(line.changed for line in lines),
    }
    return render(request, "annotate/keys.html", context, status=422 if form.errors else 200)


def _saved(request: Request, access: Access, form: KeysForm) -> bool:
    try:
        lost = set_keys(access=access, keys=form.keys())
    except ServiceError as error:
        add_error(form, error)
        return False
    messages.success(request, _("Your keys are saved."))
    if lost:
        messages.warning(request, _("These labels have no key now: %(labels)s.") % {"labels": ", ".join(lost)})
    return True
