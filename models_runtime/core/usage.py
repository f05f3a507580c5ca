"""Requests and costs of language models, recorded with every answer, so that a killed worker loses no costs."""

from django.db import IntegrityError, transaction
from django.db.models import F

from annotations.models import Project, Release
from models_runtime.backends.llm.asking import Meter
from models_runtime.backends.llm.servers import Price
from models_runtime.models import Judge, LlmUsage, Run


class Bill(Meter):
    """The meter of whoever uses a model. It needs no lease: every request counts, even if another worker has the job
    now.

    `payer` is the run, judge or release, or the project whose index of surrogates is filled; `price` is that of its
    model.
    """

    def __init__(self, payer: Run | Judge | Release | Project, price: Price | None) -> None:
        super().__init__()
        self._payer = {payer._meta.model_name or "": payer}
        self._price = price

    def record(self) -> None:
        """Add the counts to the payer's row. If that fails, keep them for the next call."""
        counts = self.take()
        if not counts:
            return
        try:
            with transaction.atomic():
                self._add(counts)
        except BaseException:
            self.add(**counts)
            raise

    def _add(self, counts: dict[str, int]) -> None:
        price = self._price
        row = self._payer | {"currency": price.currency if price else ""}
        cost = price.of(counts.get("tokens_in", 0), counts.get("tokens_out", 0)) if price else None
        known = {name: counts[name] for name in LlmUsage.COUNTS if name in counts}
        more = {name: F(name) + count for name, count in known.items()} | (
            {} if cost is None else {"cost": F("cost") + cost}
        )
        try:
            if not LlmUsage.objects.filter(**row).update(**more):
                with transaction.atomic():
                    LlmUsage.objects.create(**row, **known, cost=cost)
        except IntegrityError:  # Another worker has just created the row.
            LlmUsage.objects.filter(**row).update(**more)
