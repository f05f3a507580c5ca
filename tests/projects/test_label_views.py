"""Pages of the label set: list, edit, add and merge."""

import pytest
from django.urls import reverse

from annotations.models import Event, Label, Span
from annotations.projects.events import LABEL_ADDED, LABEL_CHANGED, LABEL_MERGED
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.managing import HUGE

PAGE = "/projects/covid/labels/"


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)


def edit_of(label: Label) -> str:
    return reverse("label_edit", args=["covid", label.pk])


def merge_of(label: Label) -> str:
    return reverse("label_merge", args=["covid", label.pk])


def category_of(label: Label) -> int:
    return label.category_id


def test_the_table_counts_spans(world, mia, django_assert_max_num_queries):
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT"), (44, 50, "CITY")])
    make.make_set(world.note, world.ben, [(0, 11, "PATIENT")])
    other = make.make_note(world.other)
    make.make_set(other, world.out, [(0, 11, "PATIENT")])
    mia.get(PAGE)  # the first request of a session saves it
    with django_assert_max_num_queries(14):
        html = check_page(mia.get(PAGE))
    row = html[html.index(">PATIENT<") :]
    assert '<td data-label="Spans" class="num">2</td>' in row[: row.index("</tr>")]
    assert "<kbd>1</kbd>" in html
    assert "Merged labels" not in html


# ── Changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def values(**over):
    category = category_of(Label.objects.get(label_set__project__slug="covid", code="CITY"))
    return {
        "category": category,
        "name": "TOWN",
        "hotkey": "t",
        "placeholder": "[TOWN]",
        "description": "Towns.\r\nNot streets.",
    } | over


def test_a_label_is_changed(world, mia):
    label = make.label_of(world.project, "CITY")
    check_page(mia.get(edit_of(label)))
    assert mia.post(edit_of(label), values()).url == PAGE
    label.refresh_from_db()
    assert (label.name, label.hotkey, label.placeholder) == ("TOWN", "t", "[TOWN]")
    assert label.description == "Towns.\nNot streets."
    assert label.code == "CITY"
    assert Event.objects.get(verb=LABEL_CHANGED).actor == world.mia
    # Saving the same values again changes nothing and records no event.
    assert mia.post(edit_of(label), values()).status_code == 302
    assert Event.objects.filter(verb=LABEL_CHANGED).count() == 1


def test_attributes_are_changed_and_recorded(world, mia):
    label = make.label_of(world.project, "CITY")
    mia.post(edit_of(label), values(attributes="Family\r\nStatus: current | past"))
    label.refresh_from_db()
    assert label.attributes == [{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}]
    assert Event.objects.get(verb=LABEL_CHANGED).data["after"]["attributes"] == "Family\nStatus: current | past"
    assert "Status: current | past</span>" in check_page(mia.get(PAGE))
    assert "Family\nStatus: current | past</textarea>" in check_page(mia.get(edit_of(label)))


def test_a_key_from_before_it_was_reserved_stays_until_it_is_changed(world, mia):
    label = make.label_of(world.project, "CITY")
    Label.objects.filter(pk=label.pk).update(hotkey="v")
    assert mia.post(edit_of(label), values(hotkey="v")).status_code == 302
    label.refresh_from_db()
    assert (label.name, label.hotkey) == ("TOWN", "v")
    response = mia.post(edit_of(make.label_of(world.project, "HOSPITAL")), values(name="WARD", hotkey="w"))
    assert "is reserved by the program" in response.content.decode()


@pytest.mark.parametrize(
    "over, words",
    [
        ({"hotkey": "d"}, "The key “d” belongs to the label DATE."),
        ({"hotkey": "D"}, "The key “d” belongs to the label DATE."),
        ({"hotkey": "n"}, "is reserved by the program"),
        ({"hotkey": "é"}, "must be one letter"),
        ({"hotkey": "ab"}, "at most 1 character"),
        ({"name": "date"}, "The label “DATE” already exists"),
        ({"name": " "}, "required"),
        ({"name": "x" * 81}, "at most 80"),
        ({"placeholder": ""}, "required"),
        ({"placeholder": "x" * 61}, "at most 60"),
        ({"attributes": "Family member"}, "may contain only A-Z"),
        ({"attributes": "Status:"}, "is not valid"),
    ],
)
def test_errors_keep_what_was_typed(world, mia, over, words):
    label = make.label_of(world.project, "CITY")
    response = mia.post(edit_of(label), values(**over))
    assert response.status_code == 422
    html = check_page(response)
    assert words in html
    assert "Towns." in html
    label.refresh_from_db()
    assert (label.name, label.hotkey) == ("CITY", "c")


def test_a_label_moves_to_another_category(world, mia):
    label, name = make.label_of(world.project, "CITY"), make.label_of(world.project, "PATIENT")
    assert mia.post(edit_of(label), values(category=name.category_id)).url == PAGE
    label.refresh_from_db()
    assert label.category == name.category
    change = Event.objects.get(verb=LABEL_CHANGED).data
    assert change["after"]["category"] == name.category.code
    foreign = category_of(make.label_of(world.other, "CITY"))
    assert mia.post(edit_of(label), values(category=foreign)).status_code == 422


def test_a_change_by_somebody_else_is_not_lost(world, mia):
    label = make.label_of(world.project, "CITY")
    seen = mia.get(edit_of(label)).context["seen"]
    Label.objects.filter(pk=label.pk).update(description="Cities only.")
    response = mia.post(edit_of(label), values(seen=seen))
    html = check_page(response)
    assert response.status_code == 422
    assert "Somebody else changed this" in html and "Cities only." in html and "Towns." in html
    label.refresh_from_db()
    assert label.name == "CITY"
    # The page has shown the other change, so saving again replaces it.
    assert mia.post(edit_of(label), values(seen=response.context["seen"])).status_code == 302
    label.refresh_from_db()
    assert (label.name, label.description) == ("TOWN", "Towns.\nNot streets.")


def test_a_key_can_be_removed(world, mia):
    label = make.label_of(world.project, "CITY")
    mia.post(edit_of(label), values(hotkey=""))
    label.refresh_from_db()
    assert label.hotkey == ""


# ── Adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def added(world, **over):
    category = category_of(make.label_of(world.project, "CITY"))
    return {"name": "Cantón", "category": category, "hotkey": "q", "description": "A canton."} | over


def test_a_label_is_added(world, mia):
    for _ in range(2):  # a double click does no harm
        assert mia.post(PAGE, added(world)).url == PAGE
    label = make.label_of(world.project, "Cantón")
    assert (label.code, label.hotkey, label.placeholder) == ("Canton", "q", "[Cantón]")
    assert Event.objects.filter(verb=LABEL_ADDED).count() == 1


@pytest.mark.parametrize(
    "over, words",
    [
        ({"name": "city"}, "The label “CITY” already exists"),
        ({"name": "CÍTY"}, "In files, this label would have the code “CITY”, like the label CITY"),
        ({"name": "---"}, "at least one letter or digit"),
        ({"name": ""}, "required"),
        ({"name": "姓" * 40}, "Choose a shorter name"),
        ({"hotkey": "c"}, "The key “c” belongs to the label CITY"),
        ({"category": "x"}, "valid choice"),
        ({"category": str(HUGE)}, "valid choice"),
    ],
)
def test_labels_that_cannot_be_added(world, mia, over, words):
    response = mia.post(PAGE, added(world, **over))
    assert response.status_code == 422
    html = check_page(response)
    assert words in html
    assert "A canton." in html
    assert Label.objects.filter(label_set__project=world.project).count() == 6


def test_a_category_of_another_project(world, mia):
    foreign = category_of(make.label_of(world.other, "CITY"))
    assert mia.post(PAGE, added(world, category=foreign)).status_code == 422
    assert not Label.objects.filter(name="Cantón").exists()


# ── Merging ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def pair(world):
    make.make_set(world.note, world.ann, [(44, 50, "HOSPITAL"), (44, 50, "CITY"), (0, 5, "HOSPITAL")])
    make.make_set(world.note, world.ben, [(44, 50, "HOSPITAL")])
    return make.label_of(world.project, "HOSPITAL"), make.label_of(world.project, "CITY")


def test_merge_shows_counts_first(mia, pair):
    source, target = pair
    html = check_page(mia.get(merge_of(source)))
    assert "Changed spans" not in html
    html = check_page(mia.get(merge_of(source), {"into": target.pk}))
    assert "<dd>3</dd>" in html  # spans
    assert "No gold version is frozen yet" in html
    assert Span.objects.filter(label=source).count() == 3


def test_merge(mia, pair):
    source, target = pair
    for _ in range(2):  # a double click does no harm
        assert mia.post(merge_of(source), {"into": target.pk}).url == PAGE
    assert Span.objects.filter(label=target).count() == 3
    assert not Span.objects.filter(label=source).exists()
    assert Event.objects.filter(verb=LABEL_MERGED).count() == 1
    html = check_page(mia.get(PAGE))
    assert "Merged labels" in html
    assert "merged into CITY" in html
    assert mia.get(edit_of(source)).url == edit_of(target)


@pytest.mark.parametrize("into", ["", "x", "999", str(HUGE), "self", "foreign"])
def test_invalid_targets_of_a_merge(world, mia, pair, into):
    source, _ = pair
    into = {"self": source.pk, "foreign": make.label_of(world.other, "CITY").pk}.get(into, into)
    for response in (mia.post(merge_of(source), {"into": into}), mia.get(merge_of(source), {"into": into})):
        assert response.status_code == 422
        assert "Changed spans" not in check_page(response)
    assert Span.objects.filter(label=source).count() == 3


def test_a_merged_label_can_not_be_merged_again(world, mia, pair):
    source, target = pair
    mia.post(merge_of(source), {"into": target.pk})
    response = mia.post(merge_of(source), {"into": make.label_of(world.project, "AGE").pk})
    assert response.status_code == 422
    assert "already merged" in check_page(response)


def test_markup_in_names_stays_text(world, mia):
    label = make.label_of(world.project, "CITY")
    mia.post(edit_of(label), values(name="<i>x", description="<script>1</script>"))
    html = check_page(mia.get(PAGE))
    assert "<i>x" not in html
    assert "&lt;script&gt;1" in html
