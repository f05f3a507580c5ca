"""What models did for a release's surrogates, for the page of the release and that of the index."""

import uuid
from typing import Any

from django import template

from annotations.core.access import Access, Can
from annotations.models import Release, ReleaseState
from annotations.notes.selectors.in_context import label_looks, look_of
from models_runtime.refining.jobs.model_scores import choices
from models_runtime.runs.services.llm import Usage, usage_of_project, usage_of_release

register = template.Library()


@register.simple_tag
def models_of_release(access: Access, release: Release) -> dict[str, Any]:
    """The language model that makes the surrogates, what it cost, and a model's F1 on both texts.

    `dropped`: the model whose F1 was dropped because the notes were prepared again; empty if none was.
    """
    measures = release.figures.get("surrogates") or {}
    f1 = measures.get("f1")
    looks = label_looks(access.project) if f1 else {}
    server, model = release.surrogate_maker.get("server", ""), release.surrogate_maker.get("model", "")
    may_compare = release.state == ReleaseState.PREPARED and access.can(Can.RELEASE)
    rows = (f1 or {}).get("labels", {}).items()
    return {
        "has_surrogates": bool(measures.get("entities")),
        "maker": f"{server}/{model}" if model else "",
        "usage": usage_of_release(release),
        "f1": f1,
        "dropped": (measures.get("f1_dropped") or {}).get("backend", ""),
        "labels": [(look_of(looks, code), row) for code, row in rows],
        "choices": choices(access.project) if may_compare else [],
        "token": str(uuid.uuid4()),
    }


@register.simple_tag
def models_of_index(access: Access) -> Usage | None:
    """What filling the index without a release has cost; None if no model was asked."""
    return usage_of_project(access.project)
