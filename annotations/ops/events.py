"""Events of patients' ids, and of deleting a project."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


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
