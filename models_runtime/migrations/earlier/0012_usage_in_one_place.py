from collections.abc import Iterator
from typing import Any

from django.db import migrations
from django.db.models import Sum

COUNTS = (
    "requests", "retries", "kept", "tokens_in", "tokens_out", "hallucinated", "ambiguous", "broken", "unknown", "cut",
)  # fmt: skip
OF_RUNS = (*COUNTS, "too_long")


def gather(apps: Any, schema_editor: Any) -> None:
    """What runs paid, batch by batch, and what stood beside each judge, as one row for each who paid."""
    LlmUsage = apps.get_model("models_runtime", "LlmUsage")
    LlmUsage.objects.bulk_create([*_of_runs(apps, LlmUsage), *_of_judges(apps, LlmUsage)], batch_size=500)


def _of_runs(apps: Any, LlmUsage: Any) -> Iterator[Any]:
    rows = apps.get_model("models_runtime", "RunUsage").objects.order_by().values("run_id", "currency")
    for row in rows.annotate(paid=Sum("cost"), **{f"sum_{name}": Sum(name) for name in OF_RUNS}):
        counts = {name: row[f"sum_{name}"] for name in OF_RUNS}
        yield LlmUsage(run_id=row["run_id"], currency=row["currency"], cost=row["paid"], **counts)


def _of_judges(apps: Any, LlmUsage: Any) -> Iterator[Any]:
    for judge in apps.get_model("models_runtime", "Judge").objects.order_by("pk"):
        counts = {name: getattr(judge, name) for name in COUNTS}
        if any(counts.values()):
            yield LlmUsage(judge=judge, currency=judge.currency, cost=judge.cost, **counts)


def spread(apps: Any, schema_editor: Any) -> None:
    """The way back."""
    LlmUsage, RunUsage, Judge = (apps.get_model("models_runtime", name) for name in ("LlmUsage", "RunUsage", "Judge"))
    RunUsage.objects.bulk_create(
        (
            RunUsage(
                run_id=row.run_id, cost=row.cost, currency=row.currency, **{name: getattr(row, name) for name in OF_RUNS}
            )
            for row in LlmUsage.objects.exclude(run=None)
        ),
        batch_size=500,
    )  # fmt: skip
    for row in LlmUsage.objects.exclude(judge=None):
        counts = {name: getattr(row, name) for name in COUNTS}
        Judge.objects.filter(pk=row.judge_id).update(cost=row.cost, currency=row.currency, **counts)


class Migration(migrations.Migration):
    dependencies = [
        ("models_runtime", "0011_llm_usage"),
    ]

    operations = [migrations.RunPython(gather, spread)]
