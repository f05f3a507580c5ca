"""Start refinements. The work itself is in models_runtime.refining.jobs.refining."""

from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError, good_name
from annotations.gold.selectors import versions
from annotations.jobs.services.queue import enqueue, key_of, started_with
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, GoldVersion, Project, User
from models_runtime.core.registry import LLM, SET_UP
from models_runtime.models import InjectedRun, Refinement
from models_runtime.refining.events import REFINEMENT_STARTED
from models_runtime.refining.jobs.methods import METHODS, WITH_MODEL
from models_runtime.refining.services.asking import Asked, check_settings, fields_of

KIND: Final = "refine"
SOURCES: Final = (AuthorKind.RUN, AuthorKind.BENCH)


def start_refinement(
    *,
    project: Project,
    source: str,
    method: str,
    actor: User | None,
    name: str = "",
    gold: GoldVersion | None = None,
    key: str,
    asked: Asked | None = None,
) -> Refinement:
    """Start to refine the annotations of a run, a merged list, or a run of injected errors, by its name.

    The offline agent learns from `gold`, by default the version that the errors were put into, else the newest one;
    in a project without one, it decides by validators alone. A language model's examples are from `gold`. `asked` is
    the choice of a language model. A client over MCP decides without a job and without gold. A repeated call with the
    same `key` returns the same refinement.
    Raises ServiceError `run`, `method`, `gold`, `empty` and `exists`, and what asking.check_settings and
    asking.fields_of raise.
    """
    existing = _started_with(project, key)
    if existing is not None:
        return existing
    external = method == Refinement.Method.EXTERNAL
    if not external and method not in METHODS:
        raise ServiceError(
            _("There is no method “%(method)s”. Choose one of: %(choices)s.")
            % {"method": method, "choices": ", ".join([*METHODS, Refinement.Method.EXTERNAL])},
            code="method",
        )
    author = _source(project, source)
    notes = AnnotationSet.objects.filter(author=author, state=AnnotationSetState.SUBMITTED).count()
    if not notes:
        raise ServiceError(_("“%(name)s” has annotated no note yet.") % {"name": author.name}, code="empty")
    asked = asked or Asked()
    task = WITH_MODEL.get(method, "")
    check_settings(asked, task)
    fields = fields_of(project, asked, task) if task else {}
    version = gold
    if external:
        version = None
    elif version is None and (not fields or asked.examples):
        version = _gold(project, author, needed=bool(fields))
    name = good_name(name)
    kind = AuthorKind.BENCH if author.kind == AuthorKind.BENCH else AuthorKind.REFINED
    try:
        with transaction.atomic():
            Project.objects.select_for_update().get(pk=project.pk)
            existing = _started_with(project, key)
            if existing is not None:  # A simultaneous request has just started it.
                return existing
            made = Author.objects.create(
                project=project, kind=kind, name=name or _free_name(project, kind, f"{author.name}-{method}")
            )
            row = Refinement.objects.create(
                project=project, source=author, author=made, method=method, gold_version=version, created_by=actor,
                key=key_of(KIND, key) if external else None, **fields,
            )  # fmt: skip
            if not external:
                row.job = enqueue(
                    kind=KIND, project=project, params={"refinement_id": row.pk, "gold": version is not None},
                    key=key_of(KIND, key), actor=actor, total=notes, queue=SET_UP[LLM].queue if fields else "",
                )  # fmt: skip
                row.save(update_fields=["job"])
            REFINEMENT_STARTED.record(
                actor=actor,
                project_id=project.pk,
                data={"source": author.pk, "author": made.pk, "method": method},
            )
    except IntegrityError as error:
        raise ServiceError(
            _("A refinement named “%(name)s” already exists. Choose another name.") % {"name": name}, code="exists"
        ) from error
    return row


def sources_of(project: Project) -> "QuerySet[Author]":
    """Whose annotations can be refined: runs, merged lists and injected errors, the newest first."""
    return Author.objects.filter(project=project, kind__in=SOURCES, refinement__isnull=True).order_by("-pk")


def _started_with(project: Project, key: str) -> Refinement | None:
    """Return the refinement that was started with this key, with or without a job; None if there is none."""
    without_job = Refinement.objects.filter(project=project, key=key_of(KIND, key)).first()
    return without_job or started_with(Refinement, project, KIND, key)


def _source(project: Project, name: str) -> Author:
    rows = sources_of(project)
    found = rows.filter(name=name).first()
    if found is None:
        known = ", ".join(rows.order_by("pk").values_list("name", flat=True)) or _("none yet")
        raise ServiceError(
            _("There is no run “%(name)s”. Runs: %(known)s.") % {"name": name, "known": known}, code="run"
        )
    return found


def _gold(project: Project, source: Author, *, needed: bool) -> GoldVersion | None:
    """The version to learn from. Without one, None, or if it is `needed`, ServiceError `gold` is raised."""
    injected = InjectedRun.objects.filter(author=source).select_related("gold_version").first()
    if injected is not None:
        return injected.gold_version
    newest = next((version for version in versions(project) if version.span_count), None)
    if newest is None and needed:
        raise ServiceError(
            _("Examples need gold. This project has no frozen gold version. Freeze one first."),
            code="gold",
        )
    return newest


def _free_name(project: Project, kind: str, stem: str) -> str:
    taken = set(Author.objects.filter(project=project, kind=kind).values_list("name", flat=True))
    number = 1
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"
