"""Choose the run from whose labels a training also learns (models_runtime.core.self_training)."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import GoldVersion, Project
from models_runtime.core.registry import TRAINABLE, trainable_kind
from models_runtime.core.self_training import SELF_TRAINING, chosen_run
from models_runtime.models import TrainedModel
from models_runtime.models.cards import TrainingParams, WantedRun


def wanted_run(
    project: Project, backend: str, name: str, versions: Sequence[GoldVersion], params: TrainingParams
) -> WantedRun:
    """Return the run with this name for a training of this kind. Raises ServiceError `self_training`."""
    kind = trainable_kind(backend)
    if not kind.self_trains:
        able = ", ".join(_(each.title) for each in TRAINABLE.values() if each.self_trains)
        raise ServiceError(
            _("%(title)s can't learn from labels of a run. Leave out self-training, or choose one of: %(able)s.")
            % {"title": _(kind.title), "able": able},
            code=SELF_TRAINING,
        )
    run = chosen_run(project, name.strip(), versions, params)
    return {"run": run.pk, "name": run.author.name}


def in_first_round(model: TrainedModel) -> bool:
    """Whether a self-training has not yet begun its second round, whose model is the one that is kept."""
    return SELF_TRAINING in model.params and not model.losses
