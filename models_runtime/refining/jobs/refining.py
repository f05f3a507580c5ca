"""Refine a source's annotations, note by note, by the refinement's method.

A worker that takes over continues with the notes that have no annotation set yet.
"""

from collections import Counter
from typing import Any, Final

from django.db.models import Count

from annotations.jobs.registry import load
from annotations.jobs.runner import Claim
from annotations.models import AnnotationSet
from models_runtime.backends.refining.todo import Action
from models_runtime.models import RefinedItem, Refinement

# The methods that a job carries out, with what does it: `refiner(claim, refinement).refine()`, safe to repeat.
#
# A client over MCP decides without a job, so it isn't here.


METHODS: Final[dict[str, str]] = {
    Refinement.Method.OFFLINE: "models_runtime.refining.jobs.offline.OfflineRefiner",
    Refinement.Method.SINGLE: "models_runtime.refining.jobs.by_model.SingleRefiner",
    Refinement.Method.AGENT: "models_runtime.refining.jobs.by_model.AgentRefiner",
}
WITH_MODEL: Final[dict[str, str]] = {Refinement.Method.SINGLE: "refine", Refinement.Method.AGENT: "agent"}
"""The methods that ask a language model, with the task of their prompt."""


COUNTS = ("calls", "tokens_in", "tokens_out", "unreadable", "not_applied")


def run(claim: Claim) -> dict[str, Any]:
    """Refine the notes of a refinement. Safe to repeat."""
    row = Refinement.objects.select_related("project__label_set", "source", "author", "gold_version__project").get(
        pk=claim.params["refinement_id"]
    )
    load(METHODS[row.method])(claim, row).refine()
    claim.done = claim.total
    return result_of(row)


def result_of(row: Refinement) -> dict[str, Any]:
    """The counts of decisions: {"author", "kept", "updated", "removed"} and the number of notes.

    With a language model also its calls, tokens, seconds, unreadable answers, and updates that could not be applied.
    """
    rows = RefinedItem.objects.filter(refinement=row).order_by().values_list("action")
    counted = Counter(dict(rows.annotate(count=Count("pk"))))
    found = {
        "author": row.author.name,
        "kept": counted[Action.KEEP],
        "updated": counted[Action.UPDATE],
        "removed": counted[Action.REMOVE],
        "notes": AnnotationSet.objects.filter(author=row.author).count(),
    }
    if row.server:
        row.refresh_from_db(fields=[*COUNTS, "seconds"])
        found |= {name: getattr(row, name) for name in COUNTS} | {"seconds": round(row.seconds, 3)}
    return found
