"""Why an attempt failed, as a sentence for people."""

from typing import Final

from django.utils.translation import gettext_lazy as _

REASONS: Final = {
    "host": _("The host is not on the list of this instance any more. Ask the administrator."),
    "name": _("The name of the host can't be resolved. Check the address."),
    "address": _("The host has an address that is not public and not listed. Ask the administrator."),
    "connection": _("The server doesn't accept the connection, or ended it. Check that it runs."),
    "tls": _("The encryption failed. Check the server's certificate."),
    "time": _("The server took too long. It must answer within 10 seconds."),
    "answer": _("The server's answer is not HTTP."),
    "redirect": _("The server redirects, which is never followed. Enter its exact address."),
    "status": _("The server refused the message."),
    "interrupted": _("The attempt was interrupted before its result was stored. The message may have arrived."),
    "secret": _("The secret can't be read with the key of this instance. Make a new secret."),
}
