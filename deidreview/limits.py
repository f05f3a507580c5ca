"""What one person may ask of the web server: so many requests in ten seconds, and not all threads at once.

Work by hand, and an outbox that sends what an outage held back, stay far below both. Whoever goes beyond is answered
with 429, a sentence and Retry-After; the scripts of the pages wait and send again.
"""

import mmap
import time
import zlib
from collections import Counter
from collections.abc import Callable
from threading import Condition
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.core.errors import LimitReached
from deidreview.answers import wants_fragment, wants_json
from deidreview.lockout import client_ip

GetResponse = Callable[[HttpRequest], HttpResponse]
# Asked by load balancers, always from the same addresses.
FREE = ("/healthz",)
# Seconds that a request beyond one's share of the threads waits for one of the same person's to end.
PATIENCE = 0.5


class Windows:
    """Requests of each person in the present window, in memory that all web processes of one machine share.

    Forked web processes inherit it; without a fork a process counts for itself. Counting takes no lock: two processes
    that count at the very same moment may lose one of the two, which lets a person make a few requests more.
    """

    SLOTS: Final = 8192

    def __init__(self) -> None:
        # For each slot the window's number and the requests in it.
        self._cells = memoryview(mmap.mmap(-1, 16 * self.SLOTS)).cast("Q")

    def count(self, slot: int, weight: int = 1) -> int:
        """Count a request as `weight` of them, and say how many there are in this window."""
        window, at = int(time.time() // settings.REQUEST_WINDOW_SECONDS), 2 * (slot % self.SLOTS)
        if self._cells[at] != window:
            self._cells[at], self._cells[at + 1] = window, 0
        self._cells[at + 1] += weight
        return self._cells[at + 1]

    def clear(self) -> None:
        for at in range(0, 2 * self.SLOTS, 2):
            self._cells[at] = 0


class Threads:
    """Who has how many of this process's threads. A person gets half of them; one request more waits for a moment."""

    def __init__(self, threads: int) -> None:
        self.share = max(1, threads // 2)
        # At least one thread stays for others, also while somebody waits.
        self._waiters = max(0, threads - self.share - 1)
        self._free = Condition()
        self._held: Counter[int] = Counter()
        self._waiting: Counter[int] = Counter()

    def take(self, who: int) -> bool:
        """Whether there is a thread for this request; it must be given back then."""
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


windows = Windows()
# People's slots lie apart from addresses'.
HALF = Windows.SLOTS // 2
# So many requests is a form that a stranger sends: checking a password takes a while.
SENT = 10


class RequestLimits:
    """Counts requests by person, or by address where nobody is signed in; answers what is beyond a limit with 429."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response
        self._threads = Threads(settings.WEB_THREADS)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info in FREE:
            return self._get_response(request)
        if not request.user.is_authenticated:
            return self._stranger(request)
        who = int(request.user.pk)
        if windows.count(who % HALF) > settings.REQUESTS_PER_WINDOW:
            return _too_fast(request)
        if not self._threads.take(who):
            return _refused(request, _fast(), "requests", 1)
        try:
            return self._get_response(request)
        finally:
            self._threads.give_back(who)

    def _stranger(self, request: HttpRequest) -> HttpResponse:
        """Many people may share an address, so their threads aren't counted; but trying passwords is slow."""
        slot = HALF + zlib.crc32(client_ip(request).encode()) % HALF
        if windows.count(slot, SENT if request.method == "POST" else 1) > settings.ANONYMOUS_PER_WINDOW:
            return _too_fast(request)
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """A limit that a view ran into, of jobs say."""
        if not isinstance(exception, LimitReached):
            return None
        return _refused(request, str(exception), exception.code, exception.retry_after)


def _too_fast(request: HttpRequest) -> HttpResponse:
    window = settings.REQUEST_WINDOW_SECONDS
    return _refused(request, _fast(), "requests", window - int(time.time()) % window)


def _fast() -> str:
    return _("You sent more requests than the server takes at a time. Wait a few seconds, then try again.")


def uploading(request: HttpRequest) -> HttpResponse:
    message = _("You are sending other files at the moment. Wait until they have arrived, then send these.")
    return _refused(request, message, "uploads", settings.REQUEST_WINDOW_SECONDS)


def _jobs(request: HttpRequest, code: str) -> str:
    """Where the project's jobs are listed, if it is jobs that are too many."""
    slug = request.resolver_match.kwargs.get("slug", "") if code == "jobs" and request.resolver_match else ""
    return reverse("jobs", args=[slug]) if slug else ""


def _refused(request: HttpRequest, message: str, code: str, retry_after: int) -> HttpResponse:
    """The sentence as JSON for scripts, as plain text for htmx, which shows it above the page, else as a page."""
    if wants_json(request):
        response: HttpResponse = JsonResponse({"error": code, "message": message}, status=429)
    elif wants_fragment(request):
        response = HttpResponse(message, status=429, content_type="text/plain; charset=utf-8")
    else:
        response = render(request, "errors/429.html", {"message": message, "jobs": _jobs(request, code)}, status=429)
    response.headers["Retry-After"] = str(retry_after)
    return response
