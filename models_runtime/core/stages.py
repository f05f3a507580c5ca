"""The stages of a model's training: the models that it started from, what they learned, and its language strategy.

The strategies are those of Catelli 2021, section 3.3: one language (EN or IT), all together (MIX), one after the other.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.utils.translation import gettext as _

from annotations.core.bulk import batched
from annotations.core.services import ServiceError
from annotations.gold.rules import Split
from annotations.models import AnnotationSet, AuthorKind, Document, GoldVersion, GoldVersionNote, JobState, Project
from annotations.models import AnnotationSetState as SetState
from annotations.models import Span as SpanRow
from annotations.review.selectors.suggestions import is_doubtful
from annotations.scores.selectors import codes_of, label_words
from annotations.text.spans import Span
from models_runtime.backends.marginals import SURE, SelfLabeled, is_added, is_sure, self_labeled
from models_runtime.core.combining import models_behind
from models_runtime.core.gold_sources import languages_of, same_texts, training_notes, unseen_by, versions_of
from models_runtime.core.registry import ENSEMBLE, MERGED, language_models
from models_runtime.core.training_settings import LANGUAGE_MODEL
from models_runtime.models import Refinement, Run, TrainedModel
from models_runtime.models.cards import ModelCard, TrainingParams, parts_of

MIX = "MIX"


def stages(model: TrainedModel | None) -> list[TrainedModel]:
    """List the model and the models of the project whose weights it took over, the first stage first.

    These are the models that it and its earlier stages started from, and the language models that they contain.
    """
    if model is None:
        return []
    found, wanted = {model.pk: model}, set(parts_of(model.params))
    while wanted:
        parts = TrainedModel.objects.filter(project=model.project_id, pk__in=wanted)
        rows = list(parts.select_related("gold_version__project"))
        found |= {row.pk: row for row in rows}
        wanted = {part for row in rows for part in parts_of(row.params)} - found.keys()
    # A model is newer than its parts.
    return [found[pk] for pk in sorted(found)]


def learned_from(model: TrainedModel | None) -> set[int]:
    """Return the notes that a model and its earlier stages learned from. Its figures there are too good.

    A refitted model has learned from its hold-out, too, and some models from notes without gold.
    """
    return {note for stage in stages(model) for note in _learned(stage)}


def check_hold_out(project: Project, params: TrainingParams, versions: Sequence[GoldVersion]) -> None:
    """Raise ServiceError if the training takes over weights that learned from notes that it holds out or tests on.

    The code is `base` for the starting model, and `embeddings` or `characters` for a language model.
    """
    bases = TrainedModel.objects.filter(project=project, pk__in=parts_of(params))
    if not bases:
        return
    unseen = unseen_by(versions, params)
    by_name = LANGUAGE_MODEL.key in params.get("settings", {})
    for base in bases:
        if shared := len(learned_from(base) & unseen):
            raise ServiceError(
                _(
                    "The model “%(name)s” learned from %(count)s notes that this training must not see before scoring. "
                    "Choose a model of the same split, or train a new one."
                )
                % {"name": base.name, "count": shared},
                code="base" if base.pk == params.get("base_model") else LANGUAGE_MODEL.key if by_name else "embeddings",
            )


def strategy_of(model: TrainedModel) -> str:
    """Return the language strategy, such as “IT”, “MIX” or “EN→IT”. A stage in all languages of its version is MIX.

    Language models are not stages of it, because they learn no labels.
    """
    unable = language_models()
    return "→".join(_language(stage) for stage in stages(model) if stage.backend not in unable)


def _learned(model: TrainedModel) -> set[int]:
    language, held_out = model.card.get("language", ""), model.card.get("held_out_notes")
    found: set[int] = set()
    for version in versions_of(model):
        if held_out is None:
            found.update(training_notes(version, model.params | {"language": language}).train)
        else:
            rows = GoldVersionNote.objects.filter(version=version)
            # If the version was split again since, the model may have learned from what are test notes now.
            if version.pk != model.gold_version_id or model.card.get("split", version.split_seed) == version.split_seed:
                rows = rows.exclude(split=Split.TEST)
            if language:
                rows = rows.filter(document__language__in=codes_of(version.project, language))
            found.update(rows.values_list("document_id", flat=True))
        if version.project_id != model.project_id:
            found |= same_texts(model.project_id, version)
    if "refit" not in model.card:
        found.difference_update(held_out or ())
    return found.union(without_gold_of(model.card))


def without_gold_of(card: ModelCard) -> list[int]:
    """Return the notes without gold that a model learned from: with labels of models, or of published versions."""
    parts = (card.get("self_training"), card.get("silver"))
    return [note for part in parts if part for note in part["documents"]]


def _language(model: TrainedModel) -> str:
    language = model.card.get("language") or model.params.get("language", "")
    if not language:
        # The card also knows the languages of versions whose project was deleted. Cards of older models lack them.
        known = model.card.get("languages") or [code for one in versions_of(model) for code in languages_of(one)]
        languages = set(filter(None, known))
        language = languages.pop() if len(languages) == 1 else ""
    return language.upper() or MIX


# Self-training: the project's notes without gold, with the labels of a run, where the run shows that it is sure.
#
# A merged list of runs shows it by their agreement, a run at a low masking threshold by the spans that it adds. Other
# runs don't show where they doubt that a stretch has no label, so nothing is learned from them.


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
        message = _("There is no run “%(name)s”. Runs to learn from: %(choices)s.")
        raise _refused(message % {"name": word[:80], "choices": choices})
    if run.job is None or run.job.state != JobState.DONE:
        raise _refused(_("The run “%(name)s” is not finished. Wait until it ends.") % {"name": word})
    if not _shows_doubt(run):
        message = _(
            "The run “%(name)s” doesn't show where it is unsure. Choose a merged list of runs, or a run with a "
            "masking threshold of at most %(threshold)s."
        )
        raise _refused(message % {"name": word, "threshold": f"{1 - SURE:.2g}"})
    if left_out := sum(member.spans_without_label for member in _members(run)):
        message = _(
            "The run “%(name)s” left %(count)s spans out, because this project has no label for them. The training "
            "would learn that they are not identifiers. Choose a run that maps all its labels."
        )
        raise _refused(message % {"name": word, "count": left_out})
    check_unseen(run, versions, params)
    if not notes_without_gold(run, versions, params):
        raise _refused(_("The run “%(name)s” has annotated no note without gold to learn from.") % {"name": word})
    return run


def check_unseen(run: Run, versions: Sequence[GoldVersion], params: TrainingParams) -> None:
    """Raise ServiceError if a model behind the run learned from notes that the training holds out or tests on."""
    unseen = unseen_by(versions, params)
    for name, learned in _learned_behind(run):
        if shared := len(learned & unseen):
            message = _(
                "“%(model)s”, which is behind this run, learned from %(count)s notes that this training must not "
                "see before scoring. Choose a run of a model of the same split."
            )
            raise _refused(message % {"model": name, "count": shared})


def notes_without_gold(
    run: Run, versions: Sequence[GoldVersion], params: TrainingParams, newest: int | None = None
) -> list[int]:
    """List up to MOST_NOTES notes of a run that are outside gold."""
    return outside_gold(run.project, run.author_id, versions, params, newest)[:MOST_NOTES]


def outside_gold(
    project: Project, author: int, versions: Sequence[GoldVersion], params: TrainingParams, newest: int | None = None
) -> list[int]:
    """List the notes that an author has annotated and that are in no gold version and not in the gold set, by id.

    Notes of a patient are left out if a note of theirs is held out by the training, or for tests in any version, and so
    are notes with the same text as a note of the training's versions. `newest`: the highest id.
    """
    inside = GoldVersionNote.objects.filter(version__project=project).values("document")
    gold = AnnotationSet.objects.filter(author__project=project, author__kind=AuthorKind.GOLD).values("document")
    texts = GoldVersionNote.objects.filter(version__in=versions).values("document__sha256")
    done = AnnotationSet.objects.filter(author=author, state=SetState.SUBMITTED).values("document")
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
    return [pk for pk, patient in rows.order_by("pk").values_list("pk", "patient_id") if patient not in patients]


def labels_of(run: Run, ids: Sequence[int]) -> Iterator[tuple[int, str, SelfLabeled | None]]:
    """Yield the notes by id with their texts and the run's labels; None without a sure line."""
    merged = label_words(run.project).merged
    for some in batched(ids, BATCH):
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


def _learned_behind(run: Run) -> Iterator[tuple[str, set[int]]]:
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
