"""Which annotation sets the words `gold`, `gold:VERSION`, `run:NAME` mean."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.domain.numbers import MAX_OFFSET, whole
from annotations.domain.splits import Side
from annotations.gold.services.splitting import patients_on_two_sides
from annotations.models import (
    AnnotationSet,
    Author,
    GoldVersion,
    Project,
)

FOLDERS = "folders"


LAYOUTS = (FOLDERS, *map(str, Side))
"""How a split version can go out: a folder for each side, or one side alone."""


@dataclass(frozen=True)
class Wanted:
    """Which annotation sets: a frozen gold version, or an author's submitted readings.

    `split`, of a version: `folders` puts each note into the folder of its side; a side's name takes its notes alone.
    """

    spec: str
    author: Author | None = None
    version: GoldVersion | None = None
    split: str = ""


def wanted_set(project: Project, spec: str, split: str = "") -> Wanted:
    """`gold`, `gold:VERSION`, `annotator:NAME` or `run:NAME_OR_ID`. Raises ServiceError with the choices."""
    wanted = _wanted(project, spec)
    if not split:
        return wanted
    if split not in LAYOUTS:
        raise ServiceError(
            gettext("there is no split %(split)s; there are: %(choices)s")
            % {"split": repr(split), "choices": ", ".join(LAYOUTS)},
            code="split",
        )
    if wanted.version is None or not wanted.version.split_seed:
        raise ServiceError(
            gettext("%(spec)s is not split into train, dev and test: split a frozen version first") % {"spec": spec},
            code="split",
        )
    if patients_on_two_sides(wanted.version):
        raise ServiceError(
            gettext(
                "patient ids were changed after the split, and a patient stands on two sides now: "
                "split the version again"
            ),
            code="split",
        )
    return replace(wanted, split=split)


def _wanted(project: Project, spec: str) -> Wanted:
    kind, _, name = spec.partition(":")
    if kind == "gold" and name:
        number = whole(name, MAX_OFFSET)
        version = project.gold_versions.filter(number=number).first() if number is not None else None
        if version is None:
            numbers = ", ".join(str(v.number) for v in project.gold_versions.order_by("number")) or "none yet"
            raise ServiceError(
                gettext("there is no gold version %(name)s; frozen versions: %(numbers)s")
                % {"name": repr(name), "numbers": numbers},
                code="version",
            )
        return Wanted(spec, version=version)
    authors = Author.objects.filter(project=project, kind=kind)
    if kind in (Author.Kind.GOLD, Author.Kind.ADJUDICATED) and not name:
        author = authors.first()
    else:
        author = authors.filter(name=name).first()
        if author is None and kind == Author.Kind.RUN and (pk := whole(name)) is not None:
            author = authors.filter(pk=pk).first()
    if author is None:
        known = ", ".join(set_specs(project)) or "none yet"
        raise ServiceError(
            gettext("this project has no annotation sets %(spec)s; there are: %(known)s")
            % {"spec": repr(spec), "known": known},
            code="set",
        )
    return Wanted(spec, author=author)


def set_specs(project: Project, *, without: Collection[str] = ()) -> list[str]:
    """Every spec that `wanted_set` takes in this project; none of authors of the kinds `without`."""
    specs = []
    # A look into the index for each author, not a walk over all annotation sets.
    has_sets = Exists(AnnotationSet.objects.filter(author_id=OuterRef("pk")))
    for author in Author.objects.filter(has_sets, project=project):
        if author.kind in without:
            continue
        bare = author.kind in (Author.Kind.GOLD, Author.Kind.ADJUDICATED)
        specs.append(author.kind if bare else f"{author.kind}:{author.name}")
    return specs + [f"gold:{version.number}" for version in project.gold_versions.order_by("number")]
