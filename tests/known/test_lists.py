"""Allow and deny lists: by form, as a file, without values in events."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotations.core.errors import ServiceError
from annotations.known.selectors.identifiers import DeniedTerm, allowed_terms, denied_terms
from annotations.known.services.lists import LONGEST, add_terms, import_lists
from annotations.models import Event, ListedTerm
from annotations.ops.selectors.free_texts import free_texts
from tests.worlds.checks import check_page

PAGE = "/projects/covid/known/"
LISTS = PAGE + "lists"
pytestmark = pytest.mark.django_db


def add(client, **data):
    return client.post(
        LISTS, {"do": "add", "which": "deny", "terms": "Villa Azúl", "label": "CITY"} | data, follow=True
    )


def test_terms_are_added_by_line_and_once(world, mia):
    html = check_page(add(mia, terms="Villa Azúl\n\n villa  AZUL \nTorre Blu"))
    assert "Torre Blu" in html
    check_page(add(mia, label="HOSPITAL"))
    assert denied_terms(world.project) == [DeniedTerm("Villa Azúl", "HOSPITAL"), DeniedTerm("Torre Blu", "CITY")]
    add(mia, which="allow", terms="Árbol Grande")
    assert allowed_terms(world.project) == {"arbol grande"}
    said = repr(list(Event.objects.values_list("data", flat=True)))
    assert "Azúl" not in said and "CITY" not in said
    assert all(b"Azul" not in bytes(row.sealed) for row in ListedTerm.objects.all())


@pytest.mark.parametrize(
    "data",
    [{"terms": " \n"}, {"terms": "good\n?"}, {"terms": "x" * (LONGEST + 1)}, {"label": "NOWHERE"}, {"label": ""}],
)
def test_wrong_terms_add_nothing(world, mia, data):
    answer = add(mia, **data)
    assert answer.status_code == 422
    check_page(answer)
    assert not ListedTerm.objects.exists()


def test_a_term_is_removed_once(world, mia):
    add(mia)
    term = ListedTerm.objects.get()
    for sent in (term.pk, term.pk, "x"):
        assert mia.post(LISTS, {"do": "remove", "term": sent}).status_code == 302
        assert not ListedTerm.objects.exists()


def test_a_term_of_another_project_stays(world, mia):
    add_terms(project=world.other, kind="allow", terms=["Villa"], actor=None)
    mia.post(LISTS, {"do": "remove", "term": ListedTerm.objects.get().pk})
    assert ListedTerm.objects.exists()


def test_both_lists_as_a_file_and_back(world, mia):
    add(mia, terms="Villa; Azúl\n-Torre Blu")
    add(mia, which="allow", terms="Árbol")
    content = mia.get(PAGE + "lists.csv").content
    ListedTerm.objects.all().delete()
    file = SimpleUploadedFile("lists.csv", content)
    mia.post(LISTS, {"do": "file", "file": file})
    assert ListedTerm.objects.count() == 3
    assert [term.text for term in denied_terms(world.project)] == ["Villa; Azúl", "-Torre Blu"]
    assert Event.objects.filter(verb="terms.exported").count() == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"list,term\n",
        b"list,term\nmaybe,Villa\n",
        b"list,term,label\nallow,,\n",
        b"\xff",
        b"list,term\ndeny,Villa\n",
    ],
)
def test_a_wrong_file_adds_nothing(world, mia, content):
    answer = mia.post(LISTS, {"do": "file", "file": SimpleUploadedFile("lists.csv", content)})
    assert answer.status_code == 422
    assert "Villa" not in check_page(answer)
    assert not ListedTerm.objects.exists()


def test_a_file_is_taken_whole_or_not_at_all(world):
    with pytest.raises(ServiceError):
        import_lists(project=world.project, content=b"list,term,label\nallow,Blu,\ndeny,Villa,NOWHERE\n", actor=None)
    assert not ListedTerm.objects.exists()


def test_an_erasure_lists_the_terms_for_a_check(world, mia):
    add(mia)
    assert [(text.count, text.url) for text in free_texts(world.project) if "allow and deny" in text.what] == [
        (1, PAGE)
    ]
