"""Start pairing clear and published decisions as a job."""

from dataclasses import asdict, dataclass
from typing import IO, Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError, check_choice
from annotations.core.stored_files import store_file
from annotations.exchange.selectors import JOB_KEY
from annotations.jobs.services.queue import LIVE, enqueue
from annotations.models import (
    AnnotationSet,
    Author,
    AuthorKind,
    Import,
    ImportState,
    Job,
    Label,
    Project,
    PublishedDecision,
    StoredFileKind,
    User,
)
from annotations.pairs.rules.alignment import MOST_WINDOW, WINDOW, AlignmentMethod
from annotations.pairs.rules.numbers import OMISSIS
from annotations.pairs.services.pile import check_pile

JOB: Final = "pairs"
AUTHOR: Final = "published"


@dataclass(frozen=True)
class PairingOrder:
    """How decisions are paired. `threshold`: Jaccard similarity from 0 to 1; `window`: tokens."""

    method: str = AlignmentMethod.DIFF
    window: int = WINDOW
    threshold: float = 0.95

    def check(self) -> None:
        """Raise ServiceError `method`, `window` or `threshold`."""
        message = _("There is no method “%(name)s”. Choose one of: %(choices)s.")
        check_choice(self.method, list(AlignmentMethod), message, code="method")
        if not 1 <= self.window <= MOST_WINDOW:
            message = _("The window must be between 1 and %(most)s tokens.")
            raise ServiceError(message % {"most": MOST_WINDOW}, code="window")
        if not 0.3 <= self.threshold <= 1:
            raise ServiceError(_("The threshold must be between 0.3 and 1."), code="threshold")


def has_omissis(project: Project) -> bool:
    """Whether the project has the label of hidden spans."""
    return _omissis(project).exists()


def _omissis(project: Project) -> QuerySet[Label]:
    return Label.objects.filter(label_set__project=project, code=OMISSIS)


def omissis_label(project: Project) -> Label:
    """The label of hidden spans. Raises ServiceError `label` if the project has none."""
    label = _omissis(project).select_related("merged_into").first()
    if label is None:
        message = _("This project has no label “OMISSIS”, which pairs need. Add it under Guidelines, Labels.")
        raise ServiceError(message, code="label")
    return label.merged_into or label


def start_pairing(*, project: Project, name: str, content: IO[bytes], order: PairingOrder, actor: User | None) -> Job:
    """Store a pile and start the job that pairs it. Raises ServiceError; nothing is stored then.

    Erasures wait until the job has imported the clear notes, since its import is running from the start. The job is
    that of the import, so that the pages of the import lead to it.
    """
    order.check()
    omissis_label(project)
    check_pile(content)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if Job.objects.filter(project=project, kind=JOB, state__in=LIVE).exists():
            message = _("Decisions of this project are being paired. Wait until the job ends, or cancel it.")
            raise ServiceError(message, code="running")
        stored = store_file(project=project, kind=StoredFileKind.UPLOAD, name=name, content=content, actor=actor)
        row = Import.objects.create(
            project=project, format="text", state=ImportState.RUNNING, stored_file=stored, created_by=actor
        )
        params = {"import_id": row.pk, "author_id": _author(project, order).pk, **asdict(order)}
        return enqueue(kind=JOB, project=project, params=params, key=f"{JOB_KEY}{row.pk}", actor=actor)


def parameters_of(order: PairingOrder) -> dict[str, Any]:
    """What a published decision records of an order, beside the method."""
    return {"window": order.window, "threshold": order.threshold}


def _author(project: Project, order: PairingOrder) -> Author:
    """The author with the same method and parameters, or the next one: published-1, published-2, …"""
    wanted = parameters_of(order)
    rows = PublishedDecision.objects.filter(project=project, method=order.method, author__isnull=False).order_by()
    for pk, parameters in rows.values_list("author", "parameters").distinct():
        if all(parameters.get(key) == value for key, value in wanted.items()):
            return Author.objects.get(pk=pk)
    named = Author.objects.filter(project=project, kind=AuthorKind.RUN, name__startswith=f"{AUTHOR}-")
    for author in named:
        used = AnnotationSet.objects.filter(author=author).exists() or rows.filter(author=author).exists()
        if not used and author.name.removeprefix(f"{AUTHOR}-").isdigit():
            return author
    taken = {author.name for author in named}
    number = next(number for number in range(1, len(taken) + 2) if f"{AUTHOR}-{number}" not in taken)
    return Author.objects.create(project=project, kind=AuthorKind.RUN, name=f"{AUTHOR}-{number}")
