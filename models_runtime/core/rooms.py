"""A server's limit of requests holds over all workers that ask it, not for each of them."""

import time
import uuid

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from models_runtime.backends.llm.servers import Server
from models_runtime.models import ServerRoom

# How often a worker looks whether others came or went (seconds).
LOOK_EVERY = 1.0


class SharedRoom:
    """One worker's part of a server's limit: an equal one, as far as the others have left it already.

    Who comes later waits until those that were there before have ended requests. A worker that is lost counts until its
    lease runs out. Only ever used from the worker's own thread (models_runtime.backends.llm.driver.Room).
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._token = uuid.uuid4().hex
        self._mine = 0
        self._looked = float("-inf")

    def take(self, asking: int) -> int:
        """How many this worker may ask at a time. Looks again by LOOK_EVERY, or where it has had none."""
        now = time.monotonic()
        if now - self._looked >= LOOK_EVERY:
            self._looked = now
            self._mine = self._looked_up(asking)
        return self._mine

    def leave(self) -> None:
        """What was this worker's is free."""
        self._looked, self._mine = float("-inf"), 0
        with transaction.atomic():
            row = ServerRoom.objects.select_for_update().filter(server=self._server.name).first()
            if row is not None and row.seats.pop(self._token, None):
                row.save(update_fields=["seats"])

    def _looked_up(self, asking: int) -> int:
        ServerRoom.objects.get_or_create(server=self._server.name)
        with transaction.atomic():
            row = ServerRoom.objects.select_for_update().annotate(now=Now()).get(server=self._server.name)
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
