"""The consent to send notes to another machine: one rule for all kinds of servers."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from models_runtime.backends.listed import Listed


def check_consent(chosen: Sequence[Listed], *, may_leave: bool) -> None:
    """Raise ServiceError `leaves` if notes would leave this machine and `may_leave` is not set."""
    hosts = sorted({server.host for server in chosen if server.leaves_machine})
    if hosts and not may_leave:
        raise ServiceError(
            _(
                "The notes would be sent to another machine (%(choices)s). Nothing was sent. Confirm that they "
                "may be sent."
            )
            % {"choices": ", ".join(hosts)},
            code="leaves",
        )
