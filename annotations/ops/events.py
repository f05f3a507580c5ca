"""Events of patients' ids, and of deleting a project."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


class PatientsSet(TypedDict):
    notes: int


class ProjectDeleted(TypedDict):
    """The id of the project, and how much was deleted with it. The event itself belongs to no project."""

    project: int
    notes: int
    annotation_sets: int
    gold_versions: int
    models: int
    files: int


PATIENTS_SET = Verb[PatientsSet]("patients.set", _("set patient ids"))
METADATA_SET = Verb[PatientsSet]("metadata.set", _("set types and sites of notes"))
PROJECT_DELETED = Verb[ProjectDeleted]("project.deleted", _("deleted a project"))


# Events of webhooks. Their data are ids and counts, never an address or a secret.


class WebhookNamed(TypedDict):
    webhook: int


class WebhookChanged(WebhookNamed):
    """The kinds of events that the webhook wants."""

    kinds: list[str]


class DeliveryNamed(WebhookNamed):
    delivery: int


WEBHOOK_ADDED = Verb[WebhookChanged]("webhook.added", _("added a webhook"))
WEBHOOK_CHANGED = Verb[WebhookChanged]("webhook.changed", _("changed a webhook"))
WEBHOOK_SECRET = Verb[WebhookNamed]("webhook.secret", _("made a new secret for a webhook"))
WEBHOOK_ON = Verb[WebhookNamed]("webhook.on", _("switched a webhook on"))
WEBHOOK_OFF = Verb[WebhookNamed]("webhook.off", _("switched a webhook off"))
WEBHOOK_REMOVED = Verb[WebhookNamed]("webhook.removed", _("removed a webhook"))
WEBHOOK_TESTED = Verb[DeliveryNamed]("webhook.tested", _("sent a test to a webhook"))
WEBHOOK_RESENT = Verb[DeliveryNamed]("webhook.resent", _("sent a delivery of a webhook again"))
# Nobody does this: the webhook stopped because its deliveries failed.
WEBHOOK_STOPPED = Verb[WebhookNamed]("webhook.stopped", _("stopped a webhook after repeated failures"), reading=True)


# Events of project archives.


class ArchiveImported(TypedDict):
    """`accounts`: for how many people of the archive an inactive account was made here."""

    notes: int
    sets: int
    spans: int
    people: int
    accounts: int


class WorkClaimed(TypedDict):
    sets: int


ARCHIVE_IMPORTED = Verb[ArchiveImported]("archive.imported", _("imported the project from an archive"))
WORK_CLAIMED = Verb[WorkClaimed]("archive.claimed", _("took over the imported work under their name"))
