"""Calls, tokens and seconds of a refinement's language model, added to its row with every answer."""

import time

from django.db.models import F

from models_runtime.backends.llm.asking import Answer, Completion, Meter, Question
from models_runtime.models import Refinement


class RefinementMeter(Meter):
    """The meter of a refinement. It needs no lease: every answer counts, even if another worker has the job now.

    Counts besides the server's own: `milliseconds`, `unreadable`, `not_applied`.
    """

    def __init__(self, row: Refinement) -> None:
        super().__init__()
        self._row = row.pk

    def record(self) -> None:
        """Add the counts to the row. If that fails, keep them for the next call."""
        counts = self.take()
        more = {
            "calls": counts.get("requests", 0),
            "seconds": counts.get("milliseconds", 0) / 1000,
            **{name: counts.get(name, 0) for name in ("tokens_in", "tokens_out", "unreadable", "not_applied")},
        }
        grown = {name: F(name) + count for name, count in more.items() if count}
        if not grown:
            return
        try:
            Refinement.objects.filter(pk=self._row).update(**grown)
        except BaseException:
            self.add(**counts)
            raise


class Timed:
    """A completion that counts the time of its answers."""

    def __init__(self, completion: Completion, meter: Meter) -> None:
        self._completion, self._meter = completion, meter

    @property
    def at_once(self) -> int:
        return self._completion.at_once

    def complete(self, question: Question) -> Answer:
        began = time.monotonic()
        try:
            return self._completion.complete(question)
        finally:
            self._meter.add(milliseconds=round(1000 * (time.monotonic() - began)))

    def stop(self) -> None:
        self._completion.stop()
