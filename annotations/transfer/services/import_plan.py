"""What an import would do with the notes of a source: new, another reading of a note that is there, the same, refused.

A note is taken whole (text and spans) or refused whole, with every reason.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from annotations.core.authors import author_for_import, parse_written_as
from annotations.core.errors import ServiceError
from annotations.domain.crowding import DEEPEST, MOST_SPANS, Crowd, crowd_in
from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import NoteFiles
from annotations.domain.hashing import text_sha256
from annotations.domain.notes import NoteError, ParsedNote, Problem
from annotations.models import AnnotationSet, Author, Document, Import, Project, Span, User
from annotations.projects.selectors.labels import accepted_labels
from annotations.transfer.services.sources import PATIENTS, Source, read_patients

LISTED = 2000
BATCH = 250
# Long notes come in smaller batches: in memory a character takes up to four bytes, several times over.
BATCH_CHARACTERS = 8 * 1024 * 1024


@dataclass
class Report:
    """What an import did; `refused` and `warnings` list at most LISTED lines, the counts are complete.

    `cleared`: a patient was erased since, and the lines, which name files, went with that.
    """

    notes: int = 0
    spans: int = 0
    sets: int = 0
    already_there: int = 0
    refused_notes: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    refused_more: int = 0
    warnings: list[dict[str, Any]] = field(default_factory=list)
    warnings_more: int = 0
    cleared: bool = False

    def refuse(self, problems: Sequence[Problem], *, notes: int = 1) -> None:
        self.refused_notes += notes
        room = max(0, LISTED - len(self.refused))
        self.refused += [asdict(problem) for problem in problems[:room]]
        self.refused_more += len(problems) - len(problems[:room])

    def warn(self, problems: Sequence[Problem]) -> None:
        room = max(0, LISTED - len(self.warnings))
        self.warnings += [asdict(problem) for problem in problems[:room]]
        self.warnings_more += len(problems) - len(problems[:room])


@dataclass
class Reading:
    """One import while it runs: what it needs to know about the project, and its report so far."""

    project: Project
    source: Source
    format: str
    author: Author | None
    language: str
    take_duplicates: bool
    labels: dict[str, str]
    label_ids: dict[str, int]
    patients: dict[str, str]
    row: Import
    actor: User | None
    report: Report


def check_choices(format: str, written_as: str) -> None:
    if format not in FORMATS:
        raise ServiceError(
            _("unknown format %(format)s; there are: %(choices)s")
            % {"format": repr(format), "choices": ", ".join(FORMATS)},
            code="format",
        )
    if written_as:
        parse_written_as(written_as)
        if format == "text":
            raise ServiceError(_("the format text holds no annotations: leave out whose they are"), code="as")


def reading_of(
    row: Import,
    source: Source,
    actor: User | None,
    *,
    patients: dict[str, str] | None = None,
    preview: bool = False,
) -> Reading:
    labels, ids = accepted_labels(row.project)
    author = None
    if row.written_as and preview:
        kind, name = parse_written_as(row.written_as)
        author = Author.objects.filter(project=row.project, kind=kind, name=name).first()
    elif row.written_as:
        author = author_for_import(row.project, row.written_as)
    return Reading(
        project=row.project,
        source=source,
        format=row.format,
        author=author,
        language=row.language or row.project.language,
        take_duplicates=row.take_duplicates,
        labels=labels,
        label_ids=ids,
        patients=read_patients(source) if patients is None else patients,
        row=row,
        actor=actor,
        report=Report(**row.report) if row.report else Report(),
    )


def note_names(source: Source) -> list[str]:
    return [name for name in source.names() if name != PATIENTS]


def batches(reading: Reading, groups: Sequence[NoteFiles]) -> Iterator[tuple[list[ParsedNote], int]]:
    """The notes that can be read, in portions of BATCH groups or BATCH_CHARACTERS, each with its count of groups."""
    held: list[ParsedNote] = []
    first = characters = 0
    for done, group in enumerate(groups, 1):
        for note in parsed_notes(reading, [group]):
            held.append(note)
            characters += len(note.text)
        if done - first == BATCH or characters >= BATCH_CHARACTERS or done == len(groups):
            yield held, done - first
            held, first, characters = [], done, 0


def parsed_notes(reading: Reading, groups: Sequence[NoteFiles]) -> Iterator[ParsedNote]:
    """The notes that can be read; the others go into the report."""
    format = FORMATS[reading.format]
    for note in (note for group in groups for note in format.read_many(group, reading.source.load, reading.labels)):
        if isinstance(note, NoteError):
            reading.report.refuse(note.problems)
            continue
        note.patient_id = reading.patients.get(note.name, note.patient_id)
        reading.report.warn(note.warnings)
        if note.spans is not None and not reading.row.written_as:
            reading.report.warn([Problem(note.name, None, "as", "its annotations were not taken: say whose they are")])
            note.spans = None
        crowd = crowd_in((span.start, span.end) for span in note.spans or ())
        if crowd is not None:
            reading.report.refuse([Problem(note.name, None, "room", _too_many(crowd))])
            continue
        yield note


def _too_many(crowd: Crowd) -> str:
    if crowd.at is None:
        return _(
            "it has %(count)s spans, and an annotation set holds at most %(most)s; "
            "split the note or take spans out of its file"
        ) % {"count": f"{crowd.count:,}", "most": f"{MOST_SPANS:,}"}
    return _(
        "%(count)s spans lie over the character at %(at)s, and at most %(most)s may; take some out of its file"
    ) % {"count": crowd.count, "at": crowd.at, "most": DEEPEST}


@dataclass
class Plan:
    """What to write for one batch: new notes, and readings for new notes or (by pk) for notes that are there."""

    new: list[ParsedNote] = field(default_factory=list)
    sets: list[tuple[ParsedNote, int | None]] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)


def plan_notes(reading: Reading, parsed: Iterable[ParsedNote], seen: dict[str, str]) -> Plan:
    """Sort a batch by DOMAIN section 10: new, another reading of a note that is there, the same again, refused.

    `seen` (sha256 to name) carries over the batches of one import.
    """
    notes = list(parsed)
    plan = Plan(hashes={note.name: text_sha256(note.text) for note in notes})
    there = {
        name: (pk, sha256)
        for pk, name, sha256 in Document.objects.filter(
            project=reading.project, name__in=list(plan.hashes)
        ).values_list("pk", "name", "sha256")
    }
    twins = dict(
        Document.objects.filter(project=reading.project, sha256__in=list(plan.hashes.values()))
        .order_by("-id")
        .values_list("sha256", "name")
    )
    for note in notes:
        sha256 = plan.hashes[note.name]
        if note.name in there:
            pk, stored = there[note.name]
            if stored != sha256:
                reading.report.refuse(
                    [
                        Problem(
                            note.name, None, "other-text", "a note of this name is there with another text; it was kept"
                        )
                    ]
                )
            else:
                _plan_reading(reading, plan, note, pk)
            continue
        twin = twins.get(sha256) or seen.get(sha256)
        if twin is not None and not reading.take_duplicates:
            reading.report.refuse(
                [
                    Problem(
                        note.name, None, "duplicate", f"the same text is there as {twin!r}; take it only if you mean it"
                    )
                ]
            )
            continue
        seen[sha256] = note.name
        plan.new.append(note)
        if note.spans is not None:
            plan.sets.append((note, None))
    return plan


def _plan_reading(reading: Reading, plan: Plan, note: ParsedNote, pk: int) -> None:
    """Another reading of a note that is there: new, the same again, or in the way of what the author has."""
    if note.spans is None:
        reading.report.already_there += 1
        return
    present = reading.author and AnnotationSet.objects.filter(document=pk, author=reading.author).first()
    if not present:
        plan.sets.append((note, pk))
        return
    held = set(Span.objects.filter(annotation_set=present).values_list("start", "end", "label_id"))
    given = {(span.start, span.end, reading.label_ids[span.label]) for span in note.spans}
    if held == given and present.state == AnnotationSet.State.SUBMITTED:
        reading.report.already_there += 1
        return
    reading.report.refuse(
        [
            Problem(
                note.name,
                None,
                "other-reading",
                f"{reading.row.written_as} has another reading of this note ({len(held)} spans); it was kept",
            )
        ]
    )
