"""Events of releases and of their policies."""

from typing import NotRequired, TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class PolicySaved(TypedDict):
    policy: int
    version: int


class ReleaseStarted(TypedDict):
    """`set` is the kind of each chosen annotation set, since a run's name is free text; `authors` are ids."""

    release: int
    policy: int
    set: str
    authors: list[int]
    gold_versions: list[int]
    notes: int


class ReleaseDecided(TypedDict):
    """`answer` is empty where decisions were undone. `findings` and `notes` are counts."""

    release: int
    answer: str
    findings: int
    notes: int


class ReleasePreparedAgain(TypedDict):
    release: int
    notes: int


class ReleaseExported(TypedDict):
    release: int
    format: str
    notes: int
    spans: int
    held_back: int
    content_hash: str
    # Where labels were written in another way: the id of the label mapping, and spans left out or merged.
    mapping: NotRequired[int | None]
    left_out: NotRequired[int]
    merged: NotRequired[int]


class ReleaseWithdrawn(TypedDict):
    release: int
    files: int


POLICY_SAVED = Verb[PolicySaved]("policy.saved", _("saved a release policy"))
RELEASE_STARTED = Verb[ReleaseStarted]("release.started", _("started a release"))
RELEASE_DECIDED = Verb[ReleaseDecided]("release.decided", _("decided findings of the leak gate"))
RELEASE_PREPARED_AGAIN = Verb[ReleasePreparedAgain]("release.prepared_again", _("prepared a release again"))
RELEASE_EXPORTED = Verb[ReleaseExported]("release.exported", _("exported a release"), reading=True)
RELEASE_WITHDRAWN = Verb[ReleaseWithdrawn]("release.withdrawn", _("withdrew a release"))
