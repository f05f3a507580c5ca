"""Free texts of a project, which may name a patient: what the product can't erase by itself is listed for a person.

Kinds that only the floor above knows are added by it (`more_texts`).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Count
from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.core.hooks import Hook
from annotations.models import Amendment, Comment, Document, Flag, GoldVersion, Label, Project
from annotations.projects.selectors.label_maps import shipped_set

# Notes with comments or flags that are listed one by one; of more, the first.
NOTES = 100


@dataclass(frozen=True)
class FreeText:
    """Texts of one kind at one address. `what` names them; `count` says how many there are."""

    what: str
    count: int
    url: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


# Free texts of `project` that other features know.
more_texts = Hook()


def free_texts(project: Project) -> list[FreeText]:
    """Everything in people's own words that an erasure leaves: whoever erases a patient looks through it."""
    found = [text for source in (_of_project, _of_gold, _of_notes) for text in source(project)]
    return found + [text for source in more_texts(project=project) for text in source]


def _of_project(project: Project) -> Iterator[FreeText]:
    slug = project.slug
    yield FreeText(_("Name of the project"), 1, reverse("project_settings", args=[slug]))
    if project.guidelines:
        yield FreeText(_("Guidelines"), 1, reverse("guidelines", args=[slug]))
    if amendments := Amendment.objects.filter(project=project).count():
        yield FreeText(_("Amendments of the guidelines"), amendments, reverse("amendments", args=[slug]))
    if labels := _own_words(project):
        yield FreeText(_("Names and descriptions of labels"), labels, reverse("labels", args=[slug]))


def _own_words(project: Project) -> int:
    """How many labels somebody wrote, or worded anew, in this project."""
    try:
        shipped = {(one.code, one.name, one.description) for one in shipped_set(project.label_set.key).labels()}
    except FileNotFoundError:
        shipped = set()
    labels = Label.objects.filter(label_set__project=project).values_list("code", "name", "description")
    return sum(label not in shipped for label in labels)


def _of_gold(project: Project) -> Iterator[FreeText]:
    for version in GoldVersion.objects.filter(project=project).order_by("number"):
        if version.reason or version.split_seed:
            words = _("Reason and seed of gold version %(number)s") % {"number": version.number}
            url = reverse("gold_version", args=[project.slug, version.number])
            yield FreeText(words, bool(version.reason) + bool(version.split_seed), url)


def _of_notes(project: Project) -> Iterator[FreeText]:
    notes = Document.objects.filter(project=project)
    if nobodys := notes.filter(patient_id="").count():
        yield FreeText(_("Notes without a patient id"), nobodys, reverse("notes", args=[project.slug]))
    comments = Comment.objects.filter(document__project=project).exclude(text="")
    yield from _by_note(project, comments, _("Comments on the note %(name)s"))
    flags = Flag.objects.filter(document__project=project).exclude(text="")
    yield from _by_note(project, flags, _("Reasons of flags on the note %(name)s"))


def _by_note(project: Project, rows: Any, words: str) -> Iterator[FreeText]:
    counted = rows.order_by().values_list("document_id", "document__name").annotate(Count("pk"))
    for pk, name, count in counted.order_by("document_id")[:NOTES]:
        yield FreeText(words % {"name": name}, count, reverse("note", args=[project.slug, pk]))
