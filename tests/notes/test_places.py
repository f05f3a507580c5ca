"""The search over all places of a project: only what this person may open, and nothing of it in an address."""

import pytest

from annotations.models import Event, Job
from tests import factories as make
from tests.worlds.checks import check_page

PATH = "/projects/ward/places"


@pytest.fixture
def ward(db):
    project = make.make_project("ward")
    for name in ("caso-1", "caso-2", "report"):
        make.make_note(project, "Mario Rossi.", name)
    Job.objects.create(project=project, kind="import", key="k")
    return project


@pytest.mark.parametrize(
    ("role", "text", "found"),
    [
        ("manager", "gold freeze", {"/projects/ward/gold/#freeze-title"}),
        ("viewer", "freeze", set()),
        ("manager", "CASO", {"note caso-1", "note caso-2"}),
        ("manager", "import, job", {"/projects/ward/jobs/1/"}),
        ("annotator", "import", set()),
        ("annotator", "caso", set()),  # not assigned
        ("reviewer", "city", {"/projects/ward/guidelines/"}),
        ("manager", "no such place", set()),
    ],
)
def test_places_are_found_by_name(ward, client, role, text, found):
    client.force_login(make.make_member(ward, role))
    before = Event.objects.count()
    response = client.post(PATH, {"text": text})
    html = check_page(response, fragment=True)
    places = {place for group in response.context["groups"] for place in group.places}
    notes = {f"note {place.name}" for place in places if "/notes/" in place.url}
    assert notes | {place.url for place in places if "/notes/" not in place.url} == found
    assert ("places-none" in html) == (not found) and Event.objects.count() == before


def test_an_annotator_reaches_assigned_notes_on_the_annotate_page(ward, client):
    annotator = make.make_member(ward, "annotator")
    note = make.make_note(ward, name="caso-9", annotators=[annotator])
    client.force_login(annotator)
    (group,) = client.post(PATH, {"text": "caso"}).context["groups"]
    assert [place.url for place in group.places] == [f"/projects/ward/notes/{note.pk}/annotate/"]


def test_without_words_there_are_acts_and_pages(ward, client):
    client.force_login(make.make_member(ward, "manager"))
    make.change(ward, distribution=ward.Distribution.LIST)
    acts, pages = client.post(PATH, {}).context["groups"]
    assert "Export annotations" in {place.name for place in acts.places}
    assert len(pages.places) == 12 and "Start a pilot" in {place.name for place in acts.places}
    make.make_note(ward, annotators=[make.make_member(ward)])
    acts, _pages = client.post(PATH, {}).context["groups"]
    assert "Start a pilot" not in {place.name for place in acts.places}, "notes are assigned by hand already"


def test_outside_of_a_project_there_are_own_projects_and_account_pages(ward, client):
    make.make_project("other", name="Other ward")
    client.force_login(make.make_member(ward, "viewer"))
    assert 'hx-post="/places"' in check_page(client.get("/"))
    groups = client.post("/places").context["groups"]
    assert [place.url for place in groups[0].places] == ["/projects/ward/"] and len(groups[1].places) == 2
    (tokens,) = client.post("/places", {"text": "token"}).context["groups"]
    assert check_page(client.get(tokens.places[0].url))
    assert "places-none" in check_page(client.post("/places", {"text": "other"}), fragment=True)
