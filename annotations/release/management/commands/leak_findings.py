from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.core.events import record_reads
from annotations.jobs.waiting import wait_for
from annotations.models import Job, LeakFinding, Release, User
from annotations.release.selectors.leak_groups import FILTERS, finding_counts, findings_of, in_context, passing
from annotations.release.selectors.releases import release_numbered
from annotations.release.services.deciding import UNDO, answer_chosen
from annotations.text.numbers import MAX_ID

SHOWN = 500


def wait_until_prepared(release: Release, tell: OutputWrapper | None) -> None:
    """Wait for the job that prepares a release, if there is one. Raises ServiceError `job` if it doesn't reach its end.

    Without a running worker, the job runs here, which `tell` says.
    """
    release.refresh_from_db()
    if release.state != Release.State.PREPARING or release.job is None:
        return
    wait_for(release.job, tell=tell)
    if release.job.state != Job.State.DONE:
        raise ServiceError(
            f"Release {release.number} is not complete. Job {release.job.number}: "
            f"{release.job.get_state_display()}. {release.job.error}".strip(),
            code="job",
        )
    release.refresh_from_db()


class Command(JourneyCommand):
    help = (
        "List what the leak gate found in a release, each finding in its sentence, or decide findings. The audit log "
        "records whose notes were read. Findings that somebody decided before stay as they are."
    )
    needs = Can.RELEASE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("release", metavar="NUMBER", type=int, help="Number of the release.")
        parser.add_argument(
            "--state", choices=FILTERS, default="open", help="Which findings to list. Default: open ones."
        )
        answers = [*map(str, LeakFinding.Answer), UNDO]
        parser.add_argument(
            "--decide", choices=answers, help="Replace the places as the policy says, allow them, or undo decisions."
        )
        parser.add_argument(
            "--label",
            default="",
            metavar="CODE",
            help="The label whose placeholder replaces findings that no label fits, or several.",
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--finding", type=int, nargs="+", default=[], metavar="ID", help="Decide these findings.")
        which.add_argument("--string", type=int, metavar="KEY", help="Decide all findings of one string.")
        which.add_argument("--all", action="store_true", help="Decide all findings.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        release = release_numbered(project, options["release"])
        chosen = bool(options["finding"] or options["all"] or options["string"] is not None)
        if chosen != bool(options["decide"]):
            raise ServiceError(
                "To decide findings, use --decide with --finding ID, --string KEY or --all.", code="decide"
            )
        if not options["decide"]:
            listed = _listed(release, actor, options["state"])
            return {"release": release.number} | finding_counts(release) | {"findings": listed}
        string = options["string"]
        if any(not 0 < pk <= MAX_ID for pk in options["finding"]) or (string and abs(string) > MAX_ID):
            raise ServiceError("These are not IDs of findings or keys of strings.", code="decide")
        changed = answer_chosen(
            release=release,
            answer=options["decide"],
            findings=options["finding"],
            string_key=string,
            actor=actor,
            label=options["label"],
        )
        wait_until_prepared(release, tell=None if options["json"] else self.stderr)
        release.refresh_from_db()
        return {"release": release.number, "changed": changed, "state": release.state} | finding_counts(release)

    def say(self, result: dict[str, Any]) -> str:
        counts = f"Findings: {result['open']} open, {result['decided']} decided."
        if "changed" in result:
            return f"Changed {result['changed']} findings. {counts}"
        return "\n".join([counts, *map(_line, result["findings"])])


def _listed(release: Release, actor: User | None, state: str) -> list[dict[str, Any]]:
    rows = passing(findings_of(release), state).order_by("pk")
    findings = list(rows.select_related("decided_by", "note__document")[:SHOWN])
    shown = in_context(findings)
    notes = (one.note for one in shown.values())
    record_reads(actor=actor, project_id=release.project_id, notes=notes, what="leak findings")
    return [
        {
            "id": one.pk, "string": one.string_key, "note": context.name, "where": one.where, "start": one.start,
            "end": one.end, "before": context.before, "marked": context.marked, "after": context.after,
            "origin": one.origin, "part": one.part, "label": one.label, "decision": one.decision,
            "decided_by": context.decided_by or None,
        }
        for one in findings
        for context in [shown[one.pk]]
    ]  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    decision = f"  {row['decision']} by {row['decided_by']}" if row["decision"] else ""
    sentence = " ".join(f"{row['before']}»{row['marked']}«{row['after']}".split())
    return f"{row['id']}  {row['note']}  string {row['string']}: {sentence}{decision}"
