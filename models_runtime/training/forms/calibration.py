"""The form that starts a calibration."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField


class CalibrationForm(forms.Form):
    """`author` is the author of the run. The service checks the run and the gold version."""

    author = WholeField(label=_("Run"))
    gold = WholeField(label=_("Gold version"))
