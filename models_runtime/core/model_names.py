"""What a trained model may be called."""

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.names import good_name
from annotations.models import Project
from models_runtime.core.registry import BACKENDS, ENSEMBLE, SET_UP
from models_runtime.models import TrainedModel

LONGEST = 80


def good_model_name(name: str) -> str:
    """The name without white space around it. Raises ServiceError for one that can't be, or that means a backend."""
    name = good_name(name)
    if not name or len(name) > LONGEST:
        raise ServiceError(_("a model's name has 1 to %(longest)s characters") % {"longest": LONGEST}, code="name")
    if name in (*BACKENDS, ENSEMBLE, *SET_UP) or name.startswith(("model:", "run:")):
        raise ServiceError(
            _("%(name)s already means a backend; choose another name") % {"name": repr(name)}, code="name"
        )
    return name


def free_name(project: Project, stem: str) -> str:
    """`stem-1`, or the next number that no model of the project has, be it in use or not."""
    used = set(TrainedModel.objects.filter(project=project).values_list("name", flat=True))
    number = 1
    while f"{stem}-{number}" in used:
        number += 1
    return f"{stem}-{number}"


def taken(name: str) -> ServiceError:
    return ServiceError(
        _("a model of the name %(name)s exists already; choose another") % {"name": repr(name)}, code="exists"
    )
