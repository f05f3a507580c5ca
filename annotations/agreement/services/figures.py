"""Compute and store the figures of agreement, under a key of their content: any change makes them out of date."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, cast, overload

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from annotations.agreement.events import CAUSE_REMOVED, CAUSE_SET, GUIDELINES_AMENDED
from annotations.agreement.rules.figures import figures
from annotations.agreement.rules.shown import AgreementFigures, AgreementOfNote, NoteFigures
from annotations.agreement.rules.units import ComparedUnit, Granularity, NoteAnnotationSets
from annotations.agreement.selectors import figures as figure_selectors
from annotations.agreement.selectors.disagreements import kinds_at
from annotations.core.services import Progress, ServiceError, erasures_of, silent, unerased
from annotations.core.stored_figures import key_of
from annotations.core.templatetags.moments import day_text
from annotations.core.tokenizers import check_tokenizer
from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import enqueue
from annotations.models import Amendment, Cause, CauseKind, Document, Figures, Job, JobState, Project, User
from annotations.projects.services.projects import set_guidelines

# Up to these sizes the figures take about a second. For larger projects a worker computes them.
AT_ONCE_ANNOTATION_SETS = 600
AT_ONCE_CHARACTERS = 1_000_000
TRIES = 3
# From so many notes on, all names of the project are read, since a query takes a limited number of values.
MANY = 500
# The figures by note are stored in parts of so many notes.
PART = 500

Cell = int | float | str | None


class KeptFigures(AgreementFigures):
    """Figures with the key of the content from which they were computed, and the tokenizer's name or an empty one."""

    key: str
    tokenizer: str


class KeptTable(TypedDict):
    """A part of the stored figures by note: the keys of NoteFigures once, and the values of each note."""

    columns: list[str]
    rows: list[list[Cell]]


class NoteTable(Sequence[NoteFigures]):
    """The stored figures by note, the lowest alpha first, of which only the parts that are asked for are read.

    There are no rows where newer figures have replaced them.
    """

    def __init__(self, project: Project, found: KeptFigures, granularity: Granularity) -> None:
        kind = _kind("notes", found["unit"], granularity, found["tokenizer"])
        self._parts = Figures.objects.filter(project=project, kind=kind)
        self._key, self._notes = found["key"], found["notes"]

    def __len__(self) -> int:
        return self._notes

    @overload
    def __getitem__(self, at: int) -> NoteFigures: ...
    @overload
    def __getitem__(self, at: slice) -> list[NoteFigures]: ...
    def __getitem__(self, at: int | slice) -> NoteFigures | list[NoteFigures]:
        if isinstance(at, int):
            return self[at : at + 1][0]
        start, stop, _ = at.indices(self._notes)
        numbers = range(start // PART, -(-stop // PART))
        keys = [key_of(self._key, number) for number in numbers]
        parts: dict[str, KeptTable] = dict(self._parts.filter(key__in=keys).values_list("key", "value"))
        rows = [
            # The columns are the keys of NoteFigures, see `_compute`.
            cast(NoteFigures, dict(zip(part["columns"], row, strict=True)))
            for key in keys if key in parts
            for part in [parts[key]]
            for row in part["rows"]
        ]  # fmt: skip
        return rows[start - numbers.start * PART : stop - numbers.start * PART]


def kept_figures(project: Project, unit: ComparedUnit, tokenizer: str = "") -> KeptFigures | None:
    """The stored figures of the current annotations, without those by note; None if they aren't computed yet."""
    key = figure_selectors.content_key(project, unit, tokenizer)
    row = Figures.objects.filter(project=project, kind=_kind("agreement", unit, tokenizer), key=key).first()
    if row is None:
        return None
    value: AgreementFigures = row.value
    return {**value, "key": key, "tokenizer": tokenizer}


def named_notes(project: Project, rows: Sequence[NoteFigures]) -> list[AgreementOfNote]:
    """The figures with the names of their notes, without notes that were erased meanwhile."""
    notes = Document.objects.filter(project=project)
    if len(rows) < MANY:
        notes = notes.filter(pk__in=[row["note"] for row in rows])
    names = dict(notes.values_list("pk", "name"))
    return [{**row, "name": names[row["note"]]} for row in rows if row["note"] in names]


def takes_long(project: Project) -> bool:
    """Whether a worker should compute the figures."""
    size = figure_selectors.size_of(project, AT_ONCE_ANNOTATION_SETS)
    return size is None or size > AT_ONCE_CHARACTERS


def figures_at_once(project: Project, unit: ComparedUnit, tokenizer: str) -> KeptFigures | None:
    """The stored figures, or new ones; None where a worker must compute them. Raises ServiceError `changing`."""
    found = kept_figures(project, unit, tokenizer)
    return found if found or tokenizer or takes_long(project) else figures_of(project=project, unit=unit)


def figures_of(
    *, project: Project, unit: ComparedUnit, tokenizer: str = "", progress: Progress = silent
) -> KeptFigures:
    """The stored figures, or new ones, which are then stored.

    Only workers and commands may name a tokenizer. Raises ServiceError `tokenizer`, and `changing` while annotations
    keep changing.
    """
    found = kept_figures(project, unit, tokenizer)
    for _attempt in range(TRIES):
        if found is not None:
            return found
        found = _compute(project, unit, tokenizer, progress)
    if found is None:
        message = gettext("Annotations changed while the figures were computed. Try again later.")
        raise ServiceError(message, code="changing")
    return found


def _compute(project: Project, unit: ComparedUnit, tokenizer: str, progress: Progress) -> KeptFigures | None:
    """Compute and store the figures; None where annotations changed meanwhile, so that the figures mix two states."""
    begun = erasures_of(project.pk)
    key = figure_selectors.content_key(project, unit, tokenizer)
    notes = figure_selectors.shared_notes(project)
    value = figures(
        _reported(project, notes, tokenizer, progress),
        figure_selectors.setup_of(project),
        unit,
        # Intervals are computed after the last note: reporting progress lets the job be canceled then too.
        between=lambda: progress(len(notes), len(notes)),
    )
    tables = {granularity: found.pop("per_note") for granularity, found in value["granularities"].items()}
    with transaction.atomic():
        unerased(project.pk, begun)
        if figure_selectors.content_key(project, unit, tokenizer) != key:
            return None
        _keep(project, _kind("agreement", unit, tokenizer), {key: value})
        for granularity, rows in tables.items():
            # To mypy, the values of a TypedDict are objects.
            parts: list[KeptTable] = [
                {
                    "columns": list(rows[0]),
                    "rows": [cast(list[Cell], list(row.values())) for row in rows[at : at + PART]],
                }
                for at in range(0, len(rows), PART)
            ]
            keyed = {key_of(key, number): part for number, part in enumerate(parts)}
            _keep(project, _kind("notes", unit, granularity, tokenizer), keyed)
    return {**value, "key": key, "tokenizer": tokenizer}


def _reported(project: Project, notes: list[int], tokenizer: str, progress: Progress) -> Iterator[NoteAnnotationSets]:
    done = 0
    progress(0, len(notes))
    for batch in figure_selectors.shared_annotation_sets(project, notes, tokenizer):
        yield from batch
        done += len(batch)
        progress(min(done, len(notes)), len(notes))


def _keep(project: Project, kind: str, values: Mapping[str, AgreementFigures | KeptTable]) -> None:
    """Store values by key in place of all others of the kind."""
    Figures.objects.filter(project=project, kind=kind).exclude(key__in=list(values)).delete()
    Figures.objects.bulk_create(
        [Figures(project=project, kind=kind, key=key, value=value) for key, value in values.items()],
        batch_size=20, update_conflicts=True, unique_fields=["project", "kind", "key"], update_fields=["value", "at"],
    )  # fmt: skip


def _kind(*parts: str) -> str:
    """The kind of stored figures; without a tokenizer it has no such part."""
    return ":".join(filter(None, parts))


def start_agreement(*, project: Project, unit: ComparedUnit, tokenizer: str = "", actor: User) -> Job:
    """The job that computes a unit's figures from the current annotations.

    A second call returns the same job, even a failed or canceled one, which people start again from its page. Only a
    job that is done and whose figures are gone is followed by a new job.
    """
    check_tokenizer(tokenizer)
    key = f"agreement-{project.pk}-{figure_selectors.content_key(project, unit, tokenizer)}"
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        made = Job.objects.filter(project=project, kind="agreement", key__startswith=key)
        last = made.order_by("-id").first()
        if last is not None and (last.state != JobState.DONE or kept_figures(project, unit, tokenizer) is not None):
            return last
        params = {"unit": str(unit)} | ({"tokenizer": tokenizer} if tokenizer else {})
        return enqueue(kind="agreement", project=project, params=params, key=f"{key}-{made.count()}", actor=actor)


def run(claim: Claim) -> dict[str, Any]:
    """Compute and store the figures of a unit as a job. A repeated job finds the stored figures."""
    project = Project.objects.get(pk=claim.project_id)
    unit, tokenizer = ComparedUnit(claim.params["unit"]), claim.params.get("tokenizer", "")
    found = figures_of(project=project, unit=unit, tokenizer=tokenizer, progress=claim.progress)
    return {"unit": found["unit"], "notes": found["notes"]} | ({"tokenizer": tokenizer} if tokenizer else {})


# What follows from a disagreement: causes that people name, and rules that they add to the guidelines.
#
# The causes are the sources of errors of Catelli 2021, section 4.1.2; a location may have several. An amendment of the
# guidelines has a number and a date, and begins the next round.


def change_cause(*, document: Document, start: int, end: int, kind: str, present: bool, user: User) -> list[str]:
    """Add a cause to a location (code points, end-exclusive), or remove it. Return the location's causes.

    The causes of a location are all that overlap it, so they stay when changed annotations move its bounds. A change
    moves them to its current bounds. Raises ServiceError (`kind`, `location`).
    """
    if kind not in CauseKind.values:
        message = _("“%(kind)s” is not a cause. Choose one of: %(choices)s.")
        raise ServiceError(message % {"kind": kind[:10], "choices": ", ".join(CauseKind.values)}, code="kind")
    if not 0 <= start < end <= document.length:
        message = _("The location must lie within the %(length)s characters of the note.")
        raise ServiceError(message % {"length": f"{document.length:,}"}, code="location")
    with transaction.atomic():
        Document.objects.select_for_update(of=("self",)).only("pk").get(pk=document.pk)
        there = list(Cause.objects.filter(document_id=document.pk, start__lt=end, end__gt=start))
        if (kind in kinds_at(there, start, end)) != present:
            _move([cause for cause in there if cause.kind != kind], start, end)
            if present:
                Cause.objects.create(document_id=document.pk, start=start, end=end, kind=kind, by=user)
            else:
                Cause.objects.filter(pk__in=[cause.pk for cause in there if cause.kind == kind]).delete()
            (CAUSE_SET if present else CAUSE_REMOVED).record(
                actor=user,
                note=document,
                data={"bounds": [start, end], "kind": kind, "before": [[c.start, c.end, c.kind] for c in there]},
            )
        return kinds_at(Cause.objects.filter(document_id=document.pk), start, end)


def _move(causes: list[Cause], start: int, end: int) -> None:
    """Give the causes these bounds, and keep one of each kind."""
    kept = {cause.kind: cause.pk for cause in reversed(causes)}
    Cause.objects.filter(pk__in={cause.pk for cause in causes} - set(kept.values())).delete()
    Cause.objects.filter(pk__in=kept.values()).update(start=start, end=end)


# Add a rule to the guidelines: an amendment has a number and a date, and begins the next round.


def amended(guidelines: str, number: int, text: str, at: datetime) -> str:
    """The guidelines with the amendment appended under its own heading."""
    body = guidelines.rstrip()
    gap = "\n\n" if body else ""
    return f"{body}{gap}## Amendment {number} ({day_text(at)})\n\n{text.strip()}\n"


def next_number(project: Project) -> int:
    """The number that the project's next amendment would get, from 1."""
    last = Amendment.objects.filter(project=project).order_by("-number").values_list("number", flat=True).first()
    return (last or 0) + 1


def amend(
    *, project: Project, text: str, actor: User, location: tuple[Document, int, int] | None = None, seen_version: int
) -> Amendment:
    """Append the rule to the guidelines as a new version, and store it with its date and the location that led to it.

    The same text for the same version of the guidelines makes one amendment. Raises ServiceError `stale`.
    """
    text = text.strip().replace("\r\n", "\n")
    with transaction.atomic():
        fresh = Project.objects.select_for_update().get(pk=project.pk)
        last = Amendment.objects.filter(project=project).order_by("-number").first()
        if last is not None and last.text == text and last.guidelines_version == fresh.guidelines_version:
            return last  # A double click sends the form twice.
        now, number = timezone.now(), last.number + 1 if last else 1
        whole = amended(fresh.guidelines, number, text, now)
        fresh = set_guidelines(project=fresh, text=whole, actor=actor, seen_version=seen_version)
        document, start, end = location or (None, None, None)
        made = Amendment.objects.create(
            project=project, number=number, text=text, document=document, start=start, end=end,
            guidelines_version=fresh.guidelines_version, by=actor, at=now,
        )  # fmt: skip
        GUIDELINES_AMENDED.record(
            actor=actor,
            project_id=project.pk,
            document_id=document.pk if document else None,
            data={"amendment": number, "version": fresh.guidelines_version, "length": len(text)},
        )
    return made
