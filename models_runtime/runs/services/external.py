"""Start runs of external models, with a project label, or none, for each of the model's labels."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext, gettext_noop

from annotations.core.hooks import UsedModel
from annotations.core.services import ServiceError
from annotations.models import Author, Project, User
from annotations.projects.selectors.labels import accepted_labels, labels_of
from annotations.release.rules.redaction.policy import IdentifierType, kinds_of, label_of
from annotations.release.selectors.known import kinds_of_labels
from annotations.text.names import keepable, unkeepable, whole_number
from models_runtime.backends.base import BackendError
from models_runtime.core import external
from models_runtime.core.combining import models_behind
from models_runtime.core.external import FOUND, ExternalModel, external_model_named
from models_runtime.core.model_files import NAMED_BY
from models_runtime.core.registry import FLAIR, GLINER, PIPELINE, REMOTE, TAGGER
from models_runtime.core.stages import learned_from
from models_runtime.models import Run, RunItem, RunItemState, TrainedModel
from models_runtime.models.runs import OF_MODEL
from models_runtime.runs.services.backends import NOTHING, ChosenBackend, ThresholdGoal, at_threshold, check_consent
from models_runtime.runs.services.runs import started

# Characters of a prompt for a zero-shot model, and prompts of a run.
MOST_PROMPT = 100
MOST_PROMPTS = 200


USUAL = Path(settings.FIXTURES_DIR / "pipeline_labels.json")


_INSTALL = {
    PIPELINE: gettext_noop("This machine has no spaCy pipelines. Install a package, or copy a folder to %(folder)s."),
    TAGGER: gettext_noop(
        "This machine has no transformers that label tokens. Copy a folder of weights to %(folder)s, on this "
        "machine and on those of the workers."
    ),
    FLAIR: gettext_noop(
        "This machine has no Flair taggers. Copy a folder that the script in docs/flair.md made to %(folder)s, on "
        "this machine and on those of the workers."
    ),
    GLINER: gettext_noop(
        "This machine has no zero-shot models. Copy a folder that GLiNER saved as safetensors to %(folder)s, on "
        "this machine and on those of the workers."
    ),
    REMOTE: gettext_noop(
        "No remote model is configured. Ask the administrator to list servers in DEIDREVIEW_REMOTE_MODELS."
    ),
}


def how_to_install(backend: str) -> str:
    """What an operator does where there is no model of an external backend."""
    home = external.pipelines_home() if backend == PIPELINE else external.weights_home()
    return gettext(_INSTALL[backend]) % {"folder": home}


@dataclass(frozen=True)
class Choice:
    """A label of a model and the project's label for it: empty to ignore the label, None if it is undecided."""

    label: str
    ours: str | None


def find_external(backend: str, name: str) -> ExternalModel:
    """Return the external model with this name. Raises ServiceError, with the choices in its message."""
    found, code = external_model_named(backend, name), NAMED_BY[backend]
    if found is None:
        choices = ", ".join(row.name for row in FOUND[backend]())
        if not choices:
            raise ServiceError(how_to_install(backend), code=code)
        message = gettext("There is no model “%(name)s”. Available: %(choices)s.")
        raise ServiceError(message % {"name": name, "choices": choices}, code=code)
    if not found.labels and not found.zero_shot:
        message = gettext(
            "The model “%(name)s” has no entity or span labels, so it can't suggest spans. Choose another model."
        )
        raise ServiceError(message % {"name": name}, code=code)
    return found


def choices_of(project: Project, model: ExternalModel) -> list[Choice]:
    """Return the choice for each label: from the model's last run, else by the usual mapping or the same name.

    For a zero-shot model, the choices are its prompts, each with the label that it stands for.
    """
    named = {f"params__{NAMED_BY[model.backend]}": model.name}
    last = Run.objects.filter(project=project, backend=model.backend, **named).order_by("-pk").first()
    accepted, _ = accepted_labels(project)
    if model.zero_shot:
        asked = last.params["labels"] if last else usual_prompts(project)
        return [Choice(prompt, accepted[code]) for prompt, code in sorted(asked.items()) if code in accepted]
    known = last.params["labels"] if last else {label: label for label in accepted} | usual_labels(project)
    return [Choice(label, _accepted(known, label, accepted)) for label in model.labels]


def _accepted(known: Mapping[str, str | None], label: str, accepted: Mapping[str, str]) -> str | None:
    if label not in known:
        return None
    ours = known[label]
    return accepted.get(ours) if ours else ""


def usual_labels(project: Project) -> dict[str, str | None]:
    """Map the labels of spaCy's own pipelines to the project's label set, by way of i2b2-2014, as the rules do."""
    rows: dict[str, str | None] = json.loads(USUAL.read_text(encoding="utf-8"))
    # Imported here, because the rules take long to load and no other page needs them.
    from models_runtime.backends.rules.gazetteers import HOME, mapping_from_home

    key = project.label_set.key
    if key == HOME:
        return rows
    try:
        through = mapping_from_home(key)
    except BackendError:  # The project has its own label set.
        return {label: home for label, home in rows.items() if not home}
    return {label: through[home] if home else None for label, home in rows.items()}


def usual_prompts(project: Project) -> dict[str, str]:
    """Map a prompt to each label of the project: the label's name in lower case."""
    found: dict[str, str] = {}
    for label in labels_of(project):
        found.setdefault(" ".join(label.name.replace("_", " ").lower().split()), label.code)
    return found


def start_external(
    *,
    project: Project,
    backend: str,
    model: str,
    labels: Mapping[str, str],
    actor: User | None,
    name: str = "",
    key: str,
    may_leave: bool = False,
    wanted: ThresholdGoal = NOTHING,
) -> Run:
    """Start a run of an external model. `labels` maps each of its labels to a project label, or to "" to ignore it.

    For a zero-shot model, `labels` maps prompts to project labels; several prompts may stand for one label.

    Raises ServiceError, also for a label without a decision, so that no label is lost silently, and `leaves` if notes
    would be sent to another machine and `may_leave` is not set.
    """
    found = find_external(backend, model)
    if found.server is not None:
        check_consent([found.server], may_leave=may_leave)
    params: dict[str, Any] = {NAMED_BY[backend]: found.name, "labels": _decided(project, found, labels)}
    choice = ChosenBackend(backend, None, found.name.rpartition("/")[2])
    choice, threshold = at_threshold(choice, wanted)
    return started(project=project, choice=choice, actor=actor, name=name, params=params | threshold, key=key)


def _decided(project: Project, model: ExternalModel, labels: Mapping[str, str]) -> dict[str, str | None]:
    if model.zero_shot:
        return _prompts(project, labels)
    if open_ones := [label for label in model.labels if label not in labels]:
        message = gettext("Choose a project label or “Nothing” for: %(choices)s.")
        raise ServiceError(message % {"choices": ", ".join(open_ones)}, code="map")
    if strange := sorted(set(labels) - set(model.labels)):
        message = gettext("This model has no label %(choices)s. Its labels: %(choices2)s.")
        raise ServiceError(message % {"choices": ", ".join(strange), "choices2": ", ".join(model.labels)}, code="map")
    accepted, _ = accepted_labels(project)
    if unknown := sorted({ours for ours in labels.values() if ours and ours not in accepted}):
        message = gettext("This project has no label %(choices)s. Choose other labels.")
        raise ServiceError(message % {"choices": ", ".join(unknown)}, code="map")
    decided = {label: accepted[labels[label]] if labels[label] else None for label in model.labels}
    if not any(decided.values()):
        raise ServiceError(
            gettext("Every label is set to “Nothing”. Choose a project label for at least one."), code="map"
        )
    return decided


def _prompts(project: Project, labels: Mapping[str, str]) -> dict[str, str | None]:
    """Check the prompts of a zero-shot model, and leave out those that stand for nothing."""
    accepted, _ = accepted_labels(project)
    wanted: dict[str, str] = {}
    for given, code in labels.items():
        prompt = " ".join(given.split())
        if code and accepted.get(wanted.setdefault(prompt, code)) != accepted.get(code):
            raise ServiceError(
                gettext(
                    "The prompt “%(prompt)s” stands for two labels: %(one)s and %(two)s. Change one of the prompts."
                )
                % {"prompt": keepable(prompt[:40]), "one": wanted[prompt], "two": code},
                code="map",
            )
    if strange := [prompt for prompt in wanted if unkeepable(prompt)]:
        message = gettext("The prompt “%(prompt)s” has a character that can't be stored. Remove it.")
        raise ServiceError(message % {"prompt": keepable(strange[0][:40])}, code="map")
    if strange := [prompt for prompt in wanted if not prompt or len(prompt) > MOST_PROMPT]:
        message = gettext("A prompt must have 1 to %(most)d characters: “%(prompt)s”.")
        raise ServiceError(message % {"most": MOST_PROMPT, "prompt": strange[0][:40]}, code="map")
    if len(wanted) > MOST_PROMPTS:
        raise ServiceError(
            gettext("A run can have at most %(most)d prompts. Remove some.") % {"most": MOST_PROMPTS}, code="map"
        )
    if unknown := sorted({code for code in wanted.values() if code not in accepted}):
        raise ServiceError(
            gettext("This project has no label %(choices)s. Choose other labels.") % {"choices": ", ".join(unknown)},
            code="map",
        )
    if not wanted:
        raise ServiceError(gettext("No label has a prompt. Write a prompt for at least one."), code="map")
    return {prompt: accepted[code] for prompt, code in wanted.items()}


# What lower features ask about the runs and models behind an author's suggestions.


def used_models(author: Author) -> list[UsedModel]:
    """The run that wrote the suggestions; for a merged list or an ensemble, also the runs and models that took part."""
    found = {run.pk: run for run in _runs([author.pk, *(author.merged_from or [])])}
    members = [member for run in list(found.values()) for member in run.params.get("members", [])]
    found |= {run.pk: run for run in _runs([member["author"] for member in members if "author" in member])}
    used = [_used(run.author.name, run.backend, run.full_revision, run.model) for run in found.values()]
    return used + [_of_member(author, member) for member in members if "backend" in member]


def _runs(authors: Sequence[int]) -> QuerySet[Run]:
    rows = Run.objects.filter(author__in=authors).order_by("pk")
    return rows.select_related("author", "model", "calibration")


def _of_member(author: Author, member: Mapping[str, Any]) -> UsedModel:
    """A member of an ensemble that was run for it: a backend or a model. The run's revision names its revision."""
    backend = str(member["backend"])
    model = None
    if backend.startswith(OF_MODEL):
        pk = whole_number(backend.removeprefix(OF_MODEL)) or 0
        model = TrainedModel.objects.filter(project=author.project_id, pk=pk).first()
    return _used(author.name, model.backend if model else backend, str(member.get("revision", "")), model)


def _used(run: str, backend: str, revision: str, model: TrainedModel | None) -> UsedModel:
    if model is None:
        return UsedModel(run=run, backend=backend, revision=revision)
    card = model.card
    learned = card.get("refit") or card  # The card's own counts are those of the held-out model.
    return UsedModel(
        run=run,
        backend=backend,
        revision=revision,
        model=model.name,
        gold=card.get("gold"),
        gold_hash=card.get("gold_hash"),
        notes=learned.get("notes"),
        spans=learned.get("spans"),
    )


def threshold_of(author: Author) -> float | None:
    """The masking threshold of an author's run; None without one."""
    params = Run.objects.filter(author=author).values_list("params", flat=True).first()
    return (params or {}).get("threshold")


def failed_notes(author: Author) -> QuerySet[RunItem, int]:
    """Query the ids of the notes for which a run gave no usable answer."""
    failed = RunItem.objects.filter(run__author=author, state=RunItemState.FAILED)
    return failed.order_by().values_list("document_id", flat=True)


def notes_learned(author: Author) -> set[int]:
    """The ids of notes from which the models behind an author's runs learned, a refitted one from its hold-out too."""
    runs = Run.objects.filter(author=author).select_related("project", "author", "model__gold_version")
    return {note for run in runs for model in models_behind(run) for note in learned_from(model)}


# What the rules find in a note, for the leak gate of a release. The rules are loaded when a note is searched.


if TYPE_CHECKING:
    from models_runtime.backends.rules.backend import RulesBackend


class RulesSearch:
    """The rules for a note's language; those for all languages where it is empty, and shapes alone in another one."""

    @property
    def revision(self) -> str:
        return _rules("").revision

    @property
    def kinds(self) -> frozenset[IdentifierType]:
        rules = _rules("")
        return frozenset(kinds_of(rules.label_set)[label] for label in rules.labels)

    def knows(self, language: str) -> bool:
        from models_runtime.backends.rules.backend import LANGUAGES

        return not language or language in LANGUAGES

    def find(self, text: str, language: str) -> Iterable[tuple[int, int, IdentifierType]]:
        rules = _rules(language)
        kind_of = kinds_of(rules.label_set)
        return [(span.start, span.end, kind_of[span.label]) for span in rules.predict([text])[0]]


def candidates_by_rules(project: Project, text: str, language: str) -> list[tuple[int, int, int]]:
    """What the rules find that has a label in the project: start, end and the id of the label."""
    ids = {label.code: label.pk for label in labels_of(project)}
    labels: dict[IdentifierType, int] = {}
    for code, kind in kinds_of_labels(project).items():
        labels.setdefault(kind, ids[code])
    hits = RulesSearch().find(text, language)
    return [(start, end, label) for start, end, kind in hits if (label := label_of(kind, labels)) is not None]


@cache
def _rules(language: str) -> "RulesBackend":
    from models_runtime.backends.rules.backend import LANGUAGES, RulesBackend

    known = language in LANGUAGES
    return RulesBackend(languages=[language] if known else LANGUAGES, abroad=bool(language) and not known)
