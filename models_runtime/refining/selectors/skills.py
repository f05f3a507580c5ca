"""The skills of a project: the shipped ones, and the project's own texts in all versions."""

from collections.abc import Mapping
from dataclasses import dataclass

from annotations.models import Project
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.backends.refining.state import DEFAULT_LANGUAGE, Skill, for_project, shipped, title_of
from models_runtime.models import ReviewSkill


@dataclass(frozen=True)
class Described:
    """A skill on the page of skills. `version` counts the project's own versions; 0 for a shipped text."""

    name: str
    title: str
    labels: list[str]
    version: int
    is_off: bool


def skills_of(project: Project, language: str = "") -> dict[str, Skill]:
    """The skills that an agent may load in this project, by name."""
    _, ids = accepted_labels(project)
    own = [_skill(row) for row in newest(project).values()]
    return for_project(ids, language or project.language or DEFAULT_LANGUAGE, own)


def skills_at(project: Project, wanted: Mapping[str, str], language: str) -> dict[str, Skill]:
    """The skills with these versions, such as `own-3`, by name. A shipped text is that of this release."""
    _, ids = accepted_labels(project)
    numbers = {
        name: int(version.removeprefix("own-")) for name, version in wanted.items() if version.startswith("own-")
    }
    rows = ReviewSkill.objects.filter(project=project, name__in=list(numbers))
    own = [_skill(row) for row in rows if row.version == numbers[row.name]]
    found = for_project(ids, language or DEFAULT_LANGUAGE, own)
    return {name: skill for name, skill in found.items() if name in wanted}


def newest(project: Project) -> dict[str, ReviewSkill]:
    """The newest version of each skill that the project has changed or added."""
    rows = ReviewSkill.objects.filter(project=project).order_by("name", "version")
    return {row.name: row for row in rows}


def known(project: Project) -> set[str]:
    """The names of the shipped skills, and of those that the project has added or changed."""
    own = ReviewSkill.objects.filter(project=project).values_list("name", flat=True)
    return {*shipped(project.language or DEFAULT_LANGUAGE), *own}


def described(project: Project) -> list[Described]:
    """All skills that can be edited, in order of their names."""
    own, ready = newest(project), shipped(project.language or DEFAULT_LANGUAGE)
    _, ids = accepted_labels(project)
    found = []
    for name in sorted(known(project)):
        row = own.get(name)
        skill = _skill(row) if row and row.text.strip() else ready.get(name) or Skill(name, name, frozenset(), "", "")
        labels = sorted(skill.labels if "*" in skill.labels else skill.labels & set(ids))
        is_off = row is not None and not row.text.strip()
        found.append(Described(name, skill.title, labels, row.version if row else 0, is_off))
    return found


def versions(project: Project, name: str) -> list[ReviewSkill]:
    """All versions of the project's own text, the newest first."""
    rows = ReviewSkill.objects.filter(project=project, name=name)
    return list(rows.select_related("created_by").order_by("-version"))


def present(project: Project, name: str) -> tuple[list[str], str, int]:
    """Labels, text and version of a skill as it counts now. An unknown name has nothing, in version 0."""
    row = newest(project).get(name)
    if row is not None:
        return list(row.labels), row.text, row.version
    skill = shipped(project.language or DEFAULT_LANGUAGE).get(name)
    if skill is None:
        return [], "", 0
    _, ids = accepted_labels(project)
    labels = skill.labels if "*" in skill.labels else skill.labels & set(ids)
    return sorted(labels), skill.text, 0


def _skill(row: ReviewSkill) -> Skill:
    return Skill(row.name, title_of(row.name, row.text), frozenset(row.labels), row.text, f"own-{row.version}")
