"""F1 of a model on released against original text: do surrogates change what a clinical model does?

Singh et al. 2025, appendix A.7, “clinical model consistency”. The gold spans of the original text are the release's
spans; those of the released text are the same spans, moved. Labels that the policy masks, hashes or removes are left
out on both sides, because a placeholder is nothing that a model could find.
"""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils.translation import gettext as _

from annotations.core.services import Progress, ServiceError, erasures_of, silent, unerased
from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import enqueue, key_of
from annotations.models import Job, Project, Release, ReleasedNote, ReleasedNoteState, ReleaseState, User
from annotations.release.rules.redaction.policy import Action, Policy
from annotations.scores.rules.rates import NOTHING, Rates
from annotations.text.spans import Span
from models_runtime.backends.base import Backend, BackendError
from models_runtime.core.model_files import load_backend, load_model
from models_runtime.core.registry import BACKENDS, KNOWN
from models_runtime.models import OF_MODEL, Run, TrainedModel
from models_runtime.refining.events import SURROGATES_SCORED
from models_runtime.runs.services.backends import chosen, queue_of, ready_models

BATCH: Final = 50
UNREADABLE: Final = frozenset({Action.MASK, Action.HASH, Action.REMOVE})
"""Actions after which nothing is left that looks like the original."""


@dataclass
class ModelComparison:
    """What a backend found in the original and in the released texts of a release, by label."""

    release: Release
    backend: str
    revision: str
    erasures: int
    left_out: frozenset[str]
    notes: int = 0
    original: dict[str, Rates] = field(default_factory=dict)
    released: dict[str, Rates] = field(default_factory=dict)

    def figures(self) -> dict[str, Any]:
        """F1 of exact spans with labels, in all and by label; None without spans."""
        return {
            "backend": self.backend,
            "revision": self.revision,
            "notes": self.notes,
            **_pair(sum(self.original.values(), NOTHING), sum(self.released.values(), NOTHING)),
            "left_out": sorted(self.left_out),
            "labels": {
                label: _pair(self.original.get(label, NOTHING), self.released.get(label, NOTHING))
                for label in sorted({*self.original, *self.released})
            },
        }


def run(claim: Claim) -> dict[str, Any]:
    """Compare a backend on both texts of a release. Safe to repeat, because only the last transaction stores."""
    release = Release.objects.select_related("project__label_set", "policy").get(pk=claim.params["release_id"])
    actor = User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
    backend, most_notes = str(claim.params["backend"]), claim.params.get("notes")
    found = compare(release, backend, most_notes=most_notes, progress=claim.progress)
    with claim.fenced():
        figures = store(found, actor)
        claim.done = claim.total
        claim.finish({"release": release.number, **figures})
    return {}


def compare(
    release: Release, backend: str, *, most_notes: int | None = None, progress: Progress = silent
) -> ModelComparison:
    """Run a backend on both texts. Nothing is stored. Raises ServiceError `state`, `backend` or `empty`."""
    check_state(release)
    loaded, name = _loaded(release.project, backend)
    rules = Policy.read(release.policy.rules).rules
    left_out = frozenset(code for code, rule in rules.items() if rule.action in UNREADABLE)
    found = ModelComparison(release, name, loaded.revision, erasures_of(release.project_id), left_out)
    rows = ReleasedNote.objects.filter(release=release).exclude(state=ReleasedNoteState.PENDING).order_by("pk")
    ids = list(rows.values_list("pk", flat=True)[:most_notes])
    for at in range(0, len(ids), BATCH):
        progress(at, len(ids))
        batch = list(rows.filter(pk__in=ids[at : at + BATCH]).select_related("document"))
        pieces = [
            [(piece[:2], piece[2:4], piece[4]) for piece in note.pieces if piece[4] not in left_out] for note in batch
        ]
        gold = [{Span(old[0], old[1], label) for old, _new, label in own} for own in pieces]
        moved = [{Span(new[0], new[1], label) for _old, new, label in own if new[0] < new[1]} for own in pieces]
        try:
            _add(found.original, gold, loaded.predict([note.document.text for note in batch]), left_out)
            _add(found.released, moved, loaded.predict([note.text for note in batch]), left_out)
        except BackendError as error:
            raise ServiceError(str(error), code="backend") from error
        found.notes += len(batch)
    if not found.notes:
        raise ServiceError(_("This release has no prepared notes. Nothing was compared."), code="empty")
    return found


def store(found: ModelComparison, actor: User | None) -> dict[str, Any]:
    """Store both F1 in the figures of the release, in the caller's transaction.

    Raises ServiceError `erased`, `state`, or `changed` if the texts have changed meanwhile.
    """
    figures = found.figures()
    unerased(found.release.project_id, found.erasures)
    held = Release.objects.select_for_update(of=("self",)).get(pk=found.release.pk)
    check_state(held)
    if held.revision != found.release.revision:
        message = _("Notes of this release have changed meanwhile, so nothing was stored. Compare again.")
        raise ServiceError(message, code="changed")
    measures = held.figures.get("surrogates") or {}
    measures.pop("f1_dropped", None)
    held.figures = held.figures | {"surrogates": measures | {"f1": figures}}
    held.save(update_fields=["figures"])
    SURROGATES_SCORED.record(
        actor=actor,
        project_id=held.project_id,
        data={"release": held.number, "backend": found.backend[:80], "notes": found.notes},
    )
    return figures


def check_state(release: Release) -> None:
    """Raise ServiceError `state` unless the release is prepared and nobody has signed it."""
    if release.state != ReleaseState.PREPARED:
        message = _("Release %(number)d is %(state)s. Only a prepared release that nobody has signed can be measured.")
        about = {"number": release.number, "state": release.get_state_display().lower()}
        raise ServiceError(message % about, code="state")


def _loaded(project: Project, spec: str) -> tuple[Backend, str]:
    """The backend and its name, of which `spec` is the key or the name. Raises ServiceError `backend`."""
    wanted = chosen(project, spec)
    model: TrainedModel | None = wanted.model
    try:
        backend = load_backend(wanted.backend, project, {}) if model is None else load_model(model)
    except (BackendError, LookupError) as error:
        raise ServiceError(str(error), code="backend") from error
    if not hasattr(backend, "predict"):
        message = _("The backend “%(name)s” reads patients, not texts. Choose another one.")
        raise ServiceError(message % {"name": spec}, code="backend")
    return backend, wanted.stem


def _add(
    total: dict[str, Rates], gold: Sequence[set[Span]], predicted: Sequence[Sequence[Span]], left_out: Collection[str]
) -> None:
    """Add the counts of exact spans with labels."""
    for ours, theirs in zip(gold, predicted, strict=True):
        bare = {Span(span.start, span.end, span.label) for span in theirs if span.label not in left_out}
        for label in {span.label for span in ours | bare}:
            own, found = ({span for span in spans if span.label == label} for spans in (ours, bare))
            total[label] = total.get(label, NOTHING) + Rates.paired(len(own & found), len(found), len(own))


def _pair(original: Rates, released: Rates) -> dict[str, Any]:
    both = original.f1 is not None and released.f1 is not None
    return {
        "spans": original.gold,
        "original": original.f1,
        "released": released.f1,
        "difference": (released.f1 or 0.0) - (original.f1 or 0.0) if both else None,
    }


# Compare a model on the original and the released texts of a release: in this process, or as a job.


KIND = "surrogate_scores"


def start_scores(*, release: Release, backend: str, actor: User, most_notes: int | None = None, token: str = "") -> Job:
    """Start the job that compares a backend on both texts. The same `token` (one per form) gives the same job.

    `backend`: a key such as `rules`, or a trained model's name. Exact spans with labels count, over all notes together
    and by label; `most_notes` limits them to the first ones.

    Raises ServiceError `state` or `backend`, and those of models_runtime.runs.services.backends.chosen.
    """
    check_state(release)
    wanted = chosen(release.project, backend)
    queue = str(queue_of(Run(backend=wanted.backend, model=wanted.model)))
    key = key_of(KIND, f"{release.pk}-{actor.pk}-{token or uuid.uuid4().hex}")
    params = {"release_id": release.pk, "backend": backend, "notes": most_notes}
    return enqueue(kind=KIND, project=release.project, params=params, key=key, actor=actor, queue=queue)


def choices(project: Project) -> list[tuple[str, str]]:
    """The backends that read texts, and the project's trained models: values in a form and titles."""
    backends = [(key, _(kind.title)) for key, kind in BACKENDS.items() if key != KNOWN]
    return [*backends, *((f"{OF_MODEL}{row.pk}", row.name) for row in ready_models(project))]
