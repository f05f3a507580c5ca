"""Free texts about runs, models and judges, listed at an erasure (annotations.ops.selectors.free_texts)."""

from collections.abc import Iterator

from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.models import Author, Project
from annotations.ops.selectors.free_texts import FreeText, KeptWeights
from models_runtime.core.gold_sources import models_elsewhere
from models_runtime.models import Judging, RefinedItem, ReviewSkill, Run, TrainedModel


def free_texts(project: Project) -> Iterator[FreeText]:
    """List the names and prompts that people wrote."""
    slug = project.slug
    if runs := Author.objects.filter(project=project, kind__in=Author.MODELS).count():
        yield FreeText(_("Names of runs"), runs, reverse("runs", args=[slug]))
    for run in Run.objects.filter(project=project, params__has_key="prompt").select_related("author"):
        what = _("Prompt of the run %(name)s") % {"name": run.author.name}
        yield FreeText(what, 1, reverse("run", args=[slug, run.pk]))
    if skills := ReviewSkill.objects.filter(project=project).count():
        yield FreeText(_("Guidance for agents, in all versions"), skills, reverse("skills", args=[slug]))
    if reasons := RefinedItem.objects.filter(refinement__project=project).exclude(reason="").count():
        yield FreeText(_("Reasons of refiners for their decisions"), reasons, reverse("refinements", args=[slug]))
    if models := TrainedModel.objects.filter(project=project).count():
        yield FreeText(_("Names of trained models"), models, reverse("models", args=[slug]))
    for model in TrainedModel.objects.filter(project=project, card__has_key="probe"):
        what = _("Fill-mask probe of the model %(name)s, with its words") % {"name": model.name}
        yield FreeText(what, 1, reverse("model", args=[slug, model.pk]))
    for judging in Judging.objects.filter(project=project).exclude(prompt="").select_related("author", "gold_version"):
        what = _("Prompt of the judges of %(name)s, gold version %(number)s") % {
            "name": judging.author.name, "number": judging.gold_version.number
        }  # fmt: skip
        yield FreeText(what, 1, reverse("judging", args=[slug, judging.pk]))


# Models of other projects that learned from a project's gold (annotations.ops.selectors.free_texts).


def kept_weights(project: Project) -> Iterator[KeptWeights]:
    """List the models that still have weights."""
    for model in models_elsewhere(project):
        if model.stored_file_id is not None:
            slug = model.project.slug
            yield KeptWeights(model.name, reverse("model", args=[slug, model.pk]), model.project_id, slug)
