"""Idempotency keys: a POST that is sent again with the same key gets the same answer, without a second effect.

An answer with a secret that is shown once is not stored: a repeated request learns that the first one was carried out.

The key is claimed in a transaction of its own, so that a simultaneous second request sees the claim. The effect and the
stored answer are one transaction: after a crash either both are there, or neither and the claim can be taken over.
"""

import base64
import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.crypto import salted_hmac
from django.utils.http import parse_etags
from django.utils.translation import gettext as _

from annotations.core.access import Can
from annotations.core.api.routes import ApiRequest, Problem, ShownOnce, enter
from annotations.core.sealing import instance_fernet, opened_by_instance, project_key
from annotations.core.services import ServiceError
from annotations.models import ApiAnswer, Project

# How long answers to requests with an idempotency key are kept, and what an erasure leaves of them.


KEPT: Final = timedelta(hours=24)


def forget_answers() -> None:
    """Delete answers that were kept long enough."""
    ApiAnswer.objects.filter(created_at__lt=timezone.now() - KEPT).delete()


def empty_answers(*, project: Project, **_about: object) -> None:
    """Delete what answers in a project and their requests say, since they may name notes that are erased."""
    ApiAnswer.objects.filter(project=project).update(sealed=None, fingerprint="")


HEADER: Final = "Idempotency-Key"
# A request that runs longer than this lost its claim: another one may run in its place.
CLAIM: Final = timedelta(minutes=2)
_LONGEST: Final = 255
_PURPOSE: Final = "answers of the API"
# Answers that a later request with the same key may get differently.
_PASSING: Final = frozenset({401, 408, 429})


def answered_once(
    request: ApiRequest, act: Callable[[], HttpResponseBase], secret: ShownOnce | None = None
) -> HttpResponseBase:
    """Return the answer of `act`, or the stored one if the request was sent before with its idempotency key.

    `secret` is what the route shows once, if anything. Raises Problem: 409 while the first request runs or if its
    answer had the secret, 422 if the key was used for another request. Who has lost a right since gets what `enter`
    raises.
    """
    key = request.headers.get(HEADER, "")
    if request.method != "POST" or not key:
        return act()
    if len(key) > _LONGEST:
        raise Problem(400, "idempotency-key", _("The header Idempotency-Key can have at most 255 characters."))
    digest = salted_hmac(f"{_PURPOSE}, key", key, algorithm="sha256").hexdigest()
    row, claimed = _claim(request, digest, fingerprint(request))
    return _act(request, row, act, secret) if claimed else _again(request, row, secret)


def fingerprint(request: HttpRequest) -> str:
    """Return a keyed digest of the method, the path and what was sent, which may be text of notes."""
    hashing = salted_hmac(_PURPOSE, b"", algorithm="sha256")
    hashing.update(f"{request.method} {request.get_full_path()} {request.content_type}\n".encode())
    if request.content_type != "multipart/form-data":
        hashing.update(request.body)
        return hashing.hexdigest()
    hashing.update(json.dumps(sorted(request.POST.lists())).encode())
    for name, files in sorted(request.FILES.lists()):
        for file in files:
            hashing.update(json.dumps([name, file.name, file.size]).encode())
            for chunk in file.chunks():
                hashing.update(chunk)
            file.seek(0)
    return hashing.hexdigest()


def _claim(request: ApiRequest, key: str, mark: str) -> tuple[ApiAnswer, bool]:
    """Return the row of the key, and whether this request may run. Raises Problem if another one does."""
    now, claim = timezone.now(), uuid.uuid4()
    found = ApiAnswer.objects.filter(token=request.token, key=key)
    found.filter(created_at__lt=now - KEPT).delete()
    with transaction.atomic():
        row = ApiAnswer(token=request.token, key=key, fingerprint=mark, claim=claim, claimed_at=now)
        ApiAnswer.objects.bulk_create([row], ignore_conflicts=True)
        taken = found.filter(fingerprint=mark, status=None, claimed_at__lt=now - CLAIM)
        taken.update(claim=claim, claimed_at=now)
    row = found.get()
    if row.claim == claim:
        return row, True
    if row.fingerprint and row.fingerprint != mark:
        message = _("This Idempotency-Key was used for another request. Use a new key for each request.")
        raise Problem(422, "idempotency-key", message, errors=[(HEADER, _("The key belongs to another request."))])
    if row.status is None:
        message = _("The first request with this Idempotency-Key is still running. Send it again in a moment.")
        raise Problem(409, "in-progress", message, headers={"Retry-After": "1"})
    return row, False


def _act(
    request: ApiRequest, row: ApiAnswer, act: Callable[[], HttpResponseBase], secret: ShownOnce | None
) -> HttpResponseBase:
    mine = ApiAnswer.objects.filter(pk=row.pk, claim=row.claim)
    begun = _project(request)
    try:
        with transaction.atomic():
            response = act()
            if response.status_code >= 400:
                transaction.set_rollback(True)
            elif not mine.update(**_columns(request, response, secret, begun)):
                raise Problem(409, "in-progress", _("Another request with this Idempotency-Key took over."))
    except BaseException:
        mine.delete()
        raise
    if response.status_code >= 500 or response.status_code in _PASSING:
        mine.delete()
    elif response.status_code >= 400:
        mine.update(**_columns(request, response, None, begun))
    return response


def _project(request: ApiRequest) -> Project | None:
    slug = request.resolver_match.kwargs.get("slug") if request.resolver_match else None
    return Project.objects.filter(slug=slug).first() if slug else None


def _columns(
    request: ApiRequest, response: HttpResponseBase, secret: ShownOnce | None, begun: Project | None
) -> dict[str, object]:
    """What to store of an answer: nothing that it says if notes of its project were erased since `begun` was read."""
    assert isinstance(response, HttpResponse)  # Only reads are streamed.
    project = _project(request)
    if project is not None and begun is not None and project.erasures != begun.erasures:
        return {"status": response.status_code, "sealed": None, "fingerprint": "", "project": project}
    said: dict[str, object] = {"headers": dict(response.headers), "body": base64.b64encode(response.content).decode()}
    if secret is not None and json.loads(response.content)[secret.field]:
        said = {"shown_once": True}
    said["entered"] = request.entered
    # With the key of the project, which is deleted with the project.
    sealed = (
        project_key(project).seal(said) if project else instance_fernet(_PURPOSE).encrypt(json.dumps(said).encode())
    )
    return {"status": response.status_code, "sealed": sealed, "project": project}


def _again(request: ApiRequest, row: ApiAnswer, secret: ShownOnce | None) -> HttpResponse:
    """Return the stored answer. Raises Problem (409) where it was not stored, or was deleted."""
    if row.sealed is None:
        message = _("The request was carried out. Its answer was deleted, since notes of the project were erased.")
        raise Problem(409, "erased", message)
    sealed = bytes(row.sealed)
    said = (
        project_key(row.project_id).open(sealed) if row.project_id else json.loads(opened_by_instance(_PURPOSE, sealed))
    )
    for slug, right in said["entered"]:
        enter(request, slug, Can(right))
    if "shown_once" in said:
        done = _("The request was carried out. Its answer had a secret that is shown only once and is not stored.")
        raise Problem(409, "shown-once", f"{done} {secret.again}" if secret else done)
    headers = said["headers"] | {"Idempotency-Replayed": "true"}
    return HttpResponse(base64.b64decode(said["body"]), status=row.status, headers=headers)


# ETags: of answers, so that a client needn't load them again, and of annotation sets, so that no change gets lost.


def with_etag(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Give a read's answer an ETag if it has none, and answer 304 if the client has the same one (If-None-Match)."""
    if request.method != "GET" or response.status_code != 200 or not isinstance(response, HttpResponse):
        return response
    if "ETag" not in response.headers:
        response.headers["ETag"] = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    return get_conditional_response(request, etag=response.headers["ETag"], response=response) or response


def check_if_match(request: HttpRequest, current: str) -> bool:
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
def unless_stale(current: Callable[[], str], *, code: str = "stale") -> Iterator[None]:
    """Turn the ServiceError with this code into the problem of `outdated`, with the ETag that `current` returns."""
    try:
        yield
    except ServiceError as error:
        if error.code != code:
            raise
        raise outdated(current()) from error
