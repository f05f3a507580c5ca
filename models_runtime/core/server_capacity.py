"""Share a server's limit of simultaneous requests among all workers."""

import time
import uuid

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from models_runtime.backends.llm.servers import Server
from models_runtime.models import ServerCapacity

# How often a worker checks which other workers use the server (seconds).
LOOK_EVERY = 1.0


class SharedCapacity:
    """One worker's equal share of a server's request limit.

    A new worker waits until the others have finished enough requests. A lost worker counts until its lease ends. Not
    thread-safe: used only from the worker's own thread (models_runtime.backends.llm.driver.Capacity).
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._token = uuid.uuid4().hex
        self._mine = 0
        self._looked = float("-inf")

    def take(self, asking: int) -> int:
        """Return how many requests this worker may have at a time; `asking` of them are under way.

        The share is updated every LOOK_EVERY seconds.
        """
        now = time.monotonic()
        if now - self._looked >= LOOK_EVERY:
            self._looked = now
            self._mine = self._looked_up(asking)
        return self._mine

    def leave(self) -> None:
        """Release this worker's share."""
        self._looked, self._mine = float("-inf"), 0
        with transaction.atomic():
            row = ServerCapacity.objects.select_for_update().filter(server=self._server.name).first()
            if row is not None and row.seats.pop(self._token, None):
                row.save(update_fields=["seats"])

    def _looked_up(self, asking: int) -> int:
        ServerCapacity.objects.get_or_create(server=self._server.name)
        with transaction.atomic():
            row = ServerCapacity.objects.select_for_update().annotate(now=Now()).get(server=self._server.name)
            now = row.now.timestamp()
            others = {token: held for token, (held, until) in row.seats.items() if until > now and token != self._token}
            everyone = sorted([*others, self._token])
            share, over = divmod(self._server.at_once, len(everyone))
            share += everyone.index(self._token) < over
            mine: int = max(asking, min(share, self._server.at_once - sum(others.values())))
            held, until = row.seats.get(self._token, (0, 0.0))
            if held != mine or until - now < settings.JOB_LEASE_SECONDS / 2 or len(everyone) != len(row.seats):
                until = now + settings.JOB_LEASE_SECONDS
                row.seats = {token: row.seats[token] for token in others} | {self._token: [mine, until]}
                row.save(update_fields=["seats"])
        return mine
