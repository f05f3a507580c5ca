"""Begin a round of the loop: freeze a gold version and hold out the same notes as in earlier rounds."""

from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.gold.rules import Split
from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import SplitResult, split_version
from annotations.models import GoldVersion, GoldVersionNote, Project, User

SEED = "loop"
# The default hold-out, in percent of the notes.
HOLD_OUT = 20


@dataclass(frozen=True)
class Begun:
    """`made` tells whether the version is new. `split` is None if the version was already split."""

    version: GoldVersion
    made: bool
    split: SplitResult | None


def last_split(project: Project) -> GoldVersion | None:
    """Return the newest version that is split."""
    return project.gold_versions.exclude(split_seed="").order_by("-number").first()


def held_out(version: GoldVersion) -> int:
    return GoldVersionNote.objects.filter(version=version, split=Split.DEV).count()


def begin_round(*, project: Project, actor: User | None, share: int = HOLD_OUT, reason: str = "") -> Begun:
    """Freeze the gold standard and split the version. A repeated call changes nothing.

    The notes of earlier hold-outs are held out again, and all other patients are in the training split, so that the
    models of all rounds are scored on the same notes. In the first round, `share` percent of the notes are held out,
    by patient. Raises ServiceError `empty` without gold, and `share` for a share outside 1 to 90.
    """
    if not 1 <= share <= 90:
        raise ServiceError(
            _("The hold-out must be between 1 and 90 percent, not %(share)s.") % {"share": share}, code="share"
        )
    with transaction.atomic():
        before = last_split(project)
        version, made = freeze(project=project, actor=actor, reason=reason)
        if version.split_seed:
            return Begun(version, made, None)
        rest = share if before is None or not held_out(before) else 0
        split = split_version(
            version=version,
            seed=before.split_seed if before else SEED,
            shares={Split.TRAIN: 100 - rest, Split.DEV: rest, Split.TEST: 0},
            actor=actor,
        )
    return Begun(split.version, made, split)
