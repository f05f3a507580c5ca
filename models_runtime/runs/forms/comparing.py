"""The form for a comparison: authors, gold version and split."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField, WholesField

# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {"number": "a", "author": "a", "notes": "a", "version": "gold", "language": "language"}


class StrategiesForm(forms.Form):
    """`gold` is the number of a version. The view checks the choices."""

    gold = WholeField(label=_("Gold"), required=False)
    language = forms.CharField(label=_("Language"), max_length=8, required=False)
    split = forms.CharField(label=_("Notes of"), max_length=10, required=False)


class CompareForm(forms.Form):
    """`gold` is the number of a version, or 0 for the current gold; `a` are ids of authors. The service checks them."""

    gold = WholeField(label=_("Gold"), required=False)
    a = WholesField(label=_("Annotation sets"), required=False)
    language = forms.CharField(label=_("Language"), max_length=8, required=False)
    split = forms.CharField(label=_("Notes of"), max_length=10, required=False)
