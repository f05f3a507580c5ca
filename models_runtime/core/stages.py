"""The stages of a model's training: the models that it started from, what they learned, and its language strategy.

The strategies are those of Catelli 2021, section 3.3: one language (EN or IT), all together (MIX), one after the other.
"""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.gold.rules import Split
from annotations.models import GoldVersion, GoldVersionNote, Project
from annotations.scores.selectors import codes_of
from models_runtime.core.gold_sources import languages_of, same_texts, training_notes, unseen_by, versions_of
from models_runtime.core.learner_settings import LANGUAGE_MODEL
from models_runtime.core.registry import language_models
from models_runtime.models import TrainedModel
from models_runtime.models.cards import TrainingParams, parts_of

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

    A refitted model has learned from its hold-out, too, and a self-trained one from notes without gold.
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

    Language models are no stages of it, because they learn no labels.
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
    own = model.card.get("self_training")
    return found.union(own["documents"]) if own else found


def _language(model: TrainedModel) -> str:
    language = model.card.get("language") or model.params.get("language", "")
    if not language:
        # The card also knows the languages of versions whose project was deleted. Cards of older models lack them.
        known = model.card.get("languages") or [code for one in versions_of(model) for code in languages_of(one)]
        languages = set(filter(None, known))
        language = languages.pop() if len(languages) == 1 else ""
    return language.upper() or MIX
