"""Figures for Prometheus, and the outermost middleware, which gives each request an id, and counts and times it.

The figures hold no note data and no names of projects, people or notes, only of views and kinds.

Every web process counts its requests in a file of a folder that all of them share (PROMETHEUS_MULTIPROC_DIR, made by
deidreview.gunicorn), so that any of them can answer with the sums. Figures of jobs come from the database.
"""

import re
import secrets
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import DatabaseError
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.values import MutexValue, ValueClass

from annotations.core.services import LimitReached
from annotations.jobs.services.relay import QueueRow, queue_rows
from annotations.models import Job, JobState
from annotations.projects.services.accounts import forwarded
from deidreview.logs import request_id

# In the process that counts; without a shared folder (in tests), also the registry that answers.
OWN = CollectorRegistry()
# Seconds. Saving a span takes a few milliseconds; the last limits are for uploads.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
REQUESTS = Counter(
    "deidreview_requests", "Requests by view, method and status.", ["view", "method", "status"], registry=OWN
)
SECONDS = Histogram(
    "deidreview_request_seconds", "Seconds until the response.", ["view"], buckets=BUCKETS, registry=OWN
)
ERRORS = Counter(
    "deidreview_errors", "Exceptions that no view handled, by view and type.", ["view", "type"], registry=OWN
)
ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELED)
GetResponse = Callable[[HttpRequest], HttpResponse]
HEADER = "X-Request-ID"
# A proxy's own id is kept, if it can't be anything but an id.
_FROM_PROXY = re.compile(r"[A-Za-z0-9-]{8,64}")
# Django answers these with a page of their own; the status of the response says so.
ANSWERED = (Http404, PermissionDenied, SuspiciousOperation, LimitReached)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class ViewCounter:
    """Counts by the names of views, never by URLs: a URL names projects."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        name = _id_of(request)
        # Not reset afterwards, since Django logs the status of a response when the middleware has ended.
        request_id.set(name)
        response = self._get_response(request)
        view = _view(request)
        method = request.method if request.method in METHODS else "other"
        REQUESTS.labels(view, method, response.status_code).inc()
        SECONDS.labels(view).observe(time.perf_counter() - began)
        response.headers[HEADER] = name
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        if not isinstance(exception, ANSWERED):
            ERRORS.labels(_view(request), type(exception).__name__).inc()


def _id_of(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "") if settings.PROXIES else ""
    return given if _FROM_PROXY.fullmatch(given) else secrets.token_hex(8)


def _view(request: HttpRequest) -> str:
    """The name of the view; “static” for static files, “none” where no view was reached."""
    if request.path_info.startswith(f"/{settings.STATIC_URL.strip('/')}/"):
        return "static"
    match = request.resolver_match
    return (match.view_name if match else "") or "none"


def may_read(request: HttpRequest) -> bool:
    """Say whether a request may read the metrics: by its token, or by the address that it comes from."""
    if settings.METRICS_TOKEN and constant_time_compare(
        request.headers.get("Authorization", ""), f"Bearer {settings.METRICS_TOKEN}"
    ):
        return True
    # A proxy that DEIDREVIEW_PROXIES does not count hides the client's address behind its own.
    through = any(name in request.headers for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"))
    if through and not forwarded(request):
        return False
    try:
        client = ip_address((forwarded(request) or request.META.get("REMOTE_ADDR", "")).strip())
    except ValueError:
        return False
    if isinstance(client, IPv6Address) and client.ipv4_mapped:
        client = client.ipv4_mapped
    return any(client in network for network in settings.METRICS_FROM)


def text() -> bytes:
    """Return all figures in Prometheus' text format."""
    registry = CollectorRegistry()
    if ValueClass is not MutexValue:
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # it has no types there
    else:
        registry.register(OWN)
    registry.register(Jobs())
    return generate_latest(registry)


class Jobs:
    """The figures of jobs and workers at this moment."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("deidreview_database_up", "1 if the database answers.")
        try:
            rows = queue_rows()
            counted = list(Job.objects.order_by().values_list("queue", "kind", "state").annotate(count=Count("id")))
        except DatabaseError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from _jobs(counted)
        yield from _queues(rows)


def _jobs(counted: list[tuple[str, str, str, int]]) -> Iterator[Metric]:
    depth: Tally[tuple[str, str]] = Tally(
        {(queue, state): 0 for queue in Job.Queue.values for state in JobState.values if state not in ENDED}
    )
    ended: Tally[tuple[str, str]] = Tally()
    for queue, kind, state, count in counted:
        if state in ENDED:
            ended[kind, state] += count
        else:
            depth[queue, state] += count
    depths = GaugeMetricFamily("deidreview_queue_jobs", "Jobs that have not ended.", labels=["queue", "state"])
    outcomes = GaugeMetricFamily("deidreview_ended_jobs", "Jobs that have ended.", labels=["kind", "outcome"])
    for metric, numbers in ((depths, depth), (outcomes, ended)):
        for labels, count in sorted(numbers.items()):
            metric.add_metric(labels, count)
        yield metric


def _queues(rows: list[QueueRow]) -> Iterator[Metric]:
    oldest = GaugeMetricFamily(
        "deidreview_queue_oldest_seconds", "How long the oldest waiting job has waited.", labels=["queue"]
    )
    workers = GaugeMetricFamily("deidreview_workers", "Running workers of a queue.", labels=["queue", "state"])
    redis = GaugeMetricFamily("deidreview_redis_up", "1 if Redis answers.")
    for row in rows:
        oldest.add_metric([row.queue], row.oldest or 0)
        if row.workers is not None and row.idle is not None:
            workers.add_metric([row.queue, "idle"], row.idle)
            workers.add_metric([row.queue, "busy"], row.workers - row.idle)
    redis.add_metric([], int(all(row.workers is not None for row in rows)))
    yield from (oldest, workers, redis)
