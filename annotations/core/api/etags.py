"""ETags: of answers, so that a client needn't load them again, and of annotation sets, so that no change gets lost."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import parse_etags
from django.utils.translation import gettext as _

from annotations.core.api.routes import Problem
from annotations.core.services import ServiceError


def with_etag(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Give a read's answer an ETag if it has none, and answer 304 if the client has the same one (If-None-Match)."""
    if request.method != "GET" or response.status_code != 200 or not isinstance(response, HttpResponse):
        return response
    if "ETag" not in response.headers:
        response.headers["ETag"] = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    return get_conditional_response(request, etag=response.headers["ETag"], response=response) or response


def matched(request: HttpRequest, current: str) -> bool:
    """Check the header If-Match of a change. Return whether the change must keep to this ETag: not for `*`.

    Raises Problem 428 without the header, and 412 if it names another ETag.
    """
    given = request.headers.get("If-Match", "")
    if not given:
        message = _("Send the header If-Match with the ETag of what you read, so that no newer change gets lost.")
        raise Problem(428, "if-match", message)
    wanted = parse_etags(given)
    if wanted == ["*"]:
        return False
    if current not in wanted:
        raise outdated(current)
    return True


def outdated(current: str) -> Problem:
    """Return the problem (412) of a change to something that has changed since it was read."""
    message = _("This has changed since you read it. Nothing was saved. Read it again, then repeat your change.")
    return Problem(412, "changed", message, headers={"ETag": current})


@contextmanager
def unless_stale(current: Callable[[], str]) -> Iterator[None]:
    """Turn the ServiceError `stale` into the problem of `outdated`, with the ETag that `current` returns then."""
    try:
        yield
    except ServiceError as error:
        if error.code != "stale":
            raise
        raise outdated(current()) from error
