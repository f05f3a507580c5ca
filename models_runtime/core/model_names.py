"""Names of trained models."""

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError, good_name
from annotations.models import Project
from models_runtime.core.registry import BACKENDS, ENSEMBLE, SET_UP
from models_runtime.models import TrainedModel

LONGEST = 80


def good_model_name(name: str) -> str:
    """Return the name without surrounding white space. Raises ServiceError if it is invalid or reserved."""
    name = good_name(name)
    if not name or len(name) > LONGEST:
        raise ServiceError(
            _("The name of a model must have 1 to %(longest)s characters.") % {"longest": LONGEST}, code="name"
        )
    if name in (*BACKENDS, ENSEMBLE, *SET_UP) or name.startswith(("model:", "run:")):
        raise ServiceError(
            _("“%(name)s” is reserved for a backend or a run. Choose another name.") % {"name": name}, code="name"
        )
    return name


def free_name(project: Project, stem: str) -> str:
    """Return `stem-1`, or `stem` with the next number that no model of the project has, retired models included."""
    used = set(TrainedModel.objects.filter(project=project).values_list("name", flat=True))
    number = 1
    while f"{stem}-{number}" in used:
        number += 1
    return f"{stem}-{number}"


def name_with(project: Project, name: str, ending: str) -> str:
    """Return the name with an ending such as `-epoch-2`, and with a number if another model has that name."""
    room = LONGEST - len(ending) - len("-9999")
    wanted = name[:room] + ending
    used = TrainedModel.objects.filter(project=project, name=wanted).exists()
    return free_name(project, wanted) if used else wanted


def taken(name: str) -> str:
    """The sentence about a name in use."""
    return _("A model with the name “%(name)s” already exists. Choose another name.") % {"name": name}
