"""Pages of the categories of labels: add, edit, move and delete."""

import re

import pytest
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.models import Category, Event, Job, Label
from annotations.projects.events import CATEGORY_ADDED, CATEGORY_CHANGED, CATEGORY_DELETED, CATEGORY_MOVED
from annotations.projects.services import categories
from annotations.projects.services.labels import add_label, merge_labels
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.managing import HUGE

LABELS = "/projects/covid/labels/"
ADD = "/projects/covid/categories/new"


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)


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


def events(verb):
    return [event.data for event in Event.objects.filter(verb=verb)]


# ── Adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_category_is_added_and_chosen_for_the_next_label(world, mia):
    before = names(world)
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
    assert "added a category" in check_page(mia.get(reverse("audit", args=["covid"])))


def test_the_labels_page_leads_to_adding_a_category(mia):
    html = check_page(mia.get(LABELS))
    assert html[html.index('id="add"') :].count(ADD) == 1
    assert html[: html.index('id="add"')].count(ADD) == 1


@pytest.mark.parametrize(
    "over, words",
    [
        ({"name": ""}, "required"),
        ({"name": "mACHINES"}, "The category “Machines” already exists"),
        ({"name": "MÁCHINES"}, "would have the code “MACHINES”, like the category Machines"),
        ({"name": "---"}, "at least one letter or digit"),
        ({"name": "x" * 81}, "at most 80"),
        ({"name": "姓" * 40}, "Choose a shorter name"),
        ({"name": "a\u202eb"}, "a hidden character"),
        ({"hue": ""}, "required"),
        ({"hue": "12"}, "valid choice"),
        ({"hue": str(HUGE)}, "valid choice"),
    ],
)
def test_categories_that_cannot_be_added(world, mia, empty, over, words):
    response = mia.post(ADD, {"name": "Rooms", "hue": "1"} | over)
    assert response.status_code == 422
    assert words in check_page(response)
    assert names(world)[-1] == "Machines"


def test_names_differ_in_every_script(world, mia):
    mia.post(ADD, {"name": "ÉTÉ", "hue": "1"})
    assert "The category “ÉTÉ” already exists" in check_page(mia.post(ADD, {"name": "été", "hue": "1"}))


def test_there_are_as_many_categories_as_looks(world, mia, empty, monkeypatch):
    monkeypatch.setattr(categories, "MOST_CATEGORIES", len(names(world)))
    response = mia.post(ADD, {"name": "Rooms", "hue": "1"})
    assert response.status_code == 422
    assert "has at most" in check_page(response)


# ── Editing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_name_and_color_are_changed_where_notes_show_them(world, sign_in, mia, place):
    code, hue = place.code, (place.hue + 5) % 12
    html = check_page(mia.get(page_of(place)))
    assert re.search(rf'value="{place.hue}"[^>]* checked', html) and html.count(" checked") == 1
    sent = {"name": "Places", "hue": hue}
    for _click in range(2):
        assert mia.post(page_of(place), sent).url == LABELS
    before = (place.name, place.hue)
    place.refresh_from_db()
    assert (place.name, place.hue, place.code) == ("Places", hue, code)
    (change,) = events(CATEGORY_CHANGED)
    assert (change["before"], change["after"]) == (
        {"name": before[0], "hue": before[1]},
        {"name": "Places", "hue": hue},
    )
    assert "color " in check_page(mia.get(reverse("audit", args=["covid"])))
    html = sign_in(world.ann).get(reverse("annotate", args=["covid", world.note.pk])).content.decode()
    assert f'class="wb-label hue-{hue}"' in html and "<h3>Places</h3>" in html


def test_two_categories_can_not_have_one_name(mia, empty, place):
    response = mia.post(page_of(place), {"name": "machines", "hue": "1"})
    assert response.status_code == 422
    assert "The category “Machines” already exists" in check_page(response)


def test_a_change_by_somebody_else_is_not_lost(mia, place):
    seen = mia.get(page_of(place)).context["seen"]
    Category.objects.filter(pk=place.pk).update(name="Geography", hue=9)
    response = mia.post(page_of(place), {"name": "Places", "hue": "1", "seen": seen})
    html = check_page(response)
    assert response.status_code == 422
    assert "Somebody else changed this" in html and "<dd>Geography</dd>" in html and "<dd>Violet</dd>" in html
    assert 'value="Places"' in html
    place.refresh_from_db()
    assert place.name == "Geography"
    # The page has shown the other change, so saving again replaces it.
    seen = response.context["seen"]
    assert mia.post(page_of(place), {"name": "Places", "hue": "1", "seen": seen}).status_code == 302
    place.refresh_from_db()
    assert (place.name, place.hue) == ("Places", 1)


# ── Order ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_category_is_moved(world, mia, empty):
    before = names(world)
    for _click in range(2):  # a double click moves it once
        response = mia.post(page_of(empty, "move"), {"position": len(before) - 2})
        assert response.url == f"{LABELS}#category-{empty.pk}"
    assert names(world) == [*before[:-2], "Machines", before[-2]]
    assert list(Category.objects.filter(label_set__project=world.project).values_list("position", flat=True)) == list(
        range(len(before))
    )
    at = len(before)
    assert events(CATEGORY_MOVED) == [{"category": "Machines", "before": at, "after": at - 1}]
    mia.post(page_of(empty, "move"), {"position": 0})
    html = check_page(mia.get(LABELS))
    assert 'Up<span class="sr-only"> Machines' not in html and 'Down<span class="sr-only"> Machines' in html


@pytest.mark.parametrize("position", ["", "x", "-1", str(HUGE)])
def test_positions_that_do_not_exist(world, mia, empty, position):
    before = names(world)
    assert "was not moved" in mia.post(page_of(empty, "move"), {"position": position}, follow=True).content.decode()
    assert names(world) == before


# ── Deleting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_empty_category_is_deleted_once(world, mia, empty):
    mia.post(page_of(empty, "move"), {"position": 0})
    assert page_of(empty, "delete") in check_page(mia.get(LABELS))
    check_page(mia.get(page_of(empty, "delete")))
    for _click in range(2):
        assert mia.post(page_of(empty, "delete")).url == LABELS
    assert "Machines" not in names(world)
    rows = Category.objects.filter(label_set__project=world.project)
    assert [row.position for row in rows] == list(range(rows.count()))
    assert events(CATEGORY_DELETED) == [{"category": "Machines", "id": empty.pk}]


def test_a_category_with_labels_names_them(mia, place):
    html = check_page(mia.get(page_of(place, "delete")))
    assert "Edit CITY" in html and "Delete category" not in html
    response = mia.post(page_of(place, "delete"))
    assert response.status_code == 409 and "has labels, so it can" in check_page(response)
    assert Category.objects.filter(pk=place.pk).exists()


def test_merged_labels_go_with_their_target(world, mia, empty):
    label_set, target = world.project.label_set, make.label_of(world.project, "CITY")
    source = add_label(label_set=label_set, category=empty, name="ROBOT", actor=None)
    merge_labels(source=source, target=target, actor=None)
    assert mia.post(page_of(empty, "delete")).url == LABELS
    assert Label.objects.get(pk=source.pk).category == target.category
    assert "merged into CITY" in check_page(mia.get(LABELS))


def test_a_category_is_kept_while_a_job_runs(world, mia, empty):
    Job.objects.create(kind="export", project=world.project, key="k", state=Job.State.RUNNING)
    response = mia.post(page_of(empty, "delete"))
    assert response.status_code == 409 and "Jobs are running" in response.content.decode()
    assert Category.objects.filter(pk=empty.pk).exists()


def test_no_label_goes_to_a_deleted_category(world, empty):
    categories.delete_category(category=empty, actor=None)
    for write in (
        lambda: add_label(label_set=world.project.label_set, category=empty, name="ROBOT", actor=None),
        lambda: categories.update_category(category=empty, name="Robots", hue=1, actor=None),
        lambda: categories.move_category(category=empty, position=0, actor=None),
        lambda: categories.delete_category(category=empty, actor=None),
    ):
        with pytest.raises(ServiceError, match="no longer exists"):
            write()
