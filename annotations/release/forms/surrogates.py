"""Forms of the pages of surrogates."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField
from annotations.release.services.surrogates.editing import MOST_TYPED

ACTS = ("lock", "unlock", "replace", "draw", "restore", "split")


class SearchForm(forms.Form):
    """Search for a name or a surrogate. The words are in the body of the request, never in an address."""

    text = forms.CharField(label=_("Name or surrogate"), max_length=MOST_TYPED)


class ChangeForm(forms.Form):
    """A change of one entity: what to do, and the version that the person saw."""

    act = forms.ChoiceField(choices=[(act, act) for act in ACTS])
    version = WholeField(label=_("Version"))
    text = forms.CharField(max_length=MOST_TYPED, required=False)
