"""The step of a project's checklist about models."""

from django.utils.translation import gettext as _

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import AnnotationSet, AnnotationSetState, Author


@overview.steps.part(90, Can.MANAGE)
def model_step(access: Access) -> list[overview.Step]:
    runs = Author.objects.filter(project=access.project, kind__in=Author.MODELS).values_list("pk", flat=True)
    done = AnnotationSet.objects.filter(author__in=list(runs), state=AnnotationSetState.SUBMITTED).exists()
    text = _("Train a model on the version or choose a backend, and run it over the notes.")
    return [overview.Step(_("Run a model"), text, access.url("runs"), _("Run a model"), done, optional=True)]
