"""Models of other projects that learned from a project's gold (annotations.ops.selectors.kept_weights)."""

from collections.abc import Iterator

from django.urls import reverse

from annotations.models import Project
from annotations.ops.selectors.kept_weights import KeptWeights
from models_runtime.core.gold_sources import models_elsewhere


def kept_weights(project: Project) -> Iterator[KeptWeights]:
    """List the models that still have weights."""
    for model in models_elsewhere(project):
        if model.stored_file_id is not None:
            slug = model.project.slug
            yield KeptWeights(model.name, reverse("model", args=[slug, model.pk]), model.project_id, slug)
