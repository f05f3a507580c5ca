from django import forms
from django.utils.translation import gettext_lazy as _


class ArchiveForm(forms.Form):
    """A project archive, and the short name of the project that it becomes."""

    archive = forms.FileField(
        label=_("Project archive"), help_text=_("The .zip that another project's settings or export_archive wrote.")
    )
    slug = forms.SlugField(
        label=_("Short name"),
        required=False,
        max_length=60,
        help_text=_("Part of the project's addresses. Empty: the short name that is written in the archive."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
