"""The form of a webhook: its address, and the events that it wants."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.ops.selectors.webhooks.kinds import KINDS
from annotations.ops.services.webhooks.webhooks import LONGEST


class WebhookForm(forms.Form):
    """`url` is checked against the list of hosts by the service."""

    url = forms.CharField(
        label=_("Address"),
        max_length=LONGEST,
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "https://"}),
        help_text=_("The URL that receives the messages. Its host must be on the list of this instance."),
        error_messages={"required": _("Enter the address.")},
    )
    kinds = forms.MultipleChoiceField(
        label=_("Events"),
        choices=list(KINDS.items()),
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": _("Choose at least one event."),
            "invalid_choice": _("There is no event %(value)s. Choose from the list."),
        },
    )
