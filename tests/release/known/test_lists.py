"""Allow and deny lists: by form, as a file, without values in events. Labels of known identifiers."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotations.core.services import ServiceError
from annotations.models import Event, Label, ListedTerm
from annotations.ops.selectors.free_texts import free_texts
from annotations.projects.selectors.labels import shipped_set
from annotations.projects.services.labels import merge_labels
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.selectors.known import USED, allowed_terms, denied_terms, labels_by_kind
from annotations.release.services.known import LONGEST, add_terms
from tests import factories as make
from tests.worlds.checks import check_page

PAGE = "/projects/covid/known/"
LISTS = PAGE + "lists"
pytestmark = pytest.mark.django_db


def add(client, **data):
    form = {"do": "add", "which": "deny", "terms": "Villa Azúl", "label": "CITY"}
    return client.post(LISTS, form | data, follow=True)


def test_terms_are_added_by_line_and_once(world, mia):
    assert "Torre Blu" in check_page(add(mia, terms="Villa Azúl\n\n villa  AZUL \nTorre Blu"))
    check_page(add(mia, label="HOSPITAL"))
    assert denied_terms(world.project) == [("Villa Azúl", "HOSPITAL"), ("Torre Blu", "CITY")]
    add(mia, which="allow", terms="Árbol Grande")
    assert allowed_terms(world.project) == {"arbol grande"}
    said = repr(list(Event.objects.values_list("data", flat=True)))
    assert "Azúl" not in said and "CITY" not in said
    assert all(b"Azul" not in bytes(row.sealed) for row in ListedTerm.objects.all())


def file(content):
    return {"do": "file", "file": SimpleUploadedFile("lists.csv", content)}


@pytest.mark.parametrize(
    "data",
    [
        {"terms": " \n"}, {"terms": "good\n?"}, {"terms": "x" * (LONGEST + 1)}, {"label": "NOWHERE"}, {"label": ""},
        file(b""), file(b"list,term\n"), file(b"list,term\nmaybe,Villa\n"), file(b"list,term,label\nallow,,\n"),
        file(b"\xff"), file(b"list,term\ndeny,Villa\n"),
        file(b"list,term,label\nallow,Blu,\ndeny,Villa,NOWHERE\n"),  # A file is taken whole or not at all.
    ],
)  # fmt: skip
def test_wrong_terms_and_files_add_nothing(world, mia, data):
    answer = add(mia, **data)
    assert answer.status_code == 422 and not ListedTerm.objects.exists() and "Blu" not in check_page(answer)


def test_a_term_is_removed_once_but_not_that_of_another_project(world, mia):
    add(mia)
    term = ListedTerm.objects.get()
    for sent in (term.pk, term.pk, "x"):
        assert mia.post(LISTS, {"do": "remove", "term": sent}).status_code == 302 and not ListedTerm.objects.exists()
    add_terms(project=world.other, kind="allow", terms=[("Villa", "")], actor=None)
    mia.post(LISTS, {"do": "remove", "term": ListedTerm.objects.get().pk})
    assert ListedTerm.objects.exists()


def test_both_lists_as_a_file_and_back(world, mia):
    add(mia, terms="Villa; Azúl\n-Torre Blu")
    add(mia, which="allow", terms="Árbol")
    content = mia.get(PAGE + "lists.csv").content
    ListedTerm.objects.all().delete()
    mia.post(LISTS, file(content))
    assert ListedTerm.objects.count() == 3
    assert [text for text, _label in denied_terms(world.project)] == ["Villa; Azúl", "-Torre Blu"]
    assert Event.objects.filter(verb="terms.exported").count() == 1
    # An erasure lists the terms for a check.
    texts = [(text.count, text.url) for text in free_texts(world.project) if "allow and deny" in text.what]
    assert texts == [(3, PAGE)]


def project_with(*codes, key="test"):
    project = make.make_project(labels=[("ALL", [(code, "") for code in codes])])
    make.change(project.label_set, key=key)
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
