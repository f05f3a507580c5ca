"""Self-training: the project's notes without gold, with the labels of a run, where the run shows that it is sure.

A merged list of runs shows it by their agreement, a run at a low masking threshold by the spans that it adds. Other
runs don't show where they doubt that a stretch has no label, so nothing is learned from them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.gold.rules import Split
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    AuthorKind,
    Document,
    GoldVersion,
    GoldVersionNote,
    JobState,
    Project,
)
from annotations.models import Span as SpanRow
from annotations.review.selectors.suggestions import is_doubtful
from annotations.scores.selectors import codes_of, label_words
from annotations.text.spans import Span
from models_runtime.backends.marginals import SURE, SelfLabeled, is_added, is_sure, self_labeled
from models_runtime.core.combining import models_behind
from models_runtime.core.gold_sources import unseen_by
from models_runtime.core.registry import ENSEMBLE, MERGED
from models_runtime.core.stages import learned_from
from models_runtime.models import Refinement, Run
from models_runtime.models.cards import TrainingParams

# The key of the parameter, the field and the error code.
SELF_TRAINING: Final = "self_training"
# A training labels at most this many notes, those with the lowest ids.
MOST_NOTES: Final = 5_000
BATCH: Final = 200


def usable_runs(project: Project) -> list[Run]:
    """List the finished runs of the project from which a training can learn, newest first."""
    rows = Run.objects.filter(project=project, job__state=JobState.DONE).select_related("author", "project", "model")
    return [run for run in rows.order_by("-pk") if _shows_doubt(run)]


def chosen_run(project: Project, word: str, versions: Sequence[GoldVersion], params: TrainingParams) -> Run:
    """Return the finished run with this name. `versions`, `params`: those of the training, the own version first.

    Raises ServiceError `self_training` for an unknown run, one that is not finished or doesn't show where it is unsure,
    one that left spans out because the project lacks their labels, one whose model or refinement learned from notes
    that the training holds out or tests on, and one without notes to learn from.
    """
    rows = Run.objects.filter(project=project).select_related("author", "project", "model__gold_version", "job")
    run = rows.filter(author__name=word).first()
    if run is None:
        choices = ", ".join(each.author.name for each in usable_runs(project)) or _("none yet")
        raise _refused(
            _("There is no run “%(name)s”. Runs to learn from: %(choices)s.") % {"name": word[:80], "choices": choices}
        )
    if run.job is None or run.job.state != JobState.DONE:
        raise _refused(_("The run “%(name)s” is not finished. Wait for its end.") % {"name": word})
    if not _shows_doubt(run):
        raise _refused(
            _(
                "The run “%(name)s” doesn't show where it is unsure. Choose a merged list of runs, or a run with a "
                "masking threshold of at most %(threshold)s."
            )
            % {"name": word, "threshold": f"{1 - SURE:.2g}"}
        )
    if left_out := sum(member.spans_without_label for member in _members(run)):
        raise _refused(
            _(
                "The run “%(name)s” left %(count)s spans out, because this project has no label for them. The training "
                "would learn that they are no identifiers. Choose a run that maps all its labels."
            )
            % {"name": word, "count": left_out}
        )
    check_unseen(run, versions, params)
    if not notes_without_gold(run, versions, params):
        raise _refused(_("The run “%(name)s” has annotated no note without gold to learn from.") % {"name": word})
    return run


def check_unseen(run: Run, versions: Sequence[GoldVersion], params: TrainingParams) -> None:
    """Raise ServiceError if a model behind the run learned from notes that the training holds out or tests on."""
    unseen = unseen_by(versions, params)
    for name, learned in _learned(run):
        if shared := len(learned & unseen):
            raise _refused(
                _(
                    "“%(model)s”, which is behind this run, learned from %(count)s notes that this training must not "
                    "see before scoring. Choose a run of a model of the same split."
                )
                % {"model": name, "count": shared}
            )


def notes_without_gold(
    run: Run, versions: Sequence[GoldVersion], params: TrainingParams, newest: int | None = None
) -> list[int]:
    """List up to MOST_NOTES notes that the run has annotated and that are in no gold version and not in the gold set.

    Notes of a patient are left out if a note of theirs is held out by the training, or for tests in any version, and so
    are notes with the same text as a note of the training's versions. `newest`: the highest id. Sorted by id.
    """
    project = run.project
    inside = GoldVersionNote.objects.filter(version__project=project).values("document")
    gold = AnnotationSet.objects.filter(author__project=project, author__kind=AuthorKind.GOLD).values("document")
    texts = GoldVersionNote.objects.filter(version__in=versions).values("document__sha256")
    done = AnnotationSet.objects.filter(author=run.author, state=AnnotationSetState.SUBMITTED).values("document")
    rows = Document.objects.filter(project=project, pk__in=done)
    rows = rows.exclude(pk__in=inside).exclude(pk__in=gold).exclude(sha256__in=texts)
    if language := params.get("language", ""):
        rows = rows.filter(language__in=codes_of(project, language))
    if newest is not None:
        rows = rows.filter(pk__lte=newest)
    unseen = unseen_by(versions, params)
    own = GoldVersionNote.objects.filter(version__project=project)
    columns = own.values_list("document", "split", "document__patient_id")
    patients = {patient for pk, split, patient in columns if split == Split.TEST or pk in unseen}
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
            agreed = is_sure(span) if not _is_merged(run) else _all_agree(provenance)
            (sure if agreed and not is_doubtful(provenance) else unsure)[note].append(span)
        for pk, text in Document.objects.filter(pk__in=some).order_by("pk").values_list("pk", "text"):
            yield pk, text, self_labeled(text, sure[pk], unsure[pk])


def _all_agree(provenance: dict[str, Any]) -> bool:
    """Whether all runs of a merged list suggest the span, none of them only because of its masking threshold."""
    says = provenance.get("runs", [])
    return provenance.get("agree") == provenance.get("of") and not any(is_added(each["source"]) for each in says)


def _members(run: Run) -> list[Run]:
    """The run itself and, of a merged list, its members; of a refined member, the run that was refined."""
    authors = [run.author_id, *_member_authors(run)]
    sources = Refinement.objects.filter(author__in=authors).values_list("source", flat=True)
    return list(Run.objects.filter(author__in=[*authors, *sources]))


def _member_authors(run: Run) -> list[int]:
    return [each["author"] for each in run.params.get("members", []) if "author" in each]


def _learned(run: Run) -> Iterator[tuple[str, set[int]]]:
    """The models and refinements behind a run by name, with the notes from which each learned."""
    for model in models_behind(run):
        yield model.name, learned_from(model)
    refined = Refinement.objects.filter(author__in=_member_authors(run), gold_version__isnull=False)
    for row in refined.select_related("author"):
        notes = GoldVersionNote.objects.filter(version=row.gold_version_id)
        yield row.author.name, set(notes.values_list("document", flat=True))


def _is_merged(run: Run) -> bool:
    return run.backend == ENSEMBLE and run.params.get("method") == MERGED


def _shows_doubt(run: Run) -> bool:
    """Whether the run's spans tell where it is unsure that there is none."""
    threshold = run.params.get("threshold")
    return _is_merged(run) or (threshold is not None and threshold <= 1 - SURE + 1e-9)


def _refused(message: str) -> ServiceError:
    return ServiceError(message, code=SELF_TRAINING)
