"""The backend `known` for a project: its patient master, lists and labels."""

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.jobs.registry import load
from annotations.models import Project
from annotations.projects.selectors.labels import accepted_labels
from annotations.release.selectors.known import Finder, anything_known, content_digest, denied_terms, labels_by_kind
from models_runtime.backends.base import Backend
from models_runtime.core.registry import KNOWN, backend_kind


def check_known(project: Project) -> None:
    """Raise ServiceError where the project has neither a patient master nor a deny list, or lacks labels for them."""
    if not anything_known(project):
        raise ServiceError(
            _("This project has no patient master and no deny list. Add one on the page “Known identifiers”."),
            code="known",
        )
    labels_by_kind(project)
    missing = sorted({term.label for term in denied_terms(project)} - accepted_labels(project)[0].keys())
    if missing:
        raise ServiceError(
            _(
                "Denied terms have labels that this project no longer has: %(labels)s. "
                "Add these terms again with other labels."
            )
            % {"labels": ", ".join(missing)},
            code="known",
        )


def known_backend(project: Project) -> Backend:
    """Make the backend. It reads the master as it is needed. Raises ServiceError."""
    check_known(project)
    backend: Backend = load(backend_kind(KNOWN).factory)(
        label_set=project.label_set.key,
        find=Finder(project).find,
        labels=labels_by_kind(project),
        denied={term.label for term in denied_terms(project)},
        content=content_digest(project),
    )
    return backend
