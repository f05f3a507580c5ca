"""F1 of a model on released against original text: do surrogates change what a clinical model does?

Singh et al. 2025, appendix A.7, “clinical model consistency”. The gold spans of the original text are the release's
spans; those of the released text are the same spans, moved.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.erasures import erasures_of, unerased
from annotations.core.errors import ServiceError
from annotations.domain.scoring.rates import NOTHING, Rates
from annotations.domain.spans import Span
from annotations.models import Project, Release, ReleasedNote, User
from models_runtime.backends.base import Backend, BackendError
from models_runtime.core.model_files import load_backend, load_model
from models_runtime.runs.services.backends import chosen
from models_runtime.surrogates.events import SURROGATES_SCORED

BATCH: Final = 50


def score_surrogates(
    *, project: Project, number: int, backend: str, most_notes: int | None = None, actor: User | None
) -> dict[str, Any]:
    """Run a backend on original and released texts of a prepared release, and store both F1 in its figures.

    `backend`: a key such as `rules`, or a trained model's name. Exact spans with labels count, over all notes together;
    `most_notes` limits them to the first ones. Raises ServiceError `release`, `state`, `backend`, `empty` or `erased`.
    """
    release = Release.objects.filter(project=project, number=number).first()
    if release is None:
        raise ServiceError(_("There is no release %(number)d in this project.") % {"number": number}, code="release")
    _check_state(release)
    begun = erasures_of(project.pk)
    loaded = _loaded(project, backend)
    original = released = NOTHING
    notes = 0
    for batch in _batches(release, most_notes):
        pieces = [[(piece[:2], piece[2:4], piece[4]) for piece in note.pieces] for note in batch]
        texts = [note.document.text for note in batch]
        gold = [{Span(old[0], old[1], label) for old, _new, label in own} for own in pieces]
        moved = [{Span(new[0], new[1], label) for _old, new, label in own if new[0] < new[1]} for own in pieces]
        try:
            original += _rates(gold, loaded.predict(texts))
            released += _rates(moved, loaded.predict([note.text for note in batch]))
        except BackendError as error:
            raise ServiceError(str(error), code="backend") from error
        notes += len(batch)
    if not notes:
        raise ServiceError(_("This release has no prepared notes. Nothing was compared."), code="empty")
    both = original.f1 is not None and released.f1 is not None
    figures = {
        "backend": backend,
        "revision": loaded.revision,
        "notes": notes,
        "original": original.f1,
        "released": released.f1,
        "difference": (released.f1 or 0.0) - (original.f1 or 0.0) if both else None,
    }
    with transaction.atomic():
        unerased(project.pk, begun)
        held = Release.objects.select_for_update().get(pk=release.pk)
        _check_state(held)
        held.figures = held.figures | {"surrogates": (held.figures.get("surrogates") or {}) | {"f1": figures}}
        held.save(update_fields=["figures"])
        SURROGATES_SCORED.record(
            actor=actor,
            project_id=project.pk,
            data={"release": number, "backend": backend[:80], "notes": notes},
        )
    return figures


def _check_state(release: Release) -> None:
    if release.state != Release.State.PREPARED:
        raise ServiceError(
            _("Release %(number)d is %(state)s. Only a prepared release that nobody has signed can be measured.")
            % {"number": release.number, "state": release.get_state_display().lower()},
            code="state",
        )


def _loaded(project: Project, spec: str) -> Backend:
    """Load the backend. Raises ServiceError `backend`."""
    wanted = chosen(project, spec)
    try:
        backend = load_backend(wanted.backend, project, {}) if wanted.model is None else load_model(wanted.model)
    except (BackendError, LookupError) as error:
        raise ServiceError(str(error), code="backend") from error
    if not hasattr(backend, "predict"):
        raise ServiceError(
            _("The backend “%(name)s” reads patients, not texts. Choose another one.") % {"name": spec}, code="backend"
        )
    return backend


def _batches(release: Release, most: int | None) -> Iterator[Sequence[ReleasedNote]]:
    rows = ReleasedNote.objects.filter(release=release).exclude(state=ReleasedNote.State.PENDING).order_by("pk")
    ids = list(rows.values_list("pk", flat=True)[:most])
    for at in range(0, len(ids), BATCH):
        yield list(rows.filter(pk__in=ids[at : at + BATCH]).select_related("document"))


def _rates(gold: Sequence[set[Span]], predicted: Sequence[Sequence[Span]]) -> Rates:
    """Rates of exact spans with labels."""
    total = NOTHING
    for ours, theirs in zip(gold, predicted, strict=True):
        bare = {Span(span.start, span.end, span.label) for span in theirs}
        total += Rates.paired(len(ours & bare), len(bare), len(ours))
    return total
