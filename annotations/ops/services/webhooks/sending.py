"""Send waiting deliveries. The relay does this: the row of a delivery is the truth, whatever dies meanwhile.

A sender claims a row by one conditional update, sends the message, and writes how that went if it still has the claim.
A claim that expires makes the row free again, so a message can arrive twice; receivers know it by its id. The sender
that takes such a row counts the attempt that was interrupted, so that a message that ends every relay is given up too.
"""

import base64
import hashlib
import hmac
import json
import logging
import random
import re
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Final, TypedDict

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from annotations.core.sealing import OtherSecretKey, project_key
from annotations.models import Delivery, DeliveryState, Webhook, WebhookState
from annotations.ops.events import WEBHOOK_STOPPED
from annotations.ops.rules import HostError, HostList, Target, read_target
from annotations.ops.selectors.webhooks import TEST

# One request of a webhook over the network.
#
# The host is resolved once, and the connection goes to an address of that answer which the list of hosts allows, so
# that an answer that changes meanwhile changes nothing. TLS and the header Host still use the name. Only the status of
# the response is read: its body and redirects are of no interest, and whatever the server sends, the time limit holds.


SECONDS: Final = 10.0
"""Time limit of a request, from the connection to the status of the response."""
_MOST_HEAD: Final = 16 * 1024
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?\r?\n")
_END: Final = re.compile(rb"\r?\n\r?\n")
_ADDRESSES: Final = 3

Resolve = Callable[..., list[tuple[Any, Any, Any, Any, tuple[Any, ...]]]]


class NotSent(Exception):
    """The message did not arrive. `code` is a key of REASONS (annotations.ops.selectors.webhooks)."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class WebhookRequest:
    """A request: its URL, body and further headers."""

    url: str
    body: bytes
    headers: dict[str, str]


def post(
    posting: WebhookRequest, hosts: HostList, *, resolve: Resolve = socket.getaddrinfo, seconds: float = SECONDS
) -> int:
    """Send the request and return the status of the response. Raises NotSent."""
    try:
        target = read_target(posting.url)
    except HostError:
        raise NotSent("host") from None
    if not hosts.lists(target.host, target.port):
        raise NotSent("host")
    addresses = _addresses(target, hosts, resolve)
    until = time.monotonic() + seconds
    try:
        with _connected(addresses, target, until) as connection:
            connection.settimeout(_left(until))
            connection.sendall(_request(target, posting))
            return _status(connection, until)
    except ssl.SSLError:
        raise NotSent("tls") from None
    except TimeoutError:
        raise NotSent("time") from None
    except OSError:
        raise NotSent("connection") from None


def _addresses(target: Target, hosts: HostList, resolve: Resolve) -> list[str]:
    """The addresses of the host that may be reached. Raises NotSent if there are none."""
    try:
        found = resolve(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotSent("name") from None
    allowed = [str(sockaddr[0]) for *_, sockaddr in found if hosts.may_reach(str(sockaddr[0]))]
    if not allowed:
        raise NotSent("address" if found else "name")
    return list(dict.fromkeys(allowed))[:_ADDRESSES]


def _connected(addresses: list[str], target: Target, until: float) -> socket.socket:
    """A connection to the first address that answers. Raises OSError."""
    for number, address in enumerate(addresses, 1):
        try:
            connection = socket.create_connection((address, target.port), timeout=_left(until))
            break
        except OSError:
            if number == len(addresses):
                raise
    if target.scheme == "http":
        return connection
    try:
        connection.settimeout(_left(until))
        return _tls().wrap_socket(connection, server_hostname=target.host)
    except BaseException:
        connection.close()
        raise


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _request(target: Target, posting: WebhookRequest) -> bytes:
    headers = {
        "Host": target.authority,
        "Content-Type": "application/json",
        "Content-Length": str(len(posting.body)),
        "Connection": "close",
    } | posting.headers
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("ascii") + posting.body


def _status(connection: socket.socket, until: float) -> int:
    """The status of the response. Interim responses (RFC 9110, section 15.2) are skipped."""
    head = b""
    while len(head) < _MOST_HEAD:
        connection.settimeout(_left(until))
        data = connection.recv(4096)
        head += data
        while (found := _STATUS.match(head)) and found[1].startswith(b"1"):
            end = _END.search(head)
            if end is None:
                break
            head = head[end.end() :]
        if found and not found[1].startswith(b"1"):
            return int(found[1])
        if not data:
            break
    raise NotSent("answer")


def _left(until: float) -> float:
    """The seconds that are left. Raises TimeoutError if there are none."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


logger = logging.getLogger("deidreview.webhooks")
AT_ONCE: Final = 4
"""Requests at a time, at most one for each webhook."""
TRIES: Final = 7
FIRST_PAUSE: Final = 30
"""Seconds until the second try. Each further pause is four times as long: the seventh try is about 11 hours later."""
GIVE_UP: Final = 5
"""Deliveries in a row that failed for good, after which a webhook is stopped."""
KEPT_TRIES: Final = 20
KEPT: Final = timedelta(days=30)
CLAIM: Final = timedelta(seconds=60)
INTERRUPTED: Final = "interrupted"
SECRET: Final = "whsec_"  # noqa: S105 - the prefix of every secret, by which people recognize one


class Try(TypedDict):
    """An attempt: when, the status of the response (0 without one), the reason of a failure, and milliseconds.

    Of an attempt that was interrupted (INTERRUPTED), nobody knows the status and the milliseconds.
    """

    at: str
    status: int
    reason: str
    ms: int | None


def send_waiting() -> None:
    """Start sending what is due, in threads, so that a slow server doesn't keep the relay. The relay calls this."""
    for pk in _due()[: AT_ONCE - _sending.count()]:
        _sending.start(pk)


def send_now(pk: int) -> bool:
    """Send one delivery in this thread if it is due and free. Return whether a request was made."""
    claim = uuid.uuid4()
    with transaction.atomic():
        lost = Delivery.objects.filter(pk=pk).exclude(claim=None).only("claim", "claimed_until").first()
        free = _free().filter(pk=pk, claim=lost.claim if lost else None)
        if not free.update(claim=claim, claimed_until=Now() + CLAIM):
            return False
        row = Delivery.objects.select_related("webhook").get(pk=pk)
        if lost:
            at = (lost.claimed_until or timezone.now()) - CLAIM
            _write(row, claim, Try(at=at.isoformat(timespec="seconds"), status=0, reason=INTERRUPTED, ms=None))
    if lost:
        return send_now(pk)
    began = time.monotonic()
    status, reason = _sent(row)
    done = Try(
        at=timezone.now().isoformat(timespec="seconds"),
        status=status,
        reason=reason,
        ms=round((time.monotonic() - began) * 1000),
    )
    with transaction.atomic():
        _write(row, claim, done)
    return True


def forget_old() -> None:
    """Delete deliveries that are older than KEPT. The relay calls this every ten minutes."""
    Delivery.objects.filter(created_at__lt=timezone.now() - KEPT).delete()


def signature(secret: bytes, key: str, moment: int, body: bytes) -> str:
    """The signature of a message, as Standard Webhooks defines it: HMAC-SHA256 over id, time and body."""
    signed = hmac.new(secret, f"{key}.{moment}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed.digest()).decode()}"


def pause_after(tried: int) -> float:
    """Seconds until the next try, after this many. Up to a tenth more, so that retries spread."""
    return float(FIRST_PAUSE * 4 ** (tried - 1)) * random.uniform(1, 1.1)  # noqa: S311 - no secret


def _free() -> Any:
    rows = Delivery.objects.filter(state=DeliveryState.WAITING, due_at__lte=Now(), webhook__project__archived_at=None)
    switched_on = Q(webhook__state=WebhookState.ON) | Q(kind=TEST)
    return rows.filter(switched_on, Q(claimed_until=None) | Q(claimed_until__lt=Now()))


def _due() -> list[int]:
    """The ids of due deliveries, one for each webhook, the oldest first."""
    busy = Delivery.objects.filter(state=DeliveryState.WAITING, claimed_until__gte=Now())
    rows = _free().exclude(webhook__in=busy.values("webhook")).order_by("due_at", "id")
    first: dict[int, int] = {}
    for pk, webhook in rows.values_list("pk", "webhook")[:100]:
        first.setdefault(webhook, pk)
    return list(first.values())


def _sent(row: Delivery) -> tuple[int, str]:
    """The status of the response, or 0 and the reason why there is none."""
    try:
        secret = base64.b64decode(project_key(row.webhook.project_id).open(bytes(row.webhook.sealed)))
    except OtherSecretKey:
        return 0, "secret"
    moment, key = int(time.time()), str(row.key)
    body = json.dumps(
        {"type": row.kind, "timestamp": row.created_at.isoformat(timespec="seconds"), "data": row.data},
        separators=(",", ":"),
        sort_keys=True,
    ).encode()
    headers = {
        "User-Agent": f"deidreview/{settings.VERSION}",
        "webhook-id": key,
        "webhook-timestamp": str(moment),
        "webhook-signature": signature(secret, key, moment, body),
    }
    try:
        status = post(WebhookRequest(row.webhook.url, body, headers), settings.WEBHOOK_HOSTS)
    except NotSent as error:
        return 0, error.code
    return status, "" if 200 <= status < 300 else "redirect" if 300 <= status < 400 else "status"


def _write(row: Delivery, claim: uuid.UUID, done: Try) -> None:
    """Write how an attempt went. Nothing is written if the row was put in line again or deleted meanwhile."""
    tried, delivered = row.tried + 1, not done["reason"]
    interrupted = done["reason"] == INTERRUPTED
    over = delivered or tried >= TRIES or (row.kind == TEST and not interrupted)
    changes: dict[str, Any] = {"tries": [*row.tries, done][-KEPT_TRIES:], "tried": tried}
    changes |= {"claim": None, "claimed_until": None}
    if over:
        changes["state"] = DeliveryState.DELIVERED if delivered else DeliveryState.FAILED
    elif not interrupted:
        changes["due_at"] = timezone.now() + timedelta(seconds=pause_after(tried))
    webhook = Webhook.objects.select_for_update(of=("self",)).filter(pk=row.webhook_id).first()
    if not Delivery.objects.filter(pk=row.pk, claim=claim).update(**changes) or webhook is None:
        return
    if delivered and webhook.given_up:
        Webhook.objects.filter(pk=webhook.pk).update(given_up=0)
    elif over and not delivered and row.kind != TEST:
        _count_failure(webhook)


def _count_failure(webhook: Webhook) -> None:
    """Count a delivery that failed for good, and stop the webhook after GIVE_UP of them in a row."""
    webhook.given_up += 1
    if webhook.given_up >= GIVE_UP and webhook.state == WebhookState.ON:
        webhook.state = WebhookState.STOPPED
        WEBHOOK_STOPPED.record(project_id=webhook.project_id, data={"webhook": webhook.pk})
    webhook.save(update_fields=["given_up", "state"])


class _SenderThreads:
    """The threads that send. They are daemons: if the relay ends, claims expire, and the messages are sent again."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._lock = threading.Lock()

    def count(self) -> int:
        return len(self._open)

    def start(self, pk: int) -> None:
        with self._lock:
            if pk in self._open:
                return
            self._open.add(pk)
        threading.Thread(target=self._run, args=(pk,), name="webhook", daemon=True).start()

    def _run(self, pk: int) -> None:
        try:
            send_now(pk)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("A webhook's delivery was interrupted by a database error (%s)", type(error).__name__)
        finally:
            connection.close()
            with self._lock:
                self._open.discard(pk)


_sending = _SenderThreads()
