"""`manage.py known_identifiers PROJECT`: import a patient master and lists of terms, and run the backend `known`."""

import uuid
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.services import ServiceError
from annotations.jobs.waiting import end
from annotations.models import Job, ListedTermKind, Project, Span, User
from annotations.release.jobs import read_master
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.selectors.known import labels_by_kind, master_state
from annotations.release.services.known import FORMATS, add_terms, report_of, store_people
from models_runtime.core.registry import KNOWN
from models_runtime.runs.services.runs import failed_notes, run_counts, run_errors, start_run


class Command(ProjectCommand):
    help = (
        "Import a patient master and terms of the allow and deny lists, and find known identifiers in all notes. "
        "Without options, print what the project has."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--master", metavar="FILE", help="A file of patients. Patients that exist are replaced.")
        parser.add_argument("--format", choices=FORMATS, default="csv", help="Format of the master. Default: csv.")
        parser.add_argument("--allow", metavar="FILE", help="Terms that may stay in released text, one per line.")
        parser.add_argument(
            "--deny", metavar="FILE", help="Terms to find, one per line; after a tab, the label's code."
        )
        parser.add_argument("--run", metavar="NAME", help="Run the backend “known” under this name, and wait for it.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        result: dict[str, Any] = {"project": project.slug}
        if options["master"]:
            master = read_master(project, _read(options["master"]), options["format"])
            report = report_of(master)
            done = store_people(project=project, people=master.people, problems=report["problem_count"], actor=actor)
            kept = ("rows", "columns", "unknown", "problems")
            result["master"] = dict(done) | {"file": {name: report[name] for name in kept}}
        for kind in ListedTermKind.values:
            if options[kind]:
                terms = _terms(project, _read(options[kind]), kind)
                result[kind] = add_terms(project=project, kind=kind, terms=terms, actor=actor)
        if options["run"] is not None:
            result["run"] = self._run(project, options["run"], actor, quiet=options["json"])
        state = master_state(project)
        result["patients"], result["notes"], result["covered"] = state.patients, state.notes, state.covered
        result["allowed"], result["denied"] = state.allowed, state.denied
        return result

    def _run(self, project: Project, name: str, actor: User | None, *, quiet: bool) -> dict[str, Any]:
        run = start_run(project=project, backend=KNOWN, actor=actor, name=name, key=uuid.uuid4().hex)
        job = Job.objects.get(run=run)
        end(job, f"The run “{run.author.name}”", code="run", tell=None if quiet else self.stderr)
        spans = Span.objects.filter(annotation_set__author=run.author).count()
        said = {"run": run.author.name, "job": job.number, "spans": spans}
        return said | run_counts(run) | {"errors": run_errors(run)}

    def failure(self, result: dict[str, Any]) -> str:
        return failed_notes(result["run"]) if "run" in result else ""


def _read(path: str) -> bytes:
    """Raises ServiceError `file`."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ServiceError(f"The file “{path}” can't be read: {error.strerror}.", code="file") from error


def _terms(project: Project, content: bytes, kind: str) -> list[tuple[str, str]]:
    """The terms of a file with their labels; the label of names for a denied term without one."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ServiceError("The file of terms is not UTF-8. Save it as UTF-8.", code="file") from None
    usual = labels_by_kind(project)[IdentifierType.NAME] if kind == ListedTermKind.DENY else ""
    parts = [line.partition("\t") for line in lines if line.strip()]
    return [(term, label.strip() or usual) for term, _tab, label in parts]
