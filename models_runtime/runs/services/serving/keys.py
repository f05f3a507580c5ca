"""Who may use a served model: people who may read every note of its project, by the tokens of the API."""

from django.core.exceptions import PermissionDenied
from django.http import Http404

from annotations.core.access import Can, enter
from annotations.core.api.tokens import token_of
from annotations.models import Project
from models_runtime.runs.services.serving.answering import Accepts


def tokens_for(project: Project) -> Accepts:
    """Accept the valid tokens of these people. A token that is limited to a project must be limited to this one."""

    def accepts(given: str) -> bool:
        token = token_of(given)
        if token is None or token.project_id not in (None, project.pk):
            return False
        try:
            enter(token.user, project.slug, Can.READ_NOTES)
        except (Http404, PermissionDenied):
            return False
        return True

    return accepts
