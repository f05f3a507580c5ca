"""Self-training: the project's notes without gold, with the labels of a run, where the run shows that it is sure.

A merged list of runs shows it by their agreement, a run at a low masking threshold by the spans that it adds. Other
runs don't show where they doubt that a stretch has no label, so nothing is learned from them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.domain.spans import Span
from annotations.models import AnnotationSet, Author, Document, GoldVersion, GoldVersionNote, Job, Project
from annotations.models import Span as SpanRow
from annotations.review.selectors.doubtful import is_doubtful
from annotations.scores.selectors import codes_of, label_words
from models_runtime.backends.self_labels import SURE, SelfLabeled, is_sure, self_labeled
from models_runtime.core.combining import models_behind
from models_runtime.core.gold_sources import unseen_by
from models_runtime.core.registry import ENSEMBLE, MERGED
from models_runtime.core.stages import learned_from
from models_runtime.models import Run

# The key of the parameter, the field and the error code.
SELF_TRAINING: Final = "self_training"
# A training labels at most this many notes, those with the lowest ids.
MOST_NOTES: Final = 5_000
BATCH: Final = 200


def usable_runs(project: Project) -> list[Run]:
    """List the finished runs of the project from which a training can learn, newest first."""
    rows = Run.objects.filter(project=project, job__state=Job.State.DONE).select_related("author", "project", "model")
    return [run for run in rows.order_by("-pk") if _shows_doubt(run)]


def chosen_run(project: Project, word: str, versions: Sequence[GoldVersion], language: str) -> Run:
    """Return the finished run with this name. `versions`: those of the training, the own one first.

    Raises ServiceError `self_training` for an unknown run, one that is not finished or doesn't show where it is unsure,
    one whose model learned from notes that the training holds out or tests on, and one without notes to learn from.
    """
    rows = Run.objects.filter(project=project).select_related("author", "project", "model__gold_version", "job")
    run = rows.filter(author__name=word).first()
    if run is None:
        choices = ", ".join(each.author.name for each in usable_runs(project)) or _("none yet")
        raise _refused(
            _("There is no run “%(name)s”. Runs to learn from: %(choices)s.") % {"name": word[:80], "choices": choices}
        )
    if run.job is None or run.job.state != Job.State.DONE:
        raise _refused(_("The run “%(name)s” is not finished. Wait for its end.") % {"name": word})
    if not _shows_doubt(run):
        raise _refused(
            _(
                "The run “%(name)s” doesn't show where it is unsure. Choose a merged list of runs, or a run with a "
                "masking threshold of at most %(threshold)s."
            )
            % {"name": word, "threshold": f"{1 - SURE:.2g}"}
        )
    unseen = unseen_by(versions, language)
    for model in models_behind(run):
        if shared := len(learned_from(model) & unseen):
            raise _refused(
                _(
                    "The model “%(model)s” of this run learned from %(count)s notes that this training must not see "
                    "before scoring. Choose a run of a model of the same split."
                )
                % {"model": model.name, "count": shared}
            )
    if not notes_without_gold(run, versions, language):
        raise _refused(_("The run “%(name)s” has annotated no note without gold to learn from.") % {"name": word})
    return run


def notes_without_gold(
    run: Run, versions: Sequence[GoldVersion], language: str, newest: int | None = None
) -> list[int]:
    """List up to MOST_NOTES notes that the run has annotated and that are in no gold version and not in the gold set.

    Notes of a patient whose notes are held out or for tests are left out, and notes with the same text as a note of the
    training's versions. `newest`: the highest id. Sorted by id.
    """
    project = run.project
    inside = GoldVersionNote.objects.filter(version__project=project).values("document")
    gold = AnnotationSet.objects.filter(author__project=project, author__kind=Author.Kind.GOLD).values("document")
    texts = GoldVersionNote.objects.filter(version__in=versions).values("document__sha256")
    done = AnnotationSet.objects.filter(author=run.author, state=AnnotationSet.State.SUBMITTED).values("document")
    rows = Document.objects.filter(project=project, pk__in=done)
    rows = rows.exclude(pk__in=inside).exclude(pk__in=gold).exclude(sha256__in=texts)
    if language:
        rows = rows.filter(language__in=codes_of(project, language))
    if newest is not None:
        rows = rows.filter(pk__lte=newest)
    unseen = unseen_by(versions, language)
    own = GoldVersionNote.objects.filter(version__in=versions, version__project=project)
    patients = {patient for pk, patient in own.values_list("document", "document__patient_id") if pk in unseen}
    patients.discard("")
    pairs = rows.order_by("pk").values_list("pk", "patient_id").iterator()
    return list(islice((pk for pk, patient in pairs if patient not in patients), MOST_NOTES))


def labels_of(run: Run, ids: Sequence[int]) -> Iterator[tuple[int, str, SelfLabeled | None]]:
    """Yield the notes by id with their texts and the run's labels; None without a sure line."""
    merged = label_words(run.project).merged
    for at in range(0, len(ids), BATCH):
        some = ids[at : at + BATCH]
        sure: dict[int, list[Span]] = defaultdict(list)
        unsure: dict[int, list[Span]] = defaultdict(list)
        rows = SpanRow.objects.filter(annotation_set__author=run.author, annotation_set__document__in=some)
        columns = ("annotation_set__document", "start", "end", "label__code", "confidence", "source", "provenance")
        for note, start, end, code, confidence, source, provenance in rows.order_by("start", "end", "id").values_list(
            *columns
        ):
            span = Span(start, end, merged.get(code, code), confidence, source)
            agreed = is_sure(span) if not _is_merged(run) else provenance.get("agree") == provenance.get("of")
            (sure if agreed and not is_doubtful(provenance) else unsure)[note].append(span)
        for pk, text in Document.objects.filter(pk__in=some).order_by("pk").values_list("pk", "text"):
            yield pk, text, self_labeled(text, sure[pk], unsure[pk])


def _is_merged(run: Run) -> bool:
    return run.backend == ENSEMBLE and run.params.get("method") == MERGED


def _shows_doubt(run: Run) -> bool:
    """Whether the run's spans tell where it is unsure that there is none."""
    threshold = run.params.get("threshold")
    return _is_merged(run) or (threshold is not None and threshold <= 1 - SURE + 1e-9)


def _refused(message: str) -> ServiceError:
    return ServiceError(message, code=SELF_TRAINING)
