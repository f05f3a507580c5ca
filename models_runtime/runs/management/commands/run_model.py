import uuid
from itertools import zip_longest
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, add_fields, read_text
from annotations.core.services import ServiceError
from annotations.jobs.waiting import wait_for
from annotations.models import Job, JobState, Project, User
from annotations.text.combining import Method
from models_runtime.core import registry
from models_runtime.core.model_files import NAMED_BY
from models_runtime.models import Run
from models_runtime.runs.forms.models import OWN, LlmForm
from models_runtime.runs.forms.runs import RunForm
from models_runtime.runs.services.backends import ThresholdGoal, expected
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble, weight_of
from models_runtime.runs.services.external import choices_of, find_external, start_external
from models_runtime.runs.services.llm import start_llm_run, usage_of
from models_runtime.runs.services.runs import failed_notes, run_counts, run_errors, start_run

OF_LLM = ("server", "model", *OWN)


class Command(ProjectCommand):
    help = "Run a backend over all notes. With --wait, wait for the end, and run it here if there is no worker."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        backends = ", ".join([*registry.BACKENDS, registry.ENSEMBLE, *registry.SET_UP])
        about = f"One of {backends}, or a trained model (its name or model:ID)."
        parser.add_argument("backend", metavar="BACKEND", help=about)
        about = "Members of an ensemble: backends, models, run:NAME."
        parser.add_argument("--members", default="", metavar="A,B", help=about)
        parser.add_argument("--method", choices=list(Method), help="Method of an ensemble.")
        weights = "Weights in the order of the members. Default: hold-out scores."
        parser.add_argument("--weights", default="", metavar="X,Y", help=weights)
        about = (
            f"Server of a language model (DEIDREVIEW_LLM_SERVERS) or of {registry.REMOTE} (DEIDREVIEW_REMOTE_MODELS)."
        )
        parser.add_argument("--server", metavar="NAME", help=about)
        parser.add_argument("--model", metavar="NAME", help="Name of a language model. Default: the server's first.")
        fields = ("strategy", "language", "omega", "overlap", "passes", "temperature", "tokens", "context", "preset")
        add_fields(parser, LlmForm, fields)
        for option, const, about in (
            ("every-pass", True, "Continue after a pass that finds nothing."),
            ("without-descriptions", False, "Leave the descriptions of labels out of the prompt."),
            ("examples", True, "Put invented examples into the prompt."),
        ):
            dest = option.removeprefix("without-").replace("-", "_")
            parser.add_argument(f"--{option}", dest=dest, action="store_const", const=const, help=about)
        about = "File with your own prompt. $labels stands for the labels of a question."
        parser.add_argument("--template", metavar="FILE", help=about)
        parser.add_argument("--may-leave", action="store_true", help="The notes may be sent to another machine.")
        parser.add_argument("--pipeline", default="", metavar="NAME", help=f"Package or folder of {registry.PIPELINE}.")
        about = f"Folder of weights, or Hub id, of {registry.TAGGER}, {registry.FLAIR} or {registry.GLINER}."
        parser.add_argument("--folder", default="", metavar="NAME", help=about)
        about = (
            "Project labels for the labels of an external model; an empty one is ignored. For a zero-shot model: for "
            "its prompts, such as “name of a city=CITY”, without commas. Default: the names of the labels."
        )
        parser.add_argument("--map", default="", metavar="PER=PATIENT,MISC=", help=about)
        add_fields(parser, RunForm, ("name", "left", "threshold", "recall", "precision"))
        parser.add_argument("--wait", action="store_true", help="Wait for the end.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        run = self._started(project, actor, options)
        job = Job.objects.get(run=run)
        if options["wait"]:
            wait_for(job, tell=None if options["json"] else self.stderr)
        run.refresh_from_db()
        counts = run_counts(run)
        took = (job.finished_at - job.started_at).total_seconds() if job.finished_at and job.started_at else None
        result = {"run": run.author.name, "run_id": run.author_id, "job": job.number, "state": job.state}
        result["seconds"] = took
        result |= counts | {
            word: run.params[word] for word in ("method", "members", "left_out", "rules_again") if word in run.params
        }
        result["errors"] = run_errors(run)
        result["masking_threshold"] = run.params.get("threshold")
        result["on_hold_out"] = expected(run)
        usage = usage_of(run)
        if usage is not None:
            result["usage"] = usage.as_dict()
        if job.state in (JobState.FAILED, JobState.CANCELED):
            raise ServiceError(
                f"The run “{run.author.name}” is not complete. {job.get_state_display()}: {job.error}", code="run"
            )
        return result

    def _started(self, project: Project, actor: User | None, options: dict[str, Any]) -> Run:
        name, key = options["name"] or "", uuid.uuid4().hex
        given = {word: options[word] for word in OF_LLM if options[word] is not None}
        if "template" in given:
            given["template"] = read_text(Path(given["template"]), "Nothing was started.")
        wanted = ThresholdGoal(options["threshold"], options["recall"], options["precision"])
        if wanted and options["backend"] == registry.LLM:
            raise ServiceError(
                "A language model gives no probabilities of labels, so it can't use a threshold.", code="threshold"
            )
        if options["backend"] == registry.LLM:
            return start_llm_run(
                project=project, given=given, may_leave=options["may_leave"], actor=actor, name=name, key=key
            )
        if options["backend"] == registry.REMOTE:
            given.pop("server", None)
        if given:
            raise ServiceError(f"{', '.join(map(_option, given))} can only be used with {registry.LLM}.", code="llm")
        if options["backend"] in registry.EXTERNAL:
            return self._external(project, actor, options, wanted)
        if options["backend"] != registry.ENSEMBLE:
            if options["members"] or options["method"] or options["weights"]:
                raise ServiceError(
                    f"--members, --method and --weights can only be used with {registry.ENSEMBLE}.", code="members"
                )
            return start_run(
                project=project, backend=options["backend"], actor=actor, name=name, key=key, left=options["left"],
                wanted=wanted,
            )  # fmt: skip
        specs = [spec for spec in options["members"].split(",") if spec.strip()]
        weights = [weight_of(text) for text in options["weights"].split(",")] if options["weights"] else []
        if weights and len(weights) != len(specs):
            raise ServiceError(
                f"There are {len(weights)} weights for {len(specs)} members. Give each member one weight.",
                code="weight",
            )
        members = [MemberChoice(spec, weight) for spec, weight in zip_longest(specs, weights)]
        method = options["method"] or Method.MAJORITY
        return start_ensemble(
            project=project, members=members, method=method, actor=actor, name=name, key=key, wanted=wanted
        )

    def _external(self, project: Project, actor: User | None, options: dict[str, Any], wanted: ThresholdGoal) -> Run:
        """Start a run with the labels of --map; for other labels, use the last run's or the usual mapping."""
        backend = options["backend"]
        model = find_external(backend, options[NAMED_BY[backend]] or "")
        usual = [] if model.zero_shot and options["map"] else choices_of(project, model)
        labels = {row.label: row.ours for row in usual if row.ours is not None}
        mapped: dict[str, str] = {}
        for pair in filter(None, options["map"].split(",")):
            # A prompt can contain “=”.
            theirs, equals, ours = pair.rpartition("=") if model.zero_shot else pair.partition("=")
            if not equals:
                raise ServiceError(
                    f"--map contains “{pair}”, which has no “=”. Write MODEL_LABEL=PROJECT_LABEL.", code="map"
                )
            theirs, ours = theirs.strip(), ours.strip()
            if mapped.setdefault(theirs, ours) != ours:
                raise ServiceError(f"--map gives “{theirs}” two labels: {mapped[theirs]} and {ours}.", code="map")
        labels |= mapped
        name, key = options["name"] or "", uuid.uuid4().hex
        return start_external(
            project=project, backend=backend, model=model.name, labels=labels, actor=actor, name=name, key=key,
            may_leave=options["may_leave"], wanted=wanted,
        )  # fmt: skip

    def say(self, result: dict[str, Any]) -> str:
        said = (
            f"Run {result['run']} (job {result['job']}: {JobState(result['state']).label}): "
            f"{result['done']} notes done, {result['failed']} failed, {result['pending']} remaining."
        )
        if result["masking_threshold"] is not None:
            said += f" Masking threshold: {result['masking_threshold']:g}."
        if (found := result["on_hold_out"]) is not None:
            said += (
                f" On held-out notes at {found['threshold']:g}: character recall {found['recall'] or 0:.4f}, "
                f"precision {found['precision'] or 0:.4f}, leak-free notes {found['leak_free'] or 0:.4f}."
            )
        if again := result.get("rules_again"):
            said += (
                f" The rules vote, and their tags are features of {', '.join(again)}. An error of the rules can have "
                "several votes."
            )
        if result.get("left_out"):
            said += f" Excluded because not every member annotated them: {result['left_out']} notes."
        return said

    def failure(self, result: dict[str, Any]) -> str:
        return failed_notes(result)


def _option(name: str) -> str:
    """The option of a parameter of a language model."""
    return "--without-descriptions" if name == "descriptions" else "--" + name.replace("_", "-")
