"""Systemic errors: clusters of rejected suggestions, and those that a person named and accepted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.bulk import insert_objects
from annotations.core.errors import ServiceError
from annotations.core.locks import erasures_of, unerased
from annotations.models import Document, Project, User
from annotations.release.selectors.surrogates import in_parts
from models_runtime.models import InjectedRun, SystemicError, SystemicExample
from models_runtime.refining.events import SYSTEMIC_ACCEPTED, SYSTEMIC_REMOVED
from models_runtime.refining.rules.systemic import PREFIX, Cluster, RejectedAnnotation, clusters
from models_runtime.refining.selectors.injecting import rejections
from models_runtime.refining.services.injecting.starting import MOST_SEED

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,29}")
Place = tuple[int, int, int]
"""A note, and the start and end of a suggestion in it."""
SHOWN: Final = 5
"""Examples, and different strings, that describe a cluster."""
MOST_EXAMPLES: Final = 1_000
"""Examples that are stored of a cluster at most, the most typical ones."""


@dataclass(frozen=True)
class Numbered:
    """A cluster with its number, which begins with 1 for the largest. `rule` is empty if it was not accepted."""

    number: int
    cluster: Cluster
    rule: str = ""

    @property
    def examples(self) -> list[RejectedAnnotation]:
        """Some examples, of different strings where possible, the most typical first."""
        firsts = {one.string: one for one in reversed(self.cluster.examples)}
        chosen = [one for one in self.cluster.examples if firsts[one.string] is one]
        return [*chosen, *(one for one in self.cluster.examples if one not in chosen)][:SHOWN]

    @property
    def strings(self) -> list[tuple[str, int]]:
        """The strings of the examples with their numbers in the cluster, the most frequent first."""
        shown = {one.string for one in self.examples}
        return [row for row in self.cluster.strings if row[0] in shown]

    def as_json(self) -> dict[str, Any]:
        return {
            "number": self.number, "label": self.cluster.label, "size": len(self.cluster.examples),
            "words": list(self.cluster.words), "key": self.cluster.key, "rule": self.rule,
            "strings": [{"string": string, "count": count} for string, count in self.strings],
            "examples": [{"note": one.note, "start": one.start, "end": one.end} for one in self.examples],
        }  # fmt: skip


def clusters_of(project: Project, seed: int) -> list[Numbered]:
    """The clusters of the rejected suggestions, the largest first. Raises ServiceError `seed`."""
    if not 0 <= seed <= MOST_SEED:
        raise ServiceError(_("The seed must be a whole number from 0 to %(most)s.") % {"most": MOST_SEED}, code="seed")
    found = clusters(rejections(project), seed)
    accepted = {(row.label, _stored(row)): rule_of(row) for row in SystemicError.objects.filter(project=project)}
    return [Numbered(at, one, accepted.get((one.label, _places(one)), "")) for at, one in enumerate(found, 1)]


def _places(cluster: Cluster) -> frozenset[Place]:
    """The places of the examples that are stored of a cluster."""
    return frozenset((one.note, one.start, one.end) for one in cluster.examples[:MOST_EXAMPLES])


def _stored(row: SystemicError) -> frozenset[Place]:
    return frozenset(row.examples.values_list("document_id", "start", "end"))


def accept_cluster(
    *, project: Project, name: str, seed: int, actor: User | None, number: int = 0, key: str = ""
) -> SystemicError:
    """Accept the cluster with this number or key under a name, which makes it the rule `systemic:<name>`.

    A repeated call returns the same systemic error. Raises ServiceError `seed`, `name`, `exists` for a name in use,
    `cluster` for an unknown number, `stale` if no cluster has the key any more, and `erased`.
    """
    if not NAME.fullmatch(name):
        raise ServiceError(
            _(
                "The name must begin with a lowercase letter and contain only a-z, 0-9 and hyphens, at most 30 "
                "characters."
            ),
            code="name",
        )
    begun = erasures_of(project.pk)
    found = clusters_of(project, seed)
    one = next((each.cluster for each in found if (each.cluster.key == key if key else each.number == number)), None)
    if one is None and key:
        raise ServiceError(
            _("New decisions changed the clusters, so nothing was accepted. Choose from the list as it is now."),
            code="stale",
        )
    if one is None:
        raise ServiceError(
            _("There is no cluster %(number)d. Clusters with this seed: %(count)d.")
            % {"number": number, "count": len(found)},
            code="cluster",
        )
    try:
        with transaction.atomic():
            unerased(project.pk, begun)
            row = SystemicError.objects.create(project=project, name=name, label=one.label, created_by=actor)
            insert_objects(
                SystemicExample,
                (
                    SystemicExample(error=row, document_id=each.note, start=each.start, end=each.end)
                    for each in one.examples[:MOST_EXAMPLES]
                ),
            )
            SYSTEMIC_ACCEPTED.record(
                actor=actor,
                project_id=project.pk,
                data={"systemic": row.pk, "examples": min(len(one.examples), MOST_EXAMPLES), "seed": seed},
            )
    except IntegrityError as error:
        there = SystemicError.objects.filter(project=project, name=name, label=one.label).first()
        if there and _places(one) == _stored(there):
            return there
        raise ServiceError(
            _("There is a systemic error “%(name)s” already. Choose another name.") % {"name": name}, code="exists"
        ) from error
    return row


def remove_systemic(*, project: Project, name: str, actor: User | None) -> None:
    """Remove an accepted systemic error. Runs with such errors keep them. Raises ServiceError `name`."""
    with transaction.atomic():
        row = SystemicError.objects.select_for_update().filter(project=project, name=name).first()
        if row is None:
            known = SystemicError.objects.filter(project=project).order_by("name").values_list("name", flat=True)
            raise ServiceError(
                _("There is no systemic error “%(name)s”. Accepted: %(known)s.")
                % {"name": name[:40], "known": ", ".join(known) or _("none yet")},
                code="name",
            )
        SYSTEMIC_REMOVED.record(actor=actor, project_id=project.pk, data={"systemic": row.pk})
        row.delete()


def rule_of(error: SystemicError) -> str:
    return PREFIX + error.name


def forget_terms(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Delete strings of a CSV file that occur in these notes from runs whose errors are not drawn yet.

    Called in the transaction of the erasure. Drawing deletes all strings.
    """
    runs = list(InjectedRun.objects.select_for_update().filter(project=project).exclude(terms=[]))
    if not runs:
        return
    for some in in_parts(sorted(notes)):
        for text in Document.objects.filter(pk__in=some).values_list("text", flat=True):
            folded = text.casefold()
            for run in runs:
                run.terms = [term for term in run.terms if term[0].casefold() not in folded]
    InjectedRun.objects.bulk_update(runs, ["terms"])
