"""Pages of the label set and of its categories: list, add, edit, move, merge and delete."""

import re

import pytest
from django.urls import reverse

from annotations.core.labels import labels_of
from annotations.core.services import ServiceError
from annotations.models import Category, Event, Job, JobState, Label, Span
from annotations.projects import events
from annotations.projects.services import categories
from annotations.projects.services.labels import add_label, merge_labels
from annotations.release.selectors.known import kinds_of_labels
from annotations.release.services.policies import kinds_in
from tests import factories as make
from tests.factories import label_of
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.managing import HUGE
from tests.worlds.programs import Program

PAGE = "/projects/covid/labels/"


@pytest.fixture
def city(world):
    return label_of(world.project, "CITY")


def edit_of(label: Label) -> str:
    return reverse("label_edit", args=["covid", label.pk])


def merge_of(label: Label) -> str:
    return reverse("label_merge", args=["covid", label.pk])


def test_the_table_counts_spans(world, mia, django_assert_max_num_queries):
    for note, person in ((world.note, world.ann), (world.note, world.ben), (make.make_note(world.other), world.out)):
        make.make_set(note, person, [(0, 11, "PATIENT"), (44, 50, "CITY")])
    mia.get(PAGE)  # the first request of a session saves it
    with django_assert_max_num_queries(14):
        html = check_page(mia.get(PAGE))
    assert '<td data-label="Spans" class="num">2</td>' in html.partition(">PATIENT<")[2].partition("</tr>")[0]
    assert "<kbd>1</kbd>" in html and "Merged labels" not in html


# ── Order ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_label_is_moved_within_its_category(world, mia, city):
    """A third label of a category, whose position another label has, too: as after deleting a label."""
    street = Label.objects.create(
        label_set=city.label_set, category=city.category, code="STREET", name="STREET", placeholder="[STREET]",
        position=label_of(world.project, "AGE").position,
    )  # fmt: skip

    def names():
        """With the categories, and without them."""
        plain = Label.objects.filter(label_set__project=world.project).values_list("name", flat=True)
        return [label["name"] for label in labels_of(world.project.pk)][3:], list(plain)[3:]

    place = f"{PAGE}{street.pk}/move"
    assert names() == (["CITY", "HOSPITAL", "STREET", "AGE"], ["CITY", "HOSPITAL", "AGE", "STREET"])
    for position in (1, 1, "x"):  # a double click moves it once
        assert mia.post(place, {"position": position}).url == f"{PAGE}#label-{street.pk}"
    # Without categories, the labels of others stay where they were.
    assert names() == (["CITY", "STREET", "HOSPITAL", "AGE"], ["CITY", "STREET", "AGE", "HOSPITAL"])
    assert Event.objects.get(verb=events.LABEL_MOVED).data == {"label": "STREET", "before": 3, "after": 2}
    html = check_page(mia.get(PAGE))
    assert 'Up<span class="sr-only"> CITY' not in html and 'Down<span class="sr-only"> CITY' in html
    assert 'Up<span class="sr-only"> HOSPITAL' in html and 'Down<span class="sr-only"> HOSPITAL' not in html
    merge_labels(source=street, target=city, actor=world.mia)
    assert "This label no longer exists." in mia.post(place, {"position": 0}, follow=True).text
    assert Event.objects.filter(verb=events.LABEL_MOVED).count() == 1


# ── Changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def send(mia, city):
    """Change the label CITY; words name the fields that differ."""

    def post(**over):
        sent = {"category": city.category_id, "name": "TOWN", "hotkey": "t", "placeholder": "[TOWN]"}
        return mia.post(edit_of(city), sent | {"description": "Towns.\r\nNot streets."} | over)

    return post


def test_a_label_is_changed(world, mia, city, send):
    check_page(mia.get(edit_of(city)))
    for _ in range(2):  # saving the same values again changes nothing and records no event
        assert send().url == PAGE and Event.objects.get(verb=events.LABEL_CHANGED).actor == world.mia
    assert (make.reread(city).name, city.hotkey, city.placeholder, city.code) == ("TOWN", "t", "[TOWN]", "CITY")
    assert city.description == "Towns.\nNot streets."
    name = label_of(world.project, "PATIENT").category
    assert send(category=name.pk, hotkey="").url == PAGE
    assert (make.reread(city).category, city.hotkey) == (name, "")
    assert Event.objects.filter(verb=events.LABEL_CHANGED).latest("pk").data["after"]["category"] == name.code


def test_attributes_are_changed_and_markup_stays_text(mia, city, send):
    send(attributes="Family\r\nStatus: current | past", name="<i>x", description="<script>1</script>")
    assert make.reread(city).attributes == [{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}]
    assert Event.objects.get(verb=events.LABEL_CHANGED).data["after"]["attributes"] == "Family\nStatus: current | past"
    html = check_page(mia.get(PAGE))
    assert "Status: current | past</span>" in html and "<i>x" not in html and "&lt;script&gt;1" in html
    assert "Family\nStatus: current | past</textarea>" in check_page(mia.get(edit_of(city)))


def test_a_change_by_somebody_else_is_not_lost(mia, city, send):
    seen = mia.get(edit_of(city)).context["seen"]
    Label.objects.filter(pk=city.pk).update(description="Cities only.")
    response = send(seen=seen)
    html = check_page(response)
    assert response.status_code == 422
    assert "Somebody else changed this" in html and "Cities only." in html and "Towns." in html
    assert make.reread(city).name == "CITY"
    # The page has shown the other change, so saving again replaces it.
    assert send(seen=response.context["seen"]).status_code == 302
    assert (make.reread(city).name, city.description) == ("TOWN", "Towns.\nNot streets.")


# ── Adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def added(city, **over):
    return {"name": "Cantón", "category": city.category_id, "hotkey": "q", "description": "A canton."} | over


def test_labels_that_cannot_be_added(world, mia, city):
    for over, words in (
        ({"name": "CÍTY"}, "In files, this label would have the code “CITY”, like the label CITY"),
        ({"name": "---"}, "at least one letter or digit"),
        ({"name": "姓" * 40}, "Choose a shorter name"),
        ({"category": str(HUGE)}, "valid choice"),
        ({"category": label_of(world.other, "CITY").category_id}, "valid choice"),
    ):
        response = mia.post(PAGE, added(city, **over))
        html = check_page(response)
        assert response.status_code == 422 and words in html and "A canton." in html
        assert Label.objects.filter(label_set__project=world.project).count() == 6


# ── Merging ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def source(world):
    make.make_set(world.note, world.ann, [(44, 50, "HOSPITAL"), (44, 50, "CITY"), (0, 5, "HOSPITAL")])
    make.make_set(world.note, world.ben, [(44, 50, "HOSPITAL")])
    return label_of(world.project, "HOSPITAL")


def test_merge_shows_counts_first_and_happens_once(world, mia, source, city):
    assert "Changed spans" not in check_page(mia.get(merge_of(source)))
    html = check_page(mia.get(merge_of(source), {"into": city.pk}))
    assert "<dd>3</dd>" in html and "No gold version is frozen yet" in html
    assert Span.objects.filter(label=source).count() == 3
    for _ in range(2):  # a double click does no harm
        assert mia.post(merge_of(source), {"into": city.pk}).url == PAGE
    assert Span.objects.filter(label=city).count() == 3 and not Span.objects.filter(label=source).exists()
    assert Event.objects.filter(verb=events.LABEL_MERGED).count() == 1
    html = check_page(mia.get(PAGE))
    assert "Merged labels" in html and "merged into CITY" in html
    assert mia.get(edit_of(source)).url == edit_of(city)
    response = mia.post(merge_of(source), {"into": label_of(world.project, "AGE").pk})
    assert response.status_code == 422 and "already merged" in check_page(response)


def test_invalid_targets_of_a_merge(world, mia, source):
    for into in ("", "x", "999", HUGE, source.pk, label_of(world.other, "CITY").pk):
        for response in (mia.post(merge_of(source), {"into": into}), mia.get(merge_of(source), {"into": into})):
            assert response.status_code == 422 and "Changed spans" not in check_page(response)
    assert Span.objects.filter(label=source).count() == 3


# ── The identifier type of own labels: added and changed on pages, by the API and by files, and what follows it ──


LABELS = "/projects/covid/labels"


def types() -> dict[str, str]:
    return dict(Label.objects.exclude(identifier="").values_list("code", "identifier"))


def changed(api: Program, label: Label, identifier: str):
    one = f"{LABELS}/{label.pk}"
    return api.patch(one, {"identifier": identifier}, if_match=api.get(one).headers["ETag"])


def test_own_labels_get_their_type_on_pages_by_the_api_and_by_files(world, sign_in, tmp_path):
    mia, api = sign_in(world.mia), Program(world.mia)
    city = label_of(world.project, "CITY")
    new = {"name": "Extension", "category": city.category_id, "identifier": "phone"}
    assert mia.post(reverse("labels", args=["covid"]), new).status_code == 302 and types() == {"Extension": "phone"}
    assert kinds_in(world.project)["Extension"] == kinds_of_labels(world.project)["Extension"] == "phone"
    extension = label_of(world.project, "Extension")
    page = reverse("label_edit", args=["covid", extension.pk])
    assert '<option value="phone" selected>' in check_page(mia.get(page))
    mia.post(page, new | {"placeholder": "[X]", "identifier": "fax"})
    assert types() == {"Extension": "fax"}

    made = api.post(LABELS, {"name": "Plate", "category": city.category.code, "identifier": "vehicle"})
    assert made.status_code == 201 and made.json()["identifier"] == "vehicle"
    assert [error["field"] for error in changed(api, extension, "moon").json()["errors"]] == ["identifier"]
    assert changed(api, extension, "phone").json()["identifier"] == "phone"

    file = tmp_path / "labels.csv"
    file.write_text("code,name,category,identifier\nPlate,Plate,,device\n,Badge,Location,staff\n")
    file.write_text(file.read_text().replace("Location", city.category.code))
    assert answered("labels", "covid", "--from", file)["added"] == ["Badge"]
    assert types() == {"Extension": "phone", "Plate": "device", "Badge": "staff"}


def test_the_type_of_a_shipped_label_is_that_of_its_set(world, sign_in):
    make.change(world.project.label_set, key="i2b2-2014")
    patient = label_of(world.project, "PATIENT")
    page = check_page(sign_in(world.mia).get(reverse("label_edit", args=["covid", patient.pk])))
    assert 'name="identifier"' not in page
    refused = changed(Program(world.mia), patient, "phone")
    assert [error["field"] for error in refused.json()["errors"]] == ["identifier"] and types() == {}


# ── Pages of the categories of labels: add, edit, move and delete ──


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


def data_of(verb):
    return [event.data for event in Event.objects.filter(verb=verb)]


# ── Adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_category_is_added_and_chosen_for_the_next_label(world, mia):
    before = names(world)
    assert check_page(mia.get(PAGE)).count(ADD) == 2
    html = check_page(mia.get(ADD))
    assert "Sky blue" in html and "used by" in html
    for _click in range(2):  # a double click does no harm
        response = mia.post(ADD, {"name": " Geräte ", "hue": "7"})
        assert response.status_code == 302
    row = Category.objects.get(name="Geräte")
    assert (row.code, row.hue, row.position) == ("Gerate", 7, len(before))
    assert response.url == f"{PAGE}?category={row.pk}#add"
    assert f'<option value="{row.pk}" selected>' in check_page(mia.get(response.url))
    assert data_of(events.CATEGORY_ADDED) == [{"category": "Gerate"}]


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
        assert mia.post(page_of(place), after).url == PAGE
    assert (make.reread(place).name, place.hue, place.code) == ("Places", hue, code)
    (change,) = data_of(events.CATEGORY_CHANGED)
    assert (change["before"], change["after"]) == (before, after)
    assert "color " in check_page(mia.get(reverse("audit", args=["covid"])))
    html = sign_in(world.ann).get(reverse("annotate", args=["covid", world.note.pk])).text
    assert f'class="wb-label hue-{hue}"' in html and "<h3>Places</h3>" in html


def test_a_change_of_a_category_by_somebody_else_is_not_lost(mia, place):
    seen = mia.get(page_of(place)).context["seen"]
    Category.objects.filter(pk=place.pk).update(name="Geography", hue=9)
    sent = {"name": "Places", "hue": "1"}
    response = mia.post(page_of(place), sent | {"seen": seen})
    html = check_page(response)
    assert response.status_code == 422
    for words in ("Somebody else changed this", "<dd>Geography</dd>", "<dd>Violet</dd>", 'value="Places"'):
        assert words in html
    assert make.reread(place).name == "Geography"
    # The page has shown the other change, so saving again replaces it.
    assert mia.post(page_of(place), sent | {"seen": response.context["seen"]}).status_code == 302
    assert (make.reread(place).name, place.hue) == ("Places", 1)


# ── Order ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_category_is_moved(world, mia, empty):
    before = names(world)
    for position in ("", "x", "-1", str(HUGE)):
        assert "was not moved" in mia.post(page_of(empty, "move"), {"position": position}, follow=True).text
    assert names(world) == before
    for _click in range(2):  # a double click moves it once
        assert mia.post(page_of(empty, "move"), {"position": len(before) - 2}).url == f"{PAGE}#category-{empty.pk}"
    assert names(world) == [*before[:-2], "Machines", before[-2]]
    assert positions(world) == list(range(len(before)))
    assert data_of(events.CATEGORY_MOVED) == [{"category": "Machines", "before": len(before), "after": len(before) - 1}]
    mia.post(page_of(empty, "move"), {"position": 0})
    html = check_page(mia.get(PAGE))
    assert 'Up<span class="sr-only"> Machines' not in html and 'Down<span class="sr-only"> Machines' in html


# ── Deleting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_empty_category_is_deleted_once(world, mia, empty):
    mia.post(page_of(empty, "move"), {"position": 0})
    assert page_of(empty, "delete") in check_page(mia.get(PAGE))
    check_page(mia.get(page_of(empty, "delete")))
    job = Job.objects.create(kind="export", project=world.project, key="k", state=JobState.RUNNING)
    assert mia.post(page_of(empty, "delete")).status_code == 409 and "Machines" in names(world)
    job.delete()
    for _click in range(2):
        assert mia.post(page_of(empty, "delete")).url == PAGE
    assert "Machines" not in names(world) and positions(world) == list(range(len(names(world))))
    assert data_of(events.CATEGORY_DELETED) == [{"category": "Machines", "id": empty.pk}]
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
