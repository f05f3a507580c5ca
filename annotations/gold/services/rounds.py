"""A round of the loop begins with a frozen gold version, whose notes held out are the same in every round."""

from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.domain.splits import Side
from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import Split, split_version
from annotations.models import GoldVersion, GoldVersionNote, Project, User

SEED = "loop"
# Percent of the notes that are held out, where nobody has said otherwise.
HOLD_OUT = 20


@dataclass(frozen=True)
class Begun:
    """`made`: there was something to freeze. `split` is None where the version had its sides already."""

    version: GoldVersion
    made: bool
    split: Split | None


def last_split(project: Project) -> GoldVersion | None:
    """The newest version that has a split."""
    return project.gold_versions.exclude(split_seed="").order_by("-number").first()


def held_out(version: GoldVersion) -> int:
    return GoldVersionNote.objects.filter(version=version, split=Side.DEV).count()


def begin_round(*, project: Project, actor: User | None, share: int = HOLD_OUT, reason: str = "") -> Begun:
    """Freeze the gold set and give the version its sides. Twice is once.

    What was held out before is held out again, and all other patients are learned from, so that the models of all
    rounds are scored on the same notes. Where nothing was held out yet, `share` percent of the notes are, by patient.
    Raises ServiceError `empty` without gold, `share` for a share that can't be.
    """
    if not 1 <= share <= 90:
        raise ServiceError(_("%(share)s percent can't be held out; 1 to 90 can") % {"share": share}, code="share")
    with transaction.atomic():
        before = last_split(project)
        version, made = freeze(project=project, actor=actor, reason=reason)
        if version.split_seed:
            return Begun(version, made, None)
        rest = share if before is None or not held_out(before) else 0
        split = split_version(
            version=version,
            seed=before.split_seed if before else SEED,
            shares={Side.TRAIN: 100 - rest, Side.DEV: rest, Side.TEST: 0},
            actor=actor,
        )
    return Begun(split.version, made, split)
