"""The labels of known identifiers in every shipped label set and in others."""

import pytest

from annotations.core.errors import ServiceError
from annotations.domain.redaction.kinds import Kind
from annotations.known.selectors.labels import USED, labels_by_kind
from annotations.models import Label
from annotations.projects.selectors.label_maps import shipped_set
from annotations.projects.services.labels import merge_labels
from tests import factories as make

pytestmark = pytest.mark.django_db


def project_with(*codes, key="test"):
    project = make.make_project(labels=[("ALL", [(code, "") for code in codes])])
    project.label_set.key = key
    project.label_set.save()
    for label, code in zip(Label.objects.filter(label_set=project.label_set).order_by("position"), codes, strict=True):
        Label.objects.filter(pk=label.pk).update(code=code)
    return project


@pytest.mark.parametrize("key", ["i2b2-2014", "hipaa-18", "meddocan", "it-4", "omissis", "redactor-33"])
def test_every_kind_has_a_label_in_every_shipped_set(key):
    codes = [label.code for label in shipped_set(key).labels()]
    found = labels_by_kind(project_with(*codes, key=key))
    assert set(found) == set(USED) and set(found.values()) <= set(codes)


def test_the_label_is_the_kinds_own_else_the_nearest_else_that_of_names():
    found = labels_by_kind(project_with("PATIENT", "DATE", "IDNUM", "CITY", key="i2b2-2014"))
    assert found[Kind.NAME] == "PATIENT" and found[Kind.CITY] == "CITY"
    assert found[Kind.STREET] == "CITY" and found[Kind.NATIONAL_ID] == found[Kind.PHONE] == "IDNUM"
    assert labels_by_kind(project_with("NOME", key="it-4"))[Kind.PHONE] == "NOME"


def test_own_labels_are_recognized_by_their_codes():
    found = labels_by_kind(project_with("PERSON_NAME", "CONTACT_TEL", "MISC"))
    assert (found[Kind.NAME], found[Kind.PHONE], found[Kind.ZIP]) == ("PERSON_NAME", "CONTACT_TEL", "MISC")


def test_a_merged_label_stands_for_its_target():
    project = project_with("PATIENT", "PERSONA", key="i2b2-2014")
    source, target = (Label.objects.get(label_set__project=project, code=code) for code in ("PATIENT", "PERSONA"))
    merge_labels(source=source, target=target, actor=make.make_user())
    assert labels_by_kind(project)[Kind.NAME] == "PERSONA"


def test_a_project_without_a_fitting_label_says_so():
    with pytest.raises(ServiceError, match="Add a label for names"):
        labels_by_kind(project_with("COLOR"))
