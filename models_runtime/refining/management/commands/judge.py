import uuid
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.gold.rules import Split
from annotations.jobs.waiting import wait_for
from annotations.models import Job, JobState, User
from annotations.scores.rules.intervals import in_text
from annotations.scores.rules.judging import RULES, STANDARD, THRESHOLD, JudgedUnit
from annotations.scores.selectors import copied_in_text
from models_runtime.backends.llm.prompts import LANGUAGES, presets_of
from models_runtime.models import Judging
from models_runtime.refining.services.judging.asking import start_judging
from models_runtime.refining.services.judging.results import result_of
from models_runtime.refining.services.judging.rules import PROMPTS


class Command(JourneyCommand):
    help = "Have language models judge an author's de-identified notes against gold, and wait for the verdicts."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")
        parser.add_argument("--author", required=True, metavar="NAME", help="Author: NAME, annotator:NAME or run:NAME.")
        parser.add_argument(
            "--judge",
            action="append",
            required=True,
            metavar="SERVER/MODEL",
            help="Model of a server listed in DEIDREVIEW_LLM_SERVERS. Repeat the option for each judge.",
        )
        parser.add_argument(
            "--threshold", type=float, metavar="X", help=f"More than this share must agree. Default: {THRESHOLD}."
        )
        parser.add_argument(
            "--rules", default=STANDARD.key, choices=list(RULES), help=f"Rules for verdicts. Default: {STANDARD.key}."
        )
        parser.add_argument(
            "--unit",
            default="",
            choices=["", *JudgedUnit],
            help="An entity is each occurrence, or each text with its label once per note. Default: by the rules.",
        )
        parser.add_argument(
            "--temperature",
            type=float,
            metavar="T",
            help="From 0 (same answer each time) to 2. Default: by the rules, "
            + ", ".join(f"{rules.temperature:g} for {key}" for key, rules in RULES.items())
            + ".",
        )
        parser.add_argument(
            "--language", default="", choices=list(LANGUAGES), help="Prompt language. Default: the project's."
        )
        parser.add_argument(
            "--preset",
            default="",
            choices=list(presets_of(PROMPTS.values())),
            help="Printed prompt of a paper, in its language. It needs the rules of the paper.",
        )
        parser.add_argument(
            "--split", default="", choices=["", *Split], help="Only these notes of the version's split."
        )
        parser.add_argument("--notes", type=int, metavar="N", help="Maximum number of notes, a fixed sample.")
        parser.add_argument("--may-leave", action="store_true", help="The notes may be sent to another machine.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        judging = start_judging(
            project=find_project(options["project"]),
            gold=options["gold"],
            author=options["author"],
            judges=options["judge"],
            may_leave=options["may_leave"],
            actor=actor,
            key=uuid.uuid4().hex,
            split=options["split"],
            language=options["language"],
            threshold=options["threshold"],
            most_notes=options["notes"],
            rules=options["rules"],
            unit=options["unit"],
            temperature=options["temperature"],
            preset=options["preset"],
        )
        judging = waited(judging, tell=None if options["json"] else self.stderr)
        return result_of(judging)

    def say(self, result: dict[str, Any]) -> str:
        return said(result)


def waited(judging: Judging, tell: OutputWrapper | None) -> Judging:
    """Wait for the job of a judging, and read it anew. Raises ServiceError `judge` if the job failed or was canceled.

    Without a running worker, the job runs here, which `tell` says.
    """
    wait_for(Job.objects.get(judging=judging), tell=tell)
    found = Judging.objects.select_related("job", "author", "gold_version").get(pk=judging.pk)
    job = found.job
    if job is not None and job.state in (JobState.FAILED, JobState.CANCELED):
        raise ServiceError(f"The verdicts are not complete. {job.get_state_display()}: {job.error}", code="judge")
    return found


def said(result: dict[str, Any]) -> str:
    """Return the figures of a judging as text."""
    lines = [
        f"Verdicts on {result['author']} against gold {result['gold']}: {result['notes']} notes, "
        f"{result['entities']} entities, threshold {result['threshold']}",
        f"Rules: {result['rules']}, entity: {result['unit']}, temperature {result['temperature']:g}",
        _line("Majority of judges", result["majority"]["micro"]),
        *(_line(judge["judge"], judge["micro"]) for judge in result["judges"]),
        _line("Counted in the rewritten text", result["rewritten"]["micro"]),
        _line("Exact spans and labels", result["spans"]["micro"]),
        f"Entities discarded because too few judges agree: {result['discarded']}{_by_label(result)}",
    ]
    if result["few_notes"]:
        lines.append(f"Few notes. F1 of exact spans: {in_text(result['few_notes'])}")
    if result["own_gold_spans"]:
        lines.append(copied_in_text(result["own_gold_spans"], result["author"], merged=result["merged"]))
    if result["unanswered"]:
        lines.append(f"Notes without a usable answer, judged as if nothing was found: {result['unanswered']}")
    lines += [f"{judge['judge']} stopped. {judge['stopped']}" for judge in result["judges"] if judge["stopped"]]
    lines += [
        f"{judge['judge']} gave no readable answer on {judge['failed_notes']} notes."
        for judge in result["judges"]
        if judge["failed_notes"]
    ]
    if result["judged_by_fewer"]:
        lines.append(f"Entities judged by only some of the judges: {result['judged_by_fewer']}")
    return "\n".join(lines)


def _by_label(result: dict[str, Any]) -> str:
    rows = [row for row in result["majority"]["labels"] if row["discarded"]]
    found = ", ".join(f"{row['label']} {row['discarded']} of {row['entities']}" for row in rows)
    return f" ({found})" if found else ""


def _line(name: str, figures: dict[str, Any]) -> str:
    rates = " · ".join(
        f"{word} {_shown(figures[key])}"
        for word, key in (("precision", "precision"), ("recall", "recall"), ("F1", "f1"), ("accuracy", "accuracy"))
    )
    return f"{name[:40]:40} {rates} ({figures['tp']} removed, {figures['fn']} remaining, {figures['fp']} extra)"


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
