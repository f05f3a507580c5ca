"""Free texts of a project, which may name a patient. An erasure lists them, so that a person can check them.

Features above this one add their own free texts through the hook `more_texts`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.urls import reverse
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.hooks import more_texts, more_weights
from annotations.projects.selectors.labels import shipped_set
from annotations.text.attributes import as_data

# The maximum number of notes with comments, and of notes with flags, that are listed.
NOTES = 100


@dataclass(frozen=True)
class FreeText:
    """Texts of one kind on one page: what they are, how many there are, and the address of the page."""

    what: str
    count: int
    url: str


def free_texts(project: models.Project) -> list[FreeText]:
    """List all texts that people wrote and that an erasure does not delete."""
    found = [text for source in (_of_project, _of_gold, _of_releases, _of_notes) for text in source(project)]
    return found + [text for source in more_texts(project=project) for text in source]


def _of_project(project: models.Project) -> Iterator[FreeText]:
    slug = project.slug
    yield FreeText(_("Project name"), 1, reverse("project_settings", args=[slug]))
    if project.guidelines:
        yield FreeText(_("Guidelines"), 1, reverse("guidelines", args=[slug]))
    if amendments := models.Amendment.objects.filter(project=project).count():
        yield FreeText(_("Amendments to the guidelines"), amendments, reverse("amendments", args=[slug]))
    if terms := models.ListedTerm.objects.filter(project=project).count():
        yield FreeText(_("Terms of the allow and deny lists"), terms, reverse("known", args=[slug]))
    if labels := _edited_labels(project):
        yield FreeText(_("Names and descriptions of labels"), labels, reverse("labels", args=[slug]))
    if mappings := models.LabelMapping.objects.filter(project=project).count():
        yield FreeText(_("Names and codes of label mappings"), mappings, reverse("label_mappings", args=[slug]))
    if webhooks := models.Webhook.objects.filter(project=project).count():
        yield FreeText(_("Addresses of webhooks"), webhooks, reverse("webhooks", args=[slug]))


def _edited_labels(project: models.Project) -> int:
    """Count the labels that somebody added, reworded or gave attributes in this project."""
    try:
        labels = list(shipped_set(project.label_set.key).labels())
    except FileNotFoundError:
        labels = []
    shipped = {(one.code, one.name, one.description): as_data(one.attributes) for one in labels}
    rows = models.Label.objects.filter(label_set__project=project).values_list(
        "code", "name", "description", "attributes"
    )
    return sum(shipped.get((code, name, words)) != attributes for code, name, words, attributes in rows)


def _of_gold(project: models.Project) -> Iterator[FreeText]:
    for version in models.GoldVersion.objects.filter(project=project).order_by("number"):
        if version.reason or version.split_seed:
            what = _("Reason and seed of gold version %(number)s") % {"number": version.number}
            url = reverse("gold_version", args=[project.slug, version.number])
            yield FreeText(what, bool(version.reason) + bool(version.split_seed), url)


def _of_releases(project: models.Project) -> Iterator[FreeText]:
    if policies := models.ReleasePolicy.objects.filter(project=project, created_by__isnull=False).count():
        yield FreeText(_("Names of release policies"), policies, reverse("release_policies", args=[project.slug]))
    for release in models.Release.objects.filter(project=project).order_by("number"):
        written = [text for text in (release.purpose, release.recipient, *release.risks) if text]
        if written:
            what = _("Purpose, recipient and accepted risks of release %(number)s") % {"number": release.number}
            yield FreeText(what, len(written), reverse("release", args=[project.slug, release.number]))


def _of_notes(project: models.Project) -> Iterator[FreeText]:
    notes = models.Document.objects.filter(project=project)
    if without_id := notes.filter(patient_id="").count():
        yield FreeText(_("Notes without a patient ID"), without_id, reverse("notes", args=[project.slug]))
    comments = models.Comment.objects.filter(document__project=project).exclude(text="")
    yield from _by_note(project, comments, _("Comments on the note %(name)s"))
    flags = models.Flag.objects.filter(document__project=project).exclude(text="")
    yield from _by_note(project, flags, _("Reasons of flags on the note %(name)s"))


def _by_note(project: models.Project, rows: Any, what: str) -> Iterator[FreeText]:
    counted = rows.order_by().values_list("document_id", "document__name").annotate(Count("pk"))
    for pk, name, count in counted.order_by("document_id")[:NOTES]:
        yield FreeText(what % {"name": name}, count, reverse("note", args=[project.slug, pk]))


# Trained weights in other projects that may contain words of a project's notes. Erasing and deleting keep them.
#
# Features above this one add them through the hook `more_weights`.


@dataclass(frozen=True)
class KeptWeights:
    """A model of another project: its name, its page, and its project."""

    model: str
    url: str
    project_id: int
    project: str


def weights_elsewhere(project: models.Project) -> list[KeptWeights]:
    return [weights for found in more_weights(project=project) for weights in found]


def seen_weights(project: models.Project, person: models.User) -> dict[str, Any]:
    """What a person may know about weights in other projects: those in projects of theirs, and a count of the others.

    The existence of a project stays unknown to people who are not members.
    """
    found = weights_elsewhere(project)
    own = models.Membership.objects.filter(user=person, active=True).values_list("project_id", flat=True)
    shown = [weights for weights in found if weights.project_id in set(own)]
    return {"shown": shown, "hidden": len(found) - len(shown), "count": len(found)}
