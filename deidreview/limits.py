"""Limits on the requests of one person: a number of requests in ten seconds, and a share of the threads.

Manual work stays far below both limits, also when a page sends the changes that an outage held back. A request beyond a
limit is answered with 429, a sentence and Retry-After; the scripts of the pages wait and send the request again.
"""

import mmap
import time
import zlib
from collections import Counter
from collections.abc import Callable
from functools import cache
from threading import Condition
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.core.sealing import OtherSecretKey
from annotations.core.services import LimitReached
from annotations.projects.services.accounts import client_ip
from deidreview.views import refusal

GetResponse = Callable[[HttpRequest], HttpResponse]
# Load balancers and Prometheus request these paths, always from the same addresses.
FREE = ("/healthz", "/readyz", "/metrics")
# Seconds that a request beyond a person's share of the threads waits until another request of that person ends.
PATIENCE = 0.5


class Windows:
    """Requests of each person in the current window, in memory that all web processes of one machine share.

    Forked web processes inherit the memory; without a fork a process counts alone. Counting takes no lock: if two
    processes count at the same moment, one count may be lost, which lets a person make a few more requests.
    """

    SLOTS: Final = 8192

    def __init__(self) -> None:
        # For each slot: the number of the window, and the requests in it.
        self._memory = mmap.mmap(-1, 16 * self.SLOTS)
        self._cells = memoryview(self._memory).cast("Q")

    def count(self, slot: int, weight: int = 1) -> int:
        """Count a request as `weight` requests. Return the total of this window."""
        window, at = int(time.time() // settings.REQUEST_WINDOW_SECONDS), 2 * (slot % self.SLOTS)
        if self._cells[at] != window:
            self._cells[at], self._cells[at + 1] = window, 0
        self._cells[at + 1] += weight
        return self._cells[at + 1]

    def clear(self) -> None:
        self._memory[:] = bytes(len(self._memory))


class Threads:
    """The threads of this process by person. A person gets half of them; a further request waits for a moment."""

    def __init__(self, threads: int) -> None:
        self.share = max(1, threads // 2)
        # At least one thread stays free for other people, even while a request waits.
        self._waiters = max(0, threads - self.share - 1)
        self._free = Condition()
        self._held: Counter[int] = Counter()
        self._waiting: Counter[int] = Counter()

    def take(self, who: int) -> bool:
        """Take a thread for this request. Return whether there was one; it must be given back afterwards."""
        with self._free:
            if self._held[who] >= self.share and not self._wait(who):
                return False
            self._held[who] += 1
            return True

    def _wait(self, who: int) -> bool:
        if self._waiting[who] >= self._waiters:
            return False
        self._waiting[who] += 1
        try:
            return self._free.wait_for(lambda: self._held[who] < self.share, PATIENCE)
        finally:
            self._drop(self._waiting, who)

    def give_back(self, who: int) -> None:
        with self._free:
            self._drop(self._held, who)
            self._free.notify_all()

    @staticmethod
    def _drop(counted: Counter[int], who: int) -> None:
        counted[who] -= 1
        if not counted[who]:
            del counted[who]


@cache
def threads_of_process(threads: int) -> Threads:
    """Return the threads of this process, which pages and the API share."""
    return Threads(threads)


windows = Windows()
# Requests of each API token.
token_windows = Windows()
# The first half of the slots is for people, the second for addresses.
HALF = Windows.SLOTS // 2


def count_address(address: str, weight: int = 1) -> int:
    """Count a request of a stranger as `weight` requests. Return the total of this window."""
    return windows.count(HALF + zlib.crc32(address.encode()) % HALF, weight)


def seconds_left() -> int:
    """Return the seconds until the next window."""
    return settings.REQUEST_WINDOW_SECONDS - int(time.time()) % settings.REQUEST_WINDOW_SECONDS


# A form sent without signing in counts as this many requests, because checking a password takes long.
SENT = 10


class RequestLimits:
    """Middleware that counts requests by person, or by address without sign-in, and answers 429 beyond a limit."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response
        self._threads = threads_of_process(settings.WEB_THREADS)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info in FREE:
            return self._get_response(request)
        if not request.user.is_authenticated:
            return self._stranger(request)
        who = int(request.user.pk)
        if windows.count(who % HALF) > settings.REQUESTS_PER_WINDOW:
            return _refused(request, _fast(), "requests", seconds_left())
        if not self._threads.take(who):
            return _refused(request, _fast(), "requests", 1)
        try:
            return self._get_response(request)
        finally:
            self._threads.give_back(who)

    def _stranger(self, request: HttpRequest) -> HttpResponse:
        """Answer a request without sign-in. Many people may share an address, so threads are not limited."""
        if count_address(client_ip(request), SENT if request.method == "POST" else 1) > settings.ANONYMOUS_PER_WINDOW:
            return _refused(request, _fast(), "requests", seconds_left())
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer a limit that a view reached, for example on jobs, and data that was sealed with another secret key."""
        if isinstance(exception, OtherSecretKey):
            return refusal(request, 503, exception.code, str(exception), "errors/sealed.html")
        if isinstance(exception, LimitReached):
            return _refused(request, str(exception), exception.code, exception.retry_after)
        return None


def _fast() -> str:
    return _("You sent too many requests at once. Wait a few seconds, then try again.")


def uploading(request: HttpRequest) -> HttpResponse:
    message = _("Another upload of yours is still running. Wait until it finishes, then upload these files.")
    return _refused(request, message, "uploads", settings.REQUEST_WINDOW_SECONDS)


def _jobs(request: HttpRequest, code: str) -> str:
    """Return the URL of the project's jobs if the limit on jobs was reached."""
    slug = request.resolver_match.kwargs.get("slug", "") if code == "jobs" and request.resolver_match else ""
    return reverse("jobs", args=[slug]) if slug else ""


def _refused(request: HttpRequest, message: str, code: str, retry_after: int) -> HttpResponse:
    response = refusal(request, 429, code, message, "errors/429.html", jobs=_jobs(request, code))
    response.headers["Retry-After"] = str(retry_after)
    return response
