"""Pages of the categories of labels: add, edit, move and delete."""

import re

import pytest
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.models import Category, Event, Job, JobState
from annotations.projects.events import CATEGORY_ADDED, CATEGORY_CHANGED, CATEGORY_DELETED, CATEGORY_MOVED
from annotations.projects.services import categories
from annotations.projects.services.labels import add_label
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.managing import HUGE

LABELS = "/projects/covid/labels/"
ADD = "/projects/covid/categories/new"


@pytest.fixture
def place(world):
    return make.label_of(world.project, "CITY").category


@pytest.fixture
def empty(world):
    return categories.add_category(label_set=world.project.label_set, name="Machines", hue=7, actor=None)


def page_of(category, act="edit"):
    return reverse(f"category_{act}", args=["covid", category.pk])


def names(world):
    return [row.name for row in Category.objects.filter(label_set__project=world.project)]


def positions(world):
    return list(Category.objects.filter(label_set__project=world.project).values_list("position", flat=True))


def events(verb):
    return [event.data for event in Event.objects.filter(verb=verb)]


# ── Adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_category_is_added_and_chosen_for_the_next_label(world, mia):
    before = names(world)
    assert check_page(mia.get(LABELS)).count(ADD) == 2
    html = check_page(mia.get(ADD))
    assert "Sky blue" in html and "used by" in html
    for _click in range(2):  # a double click does no harm
        response = mia.post(ADD, {"name": " Geräte ", "hue": "7"})
        assert response.status_code == 302
    row = Category.objects.get(name="Geräte")
    assert (row.code, row.hue, row.position) == ("Gerate", 7, len(before))
    assert response.url == f"{LABELS}?category={row.pk}#add"
    assert f'<option value="{row.pk}" selected>' in check_page(mia.get(response.url))
    assert events(CATEGORY_ADDED) == [{"category": "Gerate"}]


def test_categories_that_cannot_be_added(world, mia, empty, monkeypatch):
    categories.add_category(label_set=world.project.label_set, name="ÉTÉ", hue=1, actor=None)
    for over, words in (
        ({"name": "mACHINES"}, "The category “Machines” already exists"),
        ({"name": "MÁCHINES"}, "would have the code “MACHINES”, like the category Machines"),
        ({"name": "été"}, "The category “ÉTÉ” already exists"), ({"name": "姓" * 40}, "Choose a shorter name"),
        ({"name": "a\u202eb"}, "a hidden character"), ({"hue": "12"}, "valid choice"),
    ):  # fmt: skip
        response = mia.post(ADD, {"name": "Rooms", "hue": "1"} | over)
        assert response.status_code == 422 and words in check_page(response)
        assert names(world)[-2:] == ["Machines", "ÉTÉ"]
    monkeypatch.setattr(categories, "MOST_CATEGORIES", len(names(world)))
    assert "has at most" in check_page(mia.post(ADD, {"name": "Rooms", "hue": "1"}))


# ── Editing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_name_and_color_are_changed_where_notes_show_them(world, sign_in, mia, place, empty):
    code, hue, before = place.code, (place.hue + 5) % 12, {"name": place.name, "hue": place.hue}
    html = check_page(mia.get(page_of(place)))
    assert re.search(rf'value="{place.hue}"[^>]* checked', html) and html.count(" checked") == 1
    assert mia.post(page_of(place), {"name": "machines", "hue": "1"}).status_code == 422, "another has this name"
    after = {"name": "Places", "hue": hue}
    for _click in range(2):
        assert mia.post(page_of(place), after).url == LABELS
    place.refresh_from_db()
    assert (place.name, place.hue, place.code) == ("Places", hue, code)
    (change,) = events(CATEGORY_CHANGED)
    assert (change["before"], change["after"]) == (before, after)
    assert "color " in check_page(mia.get(reverse("audit", args=["covid"])))
    html = sign_in(world.ann).get(reverse("annotate", args=["covid", world.note.pk])).text
    assert f'class="wb-label hue-{hue}"' in html and "<h3>Places</h3>" in html


def test_a_change_by_somebody_else_is_not_lost(mia, place):
    seen = mia.get(page_of(place)).context["seen"]
    Category.objects.filter(pk=place.pk).update(name="Geography", hue=9)
    sent = {"name": "Places", "hue": "1"}
    response = mia.post(page_of(place), sent | {"seen": seen})
    html = check_page(response)
    assert response.status_code == 422
    for words in ("Somebody else changed this", "<dd>Geography</dd>", "<dd>Violet</dd>", 'value="Places"'):
        assert words in html
    place.refresh_from_db()
    assert place.name == "Geography"
    # The page has shown the other change, so saving again replaces it.
    assert mia.post(page_of(place), sent | {"seen": response.context["seen"]}).status_code == 302
    place.refresh_from_db()
    assert (place.name, place.hue) == ("Places", 1)


# ── Order ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_category_is_moved(world, mia, empty):
    before = names(world)
    for position in ("", "x", "-1", str(HUGE)):
        assert "was not moved" in mia.post(page_of(empty, "move"), {"position": position}, follow=True).text
    assert names(world) == before
    for _click in range(2):  # a double click moves it once
        response = mia.post(page_of(empty, "move"), {"position": len(before) - 2})
        assert response.url == f"{LABELS}#category-{empty.pk}"
    assert names(world) == [*before[:-2], "Machines", before[-2]]
    assert positions(world) == list(range(len(before)))
    assert events(CATEGORY_MOVED) == [{"category": "Machines", "before": len(before), "after": len(before) - 1}]
    mia.post(page_of(empty, "move"), {"position": 0})
    html = check_page(mia.get(LABELS))
    assert 'Up<span class="sr-only"> Machines' not in html and 'Down<span class="sr-only"> Machines' in html


# ── Deleting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_empty_category_is_deleted_once(world, mia, empty):
    mia.post(page_of(empty, "move"), {"position": 0})
    assert page_of(empty, "delete") in check_page(mia.get(LABELS))
    check_page(mia.get(page_of(empty, "delete")))
    job = Job.objects.create(kind="export", project=world.project, key="k", state=JobState.RUNNING)
    assert mia.post(page_of(empty, "delete")).status_code == 409 and "Machines" in names(world)
    job.delete()
    for _click in range(2):
        assert mia.post(page_of(empty, "delete")).url == LABELS
    assert "Machines" not in names(world) and positions(world) == list(range(len(names(world))))
    assert events(CATEGORY_DELETED) == [{"category": "Machines", "id": empty.pk}]
    for write in (
        lambda: add_label(label_set=world.project.label_set, category=empty, name="ROBOT", actor=None),
        lambda: categories.update_category(category=empty, name="Robots", hue=1, actor=None),
        lambda: categories.move_category(category=empty, position=0, actor=None),
        lambda: categories.delete_category(category=empty, actor=None),
    ):
        with pytest.raises(ServiceError, match="no longer exists"):
            write()


def test_a_category_with_labels_names_them(mia, place):
    html = check_page(mia.get(page_of(place, "delete")))
    assert "Edit CITY" in html and "Delete category" not in html
    response = mia.post(page_of(place, "delete"))
    assert response.status_code == 409 and "has labels, so it can" in check_page(response)
    assert Category.objects.filter(pk=place.pk).exists()
