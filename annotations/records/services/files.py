"""De-identify a file of records. Beside the new file stand its signed manifest and the manifest's signature."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from django.db import transaction

from annotations.core.bulk import among
from annotations.core.services import Progress, ServiceError, erasures_of, silent, unerased
from annotations.models import LeakFinding, Project, Record, Release, ReleasePolicy, User
from annotations.records.events import RECORDS_WRITTEN
from annotations.records.selectors import active_schemas, ready_records, waiting_records
from annotations.records.services.leaving import SIGNATURE, WrittenFile, leave
from annotations.records.services.reading import RecordWriter, format_of, is_single, new_file, read_records, writer_for
from annotations.records.services.releasing import PREPARED, ReleasedRecord, released_records, start_record_release
from annotations.records.services.taking import OutcomeState, RecordOutcome, take_records
from annotations.release.services.settling import settle
from annotations.release.services.waiting import prepare_here

MANIFEST: Final = ".manifest.json"
SHOWN: Final = 100
"""How many refused and held records a report lists."""
ReadNotes = Callable[[Sequence[int]], list[str]]
"""Lets a run read notes, given by their ids, and returns the names of the runs that have read them."""


@dataclass
class RecordReport:
    """What became of the records of a file: `records` were written. `leaks` counts what the leak gate found.

    `held`: records with leaks. `problems`: the first refused and held ones, with where, path and reason. `release`: the
    number of the release with which the file leaves; `runs`: who decided about free text besides gold.
    """

    records: int = 0
    refused: int = 0
    waiting: int = 0
    leaks: int = 0
    held: int = 0
    release: int | None = None
    runs: list[str] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    sha256: str = ""

    def refuse(self, where: str, path: str, reason: str, *, leaks: int = 0, times: int = 1) -> None:
        """Count a record that doesn't leave; with `leaks`, the gate holds it back."""
        self.refused += 0 if leaks else times
        self.held += times if leaks else 0
        self.leaks += leaks
        if len(self.problems) < SHOWN:
            self.problems.append({"where": where, "path": path, "reason": reason})


def deidentify_file(
    *,
    project: Project,
    source: Path,
    out: Path,
    policy: ReleasePolicy,
    actor: User | None,
    data_type: str = "",
    unreviewed: bool = False,
    read: ReadNotes | None = None,
    releases: bool = True,
    progress: Progress = silent,
) -> RecordReport:
    """De-identify the records of a file into a new file of the same or another format.

    Records without free text are written at once. The others are stored, and written after them if their notes are
    reviewed, or if the run `read` decides: with `unreviewed`, or where their schema lets it. The rest waits for its
    review; call this again afterwards. Without `releases`, only what was released before is written of them. Raises
    ServiceError, and ErasedMeanwhile if a note was erased meanwhile; no file is left then.
    """
    begun = erasures_of(project.pk)
    if not active_schemas(project):
        raise ServiceError("No schema is active. Add one with “schema add”, review and activate it.", code="schema")
    report, kind = RecordReport(), format_of(out)
    beside = [out.with_name(out.name + ending) for ending in (MANIFEST, MANIFEST + SIGNATURE)]
    if there := next((path for path in beside if path.exists()), None):
        raise ServiceError(f"“{there}” exists. Nothing was written. Choose another name.", code="out")
    alone = is_single(source) if source.is_file() else False
    with new_file(out) as file:
        writer = writer_for(kind, file, alone=alone)
        stored = Counter[int]()
        for outcome in take_records(
            project=project, records=read_records(source), policy=policy, actor=actor, data_type=data_type
        ):
            _count(report, outcome, writer, stored)
            taken = report.records + report.refused + report.held + stored.total()
            progress(taken, taken + 1)
        direct = report.records > 0
        if releases:
            _release_ready(project, policy, stored, actor, unreviewed, read, report)
        release = None
        for release, one in _released(project, policy, stored, report):
            _write(report, one, writer, stored[one.record], release)
        writer.close()
        with transaction.atomic():
            unerased(project.pk, begun)
    _finish(report, project, out, policy, release, actor, direct=direct)
    return report


def _count(report: RecordReport, outcome: RecordOutcome, writer: RecordWriter, stored: Counter[int]) -> None:
    if outcome.state == OutcomeState.READY:
        writer.write(outcome.output)
        report.records += 1
    elif outcome.record is not None:
        stored[outcome.record] += 1
    else:
        leaks = int(outcome.state == OutcomeState.HELD)
        report.refuse(outcome.where, outcome.path, outcome.reason, leaks=leaks)


def _release_ready(
    project: Project,
    policy: ReleasePolicy,
    stored: Counter[int],
    actor: User | None,
    unreviewed: bool,
    read: ReadNotes | None,
    report: RecordReport,
) -> None:
    """Let the run read the notes of the stored records that wait for it, and release those that are ready."""
    waiting = waiting_records(project).filter(pk__in=among(stored))
    if read is not None:
        unread = waiting.exclude(pk__in=ready_records(project).values("pk"))
        report.runs = read(list(unread.values_list("document", flat=True)))
    runs = tuple(report.runs)
    ready = ready_records(project, runs=runs, unreviewed=unreviewed).filter(pk__in=among(stored))
    if records := list(ready.values_list("pk", flat=True)):
        release = start_record_release(
            project=project, policy=policy, records=records, actor=actor, runs=runs, unreviewed=unreviewed
        )
        prepare_here(release)


def _released(
    project: Project, policy: ReleasePolicy, stored: Counter[int], report: RecordReport
) -> Iterator[tuple[Release, ReleasedRecord]]:
    """Put together what is released of the stored records, and count the others."""
    every = Record.objects.filter(pk__in=among(stored))
    for pk, name in every.exclude(document__feed_note=None).values_list("pk", "document__name"):
        report.refuse(name, "", "A feed has this record, and delivers it to its outgoing folder.", times=stored[pk])
    own = every.filter(document__feed_note=None)
    waiting = set(waiting_records(project).filter(pk__in=among(stored)).values_list("pk", flat=True))
    done = own.filter(release__state__in=PREPARED, release__policy=policy)
    for pk in dict.fromkeys(done.order_by("release").values_list("release", flat=True)):
        release = Release.objects.select_related("project", "policy").get(pk=pk)
        for one in released_records(release, only=stored):
            yield release, one
    report.waiting = sum(stored[pk] for pk in waiting)
    others = own.exclude(pk__in=done.values("pk")).exclude(pk__in=among(waiting))
    for row in others.select_related("release", "document"):
        assert row.release is not None
        reason = f"Release {row.release.number} has it, under another policy or unfinished. Withdraw that one first."
        report.refuse(row.document.name, "", reason, times=stored[row.pk])


def _write(report: RecordReport, one: ReleasedRecord, writer: RecordWriter, times: int, release: Release) -> None:
    if one.output is not None:
        for _time in range(times):
            writer.write(one.output)
        report.records += times
    elif one.held:
        found = LeakFinding.objects.filter(note__release=release, note__document__record=one.record, decision="")
        reason = f"The leak gate holds its note back. Decide its findings in release {release.number}."
        report.refuse(one.where, "", reason, leaks=max(found.count(), 1), times=times)
    else:
        report.refuse(one.where, one.path, one.reason, leaks=int(one.leak), times=times)


def _finish(
    report: RecordReport,
    project: Project,
    out: Path,
    policy: ReleasePolicy,
    release: Release | None,
    actor: User | None,
    *,
    direct: bool = False,
) -> None:
    """Let a new file leave (`leave`), and record what left."""
    counts = {
        "records": report.records, "refused": report.refused, "waiting": report.waiting, "held_back": report.held,
    }  # fmt: skip
    release, (report.sha256,) = leave(
        project=project, policy=policy, files=[WrittenFile(out, report.records, report.held)], counts=counts,
        manifest=out.with_name(out.name + MANIFEST), release=release, direct=direct, actor=actor,
    )  # fmt: skip
    report.release = release.number if release else None
    RECORDS_WRITTEN.record(
        actor=actor,
        project_id=project.pk,
        data={
            "records": report.records, "refused": report.refused, "waiting": report.waiting, "leaks": report.leaks,
            "release": report.release, "policy": policy.pk, "sha256": report.sha256,
        },
    )  # fmt: skip


def write_release(*, release: Release, out: Path, actor: User | None) -> RecordReport:
    """Write all records of a prepared release into a new file. Raises ServiceError `state`; nothing is left then."""
    if release.state not in PREPARED:
        raise ServiceError(f"Release {release.number} is not prepared, or was withdrawn.", code="state")
    report = RecordReport(release=release.number)
    release = settle(release=release)
    with new_file(out) as file:
        writer = writer_for(format_of(out), file)
        for one in released_records(release):
            _write(report, one, writer, 1, release)
        writer.close()
    _finish(report, release.project, out, release.policy, release, actor)
    return report
