"""Start the injection of errors into a copy of a frozen gold version. The work itself is in injecting.jobs."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.bulk import among, in_batches, insert_objects
from annotations.core.services import ServiceError, erasures_of, good_name, unerased
from annotations.formats.files.csv_files import RowError
from annotations.jobs.services.queue import locked, start_for, started_with
from annotations.models import AuthorKind, Document, Project, User
from annotations.notes.selectors.in_context import Entry, LabelLook, with_context
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.models import InjectedRun, SystemicError, SystemicExample
from models_runtime.refining import events
from models_runtime.refining.rules.injection import CSV, LOG, Term, read_terms
from models_runtime.refining.rules.rules import InjectionRule, missing
from models_runtime.refining.rules.systemic import PREFIX, Cluster, RejectedAnnotation, clusters
from models_runtime.refining.selectors import BATCH, gold_version, has_rejections, labels_for, rejections
from models_runtime.runs.services.runs import new_author

KIND: Final = "inject"
ALL: Final = "all"
MOST_SEED: Final = 2**31 - 1


def start_injection(
    *, project: Project, gold: int, actor: User | None, rules: Sequence[str] = (ALL,), rate: float = 0.1, seed: int = 7,
    name: str = "", terms: Sequence[Term] = (), key: str,
) -> InjectedRun:  # fmt: skip
    """Start to inject errors: `rate` errors for each gold span of the version `gold`, drawn in turn by rule.

    `terms` is a vocabulary of errors, which makes the rule `csv`. A repeated call with the same `key` returns the same
    run. Raises ServiceError `gold`, `rules`, `log` without rejected suggestions, `empty` for a version without spans,
    and `exists` for a name in use.
    """
    version = gold_version(project, gold)
    chosen = [*_rules(project, rules, bare=not terms), *([CSV] if terms else [])]
    if not version.span_count:
        message = _("Gold version %(number)d has no spans, so no errors can be injected into it.")
        raise ServiceError(message % {"number": gold}, code="empty")
    name = good_name(name)
    exists = _("A run of injected errors named “%(name)s” already exists. Choose another name.") % {"name": name}
    with locked(project, exists):
        if existing := started_with(InjectedRun, project, KIND, key):
            return existing
        author = new_author(project, AuthorKind.BENCH, name, "injected")
        run = InjectedRun.objects.create(
            project=project, author=author, gold_version=version, rules=chosen, rate=rate, seed=seed,
            terms=[[term.string, term.label, term.count] for term in terms], created_by=actor,
        )  # fmt: skip
        start_for(run, KIND, key, actor, {"run_id": run.pk}, total=version.note_count)
        data: events.ErrorsInjected = {"author": author.pk, "gold": gold, "rules": chosen, "rate": rate, "seed": seed}
        events.ERRORS_INJECTED.record(actor=actor, project_id=project.pk, data=data)
    return run


def _rules(project: Project, wanted: Sequence[str], *, bare: bool) -> list[str]:
    """The names of the rules that can make errors here, in their order. Raises ServiceError `rules` and `log`.

    `bare`: nothing else makes errors, so at least one rule is needed.
    """
    names = {word.strip() for word in wanted} - {""}
    systemic = [PREFIX + name for name in SystemicError.objects.filter(project=project).values_list("name", flat=True)]
    choices = [ALL, *InjectionRule, *sorted(systemic), LOG]
    unknown = sorted(names.difference(choices))
    if unknown or (bare and not names):
        message = _("Choose rules from: %(choices)s. Unknown: %(unknown)s.")
        about = {"choices": ", ".join(choices), "unknown": ", ".join(unknown) or _("none is named")}
        raise ServiceError(message % about, code="rules")
    if LOG in names and not has_rejections(project):
        message = _("The decision log has no rejected suggestion yet. Review a run first, or leave out the rule “log”.")
        raise ServiceError(message, code="log")
    asked = [rule for rule in InjectionRule if ALL in names or rule in names]
    lacking = missing(labels_for(project), asked)
    others = [rule for rule in choices[len(InjectionRule) + 1 :] if rule in names or (ALL in names and rule != LOG)]
    possible = [*(str(rule) for rule in asked if rule not in lacking), *others]
    if lacking and (ALL not in names or (bare and not possible)):
        message = _("These rules need labels that the project lacks: %(rules)s. Choose other rules.")
        about = {"rules": "; ".join(f"{rule} ({', '.join(kinds)})" for rule, kinds in lacking.items())}
        raise ServiceError(message % about, code="rules")
    return possible


def terms_in(project: Project, content: str, file: str) -> list[Term]:
    """Read a vocabulary of errors from the content of a CSV file. Raises ServiceError `vocabulary`."""
    _accepted, ids = accepted_labels(project)
    try:
        return read_terms(iter(io.StringIO(content, newline="")), ids)
    except RowError as error:
        raise ServiceError(f"{file}: {error}", code="vocabulary") from error


NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,29}")
Place = tuple[int, int, int]
"""A note, and the start and end of a suggestion in it."""
SHOWN: Final = 5
"""Examples, and different strings, that describe a cluster."""
MOST_EXAMPLES: Final = 1_000
"""Examples that are stored of a cluster at most, the most typical ones."""


@dataclass(frozen=True)
class NumberedCluster:
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


def clusters_in_context(
    access: Access, found: Sequence[NumberedCluster], looks: dict[str, LabelLook] | None = None
) -> list[tuple[int, RejectedAnnotation, Entry]]:
    """The examples of clusters in their sentences, each with the number of its cluster. Their notes count as read."""
    examples = [(one.number, example) for one in found for example in one.examples]

    def row_of(pair: tuple[int, RejectedAnnotation]) -> list[Any]:
        return [pair[1].note, "", [pair[1].start, pair[1].end, pair[1].label], None]

    return [(*pair, entry) for pair, entry in with_context(access, examples, row_of, "systemic errors", looks)]


def clusters_of(project: Project, seed: int) -> list[NumberedCluster]:
    """The clusters of the rejected suggestions, the largest first."""
    found = clusters(rejections(project), seed)
    accepted = {(row.label, _stored(row)): rule_of(row) for row in SystemicError.objects.filter(project=project)}
    return [NumberedCluster(at, one, accepted.get((one.label, _places(one)), "")) for at, one in enumerate(found, 1)]


def _places(cluster: Cluster) -> frozenset[Place]:
    """The places of the examples that are stored of a cluster."""
    return frozenset((one.note, one.start, one.end) for one in cluster.examples[:MOST_EXAMPLES])


def _stored(row: SystemicError) -> frozenset[Place]:
    return frozenset(row.examples.values_list("document_id", "start", "end"))


def accept_cluster(*, project: Project, name: str, seed: int, actor: User | None, key: str) -> SystemicError:
    """Accept the cluster with this key under a name, which makes it the rule `systemic:<name>`.

    A repeated call returns the same systemic error. Raises ServiceError `name`, `exists` for a name in use, `stale` if
    no cluster has the key any more, and `erased`.
    """
    if not NAME.fullmatch(name):
        message = _(
            "The name must begin with a lowercase letter and contain only a-z, 0-9 and hyphens, at most 30 characters."
        )
        raise ServiceError(message, code="name")
    begun = erasures_of(project.pk)
    one = next((each.cluster for each in clusters_of(project, seed) if each.cluster.key == key), None)
    if one is None:
        message = _("New decisions changed the clusters, so nothing was accepted. Choose from the list as it is now.")
        raise ServiceError(message, code="stale")
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
            count = min(len(one.examples), MOST_EXAMPLES)
            data: events.SystemicAccepted = {"systemic": row.pk, "examples": count, "seed": seed}
            events.SYSTEMIC_ACCEPTED.record(actor=actor, project_id=project.pk, data=data)
    except IntegrityError as error:
        there = SystemicError.objects.filter(project=project, name=name, label=one.label).first()
        if there and _places(one) == _stored(there):
            return there
        message = _("There is a systemic error “%(name)s” already. Choose another name.")
        raise ServiceError(message % {"name": name}, code="exists") from error
    return row


def remove_systemic(*, project: Project, name: str, actor: User | None) -> None:
    """Remove an accepted systemic error. Runs with such errors keep them. Raises ServiceError `name`."""
    with transaction.atomic():
        row = SystemicError.objects.select_for_update().filter(project=project, name=name).first()
        if row is None:
            known = SystemicError.objects.filter(project=project).order_by("name").values_list("name", flat=True)
            message = _("There is no systemic error “%(name)s”. Accepted: %(known)s.")
            raise ServiceError(message % {"name": name[:40], "known": ", ".join(known) or _("none yet")}, code="name")
        events.SYSTEMIC_REMOVED.record(actor=actor, project_id=project.pk, data={"systemic": row.pk})
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
    for batch in in_batches(Document.objects.filter(pk__in=among(notes)).values_list("pk", "text"), BATCH):
        for _pk, text in batch:
            folded = text.casefold()
            for run in runs:
                run.terms = [term for term in run.terms if term[0].casefold() not in folded]
    InjectedRun.objects.bulk_update(runs, ["terms"])
