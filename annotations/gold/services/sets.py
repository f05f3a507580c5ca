"""Find the annotation sets that a specification such as `gold`, `gold:VERSION` or `run:NAME` names."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext

from annotations.core.services import ServiceError
from annotations.gold.rules import Split
from annotations.gold.selectors import frozen_version
from annotations.gold.services.splitting import patients_in_two_splits
from annotations.models import AnnotationSet, Author, AuthorKind, GoldVersion, Project
from annotations.text.names import whole

FOLDERS = "folders"

BARE = (AuthorKind.GOLD, AuthorKind.ADJUDICATED)
"""Kinds of which a project has one author."""
LAYOUTS = (FOLDERS, *map(str, Split))
"""How a split version can be exported: with a folder for each split, or one split only."""


@dataclass(frozen=True)
class SetChoice:
    """A choice of annotation sets: a frozen gold version, or an author's submitted sets.

    `split` is for a version: `folders` puts each note into the folder of its split; the name of a split selects the
    notes of this split only. With `notes`, only the sets of these notes, by their ids.
    """

    spec: str
    author: Author | None = None
    version: GoldVersion | None = None
    split: str = ""
    notes: tuple[int, ...] = ()


def wanted_set(project: Project, spec: str, split: str = "") -> SetChoice:
    """Find what `gold`, `gold:VERSION`, `annotator:NAME` or `run:NAME_OR_ID` names.

    Raises ServiceError `version`, `set` or `split`, with the possible choices in its message.
    """
    wanted = _wanted(project, spec)
    if not split:
        return wanted
    if split not in LAYOUTS:
        message = gettext("There is no split “%(split)s”. Choose one of: %(choices)s.")
        raise ServiceError(message % {"split": split, "choices": ", ".join(LAYOUTS)}, code="split")
    if wanted.version is None or not wanted.version.split_seed:
        message = gettext("“%(spec)s” is not split into train, dev and test. Split a frozen version first.")
        raise ServiceError(message % {"spec": spec}, code="split")
    if patients_in_two_splits(wanted.version):
        message = gettext(
            "Patient IDs changed after the split, and a patient is now in two splits. Split the version again."
        )
        raise ServiceError(message, code="split")
    return replace(wanted, split=split)


def _wanted(project: Project, spec: str) -> SetChoice:
    kind, _, name = spec.partition(":")
    if kind == "gold" and name:
        return SetChoice(spec, version=frozen_version(project, name))
    authors = Author.objects.filter(project=project, kind=kind)
    if kind in BARE and not name:
        author = authors.first()
    else:
        author = authors.filter(name=name).first()
        if author is None and kind == AuthorKind.RUN and (pk := whole(name)) is not None:
            author = authors.filter(pk=pk).first()
    if author is None:
        known = ", ".join(set_specs(project)) or "none yet"
        message = gettext("This project has no annotation sets “%(spec)s”. Available: %(known)s.")
        raise ServiceError(message % {"spec": spec, "known": known}, code="set")
    return SetChoice(spec, author=author)


def set_specs(
    project: Project, *, without: Collection[str] = (), versions: Iterable[GoldVersion] | None = None
) -> list[str]:
    """List every specification that `wanted_set` accepts in this project, without authors of the kinds `without`.

    `versions` are all gold versions of the project; they are read unless they are given.
    """
    specs = []
    # One index lookup for each author is faster than a scan of all annotation sets.
    has_sets = Exists(AnnotationSet.objects.filter(author_id=OuterRef("pk")))
    for author in Author.objects.filter(has_sets, project=project):
        if author.kind in without:
            continue
        specs.append(author.kind if author.kind in BARE else f"{author.kind}:{author.name}")
    found = project.gold_versions.all() if versions is None else versions
    return specs + [f"gold:{version.number}" for version in sorted(found, key=lambda version: version.number)]
