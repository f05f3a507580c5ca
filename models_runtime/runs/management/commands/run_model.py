import uuid
from itertools import zip_longest
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.domain.voting import Method
from annotations.jobs.waiting import wait_for
from annotations.models import Job, Project, User
from models_runtime.backends.llm.params import OMEGA, PASSES, STRATEGIES
from models_runtime.backends.llm.prompts import LANGUAGES
from models_runtime.core.model_files import NAMED_BY
from models_runtime.core.registry import BACKENDS, ENSEMBLE, FOREIGN, LLM, PIPELINE, SET_UP, TAGGER
from models_runtime.models import Run
from models_runtime.runs.services.ensembles import Asked, start_ensemble, weight_of
from models_runtime.runs.services.foreign import choices_of, find_foreign, start_foreign
from models_runtime.runs.services.llm import start_llm_run, usage_of
from models_runtime.runs.services.runs import run_counts, start_run

OF_LLM = ("server", "model", "strategy", "language", "omega", "passes")


class Command(JourneyCommand):
    help = "Run a backend over every note. --wait stays to the end, and does the work itself if no worker lives."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument(
            "backend",
            metavar="BACKEND",
            help=f"{', '.join(BACKENDS)}, a trained model (its name or model:ID), {ENSEMBLE}, {', '.join(SET_UP)}",
        )
        parser.add_argument("--members", default="", metavar="A,B", help="of an ensemble: backends, models, run:NAME")
        parser.add_argument("--method", choices=list(Method), help="of an ensemble")
        parser.add_argument("--weights", default="", metavar="X,Y", help="in order; default: scores on held-out notes")
        parser.add_argument(
            "--server", metavar="NAME", help="of a language model: one that DEIDREVIEW_LLM_SERVERS lists"
        )
        parser.add_argument("--model", metavar="NAME", help="of a language model; default: the server's first")
        parser.add_argument("--strategy", choices=list(STRATEGIES), help="of a language model; default: extract")
        parser.add_argument("--language", choices=list(LANGUAGES), help="of a language model's prompt; default: en")
        parser.add_argument("--omega", metavar="N", help=f"words of a piece of a note; default: {OMEGA}")
        parser.add_argument("--passes", metavar="N", help=f"how often a piece is read; default: {PASSES}")
        parser.add_argument("--may-leave", action="store_true", help="the notes may be sent to another machine")
        parser.add_argument("--pipeline", default="", metavar="NAME", help=f"of {PIPELINE}: a package or a folder")
        parser.add_argument(
            "--folder", default="", metavar="NAME", help=f"of {TAGGER}: a folder of weights, or a Hub id"
        )
        parser.add_argument(
            "--map", default="", metavar="PER=PATIENT,MISC=", help="such a model's labels here; nothing: not taken over"
        )
        parser.add_argument("--name", default="", help="of the run, for --set run:NAME")
        parser.add_argument("--left", action="store_true", help="of a backend or a model: only notes that aren't gold")
        parser.add_argument("--wait", action="store_true")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        run = self._started(project, actor, options)
        if options["wait"]:
            wait_for(Job.objects.get(run=run), tell=None if options["json"] else self.stderr)
        job = Job.objects.get(run=run)
        run.refresh_from_db()
        counts = run_counts(run)
        took = (job.finished_at - job.started_at).total_seconds() if job.finished_at and job.started_at else None
        result = {"run": run.author.name, "run_id": run.author_id, "job": job.pk, "state": job.state, "seconds": took}
        result |= counts | {word: run.params[word] for word in ("method", "members", "left_out") if word in run.params}
        usage = usage_of(run)
        if usage is not None:
            result["usage"] = usage.as_dict()
        if job.state in (Job.State.FAILED, Job.State.CANCELLED):
            raise ServiceError(f"the run {run.author.name} {job.get_state_display().lower()}: {job.error}", code="run")
        return result

    def _started(self, project: Project, actor: User | None, options: dict[str, Any]) -> Run:
        name, key = options["name"], uuid.uuid4().hex
        given = {word: options[word] for word in OF_LLM if options[word] is not None}
        if options["backend"] == LLM:
            return start_llm_run(
                project=project, given=given, may_leave=options["may_leave"], actor=actor, name=name, key=key
            )
        if given:
            raise ServiceError(f"{', '.join(f'--{word}' for word in given)}: only for {LLM}", code="llm")
        if options["backend"] in FOREIGN:
            return self._of_others(project, actor, options)
        if options["backend"] != ENSEMBLE:
            if options["members"] or options["method"] or options["weights"]:
                raise ServiceError(f"--members, --method and --weights belong to {ENSEMBLE}", code="members")
            return start_run(
                project=project, backend=options["backend"], actor=actor, name=name, key=key, left=options["left"]
            )
        words = [word for word in options["members"].split(",") if word.strip()]
        weights = [weight_of(word) for word in options["weights"].split(",")] if options["weights"] else []
        if weights and len(weights) != len(words):
            raise ServiceError(f"{len(words)} members with {len(weights)} weights; give one each", code="weight")
        members = [Asked(word, weight) for word, weight in zip_longest(words, weights)]
        method = options["method"] or Method.MAJORITY
        return start_ensemble(project=project, members=members, method=method, actor=actor, name=name, key=key)

    def _of_others(self, project: Project, actor: User | None, options: dict[str, Any]) -> Run:
        """What --map says; for labels that it leaves out, what the last run or such labels usually say."""
        backend = options["backend"]
        model = find_foreign(backend, options[NAMED_BY[backend]])
        labels = {row.label: row.ours for row in choices_of(project, model) if row.ours is not None}
        for word in filter(None, options["map"].split(",")):
            theirs, equals, ours = word.partition("=")
            if not equals:
                raise ServiceError(f"--map: {word!r} is no LABEL=OURS", code="map")
            labels[theirs.strip()] = ours.strip()
        name, key = options["name"], uuid.uuid4().hex
        return start_foreign(
            project=project, backend=backend, model=model.name, labels=labels, actor=actor, name=name, key=key
        )

    def say(self, result: dict[str, Any]) -> str:
        return (
            f"run {result['run']} (job {result['job']}, {result['state']}): {result['done']} notes done, "
            f"{result['failed']} failed, {result['pending']} to do"
            + (f"; {result['left_out']} left out: not every member had read them" if result.get("left_out") else "")
        )
