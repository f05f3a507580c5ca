"""Settings of a project, and assignment of notes by name."""

import pytest

from annotations.core.errors import ServiceError
from annotations.models import Assignment, Event, Membership, Project
from annotations.projects.events import NOTES_ASSIGNED, PROJECT_CHANGED
from annotations.projects.services.filling import fill_up
from annotations.projects.services.projects import update_project
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.managing import HUGE

PAGE = "/projects/covid/settings/"
ASSIGN = "/projects/covid/settings/assign"
FILL = "/projects/covid/settings/fill"


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)


def values(**over):
    known = {"name": "Ward", "language": "IT", "distribution": "some", "annotators_per_note": 3, "second_review": "off"}
    known["planted_share"] = 0
    return known | over


def test_settings_are_changed(world, mia):
    html = check_page(mia.get(PAGE))
    assert "Assignments of the 2 existing notes stay" in html
    for _ in range(2):
        assert mia.post(PAGE, values()).url == PAGE
    project = Project.objects.get(pk=world.project.pk)
    assert (project.name, project.language) == ("Ward", "it")
    assert (project.distribution, project.annotators_per_note) == ("some", 3)
    assert project.slug == "covid"
    assert Event.objects.filter(verb=PROJECT_CHANGED).count() == 1
    assert "Each note needs 3 annotators, but the project has only 2" in check_page(mia.get(PAGE))
    # Existing assignments stay.
    assert Assignment.objects.filter(project=world.project).count() == 4


@pytest.mark.parametrize(
    "over",
    [
        {"name": ""},
        {"name": "x" * 121},
        {"language": "italian!"},
        {"distribution": "nobody"},
        {"annotators_per_note": 0},
        {"annotators_per_note": 21},
        {"annotators_per_note": "x"},
        {"annotators_per_note": HUGE},
    ],
)
def test_errors_keep_what_was_typed(world, mia, over):
    response = mia.post(PAGE, values(name="Ward nine") | over)
    assert response.status_code == 422
    html = check_page(response)
    assert "errorlist" in html
    assert "name" in over or "Ward nine" in html
    assert Project.objects.get(pk=world.project.pk).name == "Covid ward"


# ── Assigning ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def cas(world):
    return make.make_member(world.project, user="cas")


def test_notes_are_assigned(world, mia, cas):
    for _ in range(2):
        response = mia.post(ASSIGN, {"annotator": cas.pk, "names": " caso-001 \r\n\r\ncaso-002\ncaso-001"}, follow=True)
        assert "2 notes from the list are assigned to cas" in check_page(response)
    assert Assignment.objects.filter(user=cas, state=Assignment.State.OPEN).count() == 2


@pytest.mark.parametrize(
    "names, words",
    [
        ("caso-001\nnowhere", "These notes don&#x27;t exist: nowhere. Nothing was assigned."),
        ("\n \n", "required"),
        ("", "required"),
    ],
)
def test_with_an_unknown_name_nothing_is_assigned(world, mia, cas, names, words):
    response = mia.post(ASSIGN, {"annotator": cas.pk, "names": names})
    assert response.status_code == 422
    html = check_page(response)
    assert words in html
    assert not names.strip() or "caso-001" in html
    assert not Assignment.objects.filter(user=cas).exists()


@pytest.mark.parametrize("user", ["vic", "out", "", "x", str(HUGE)])
def test_notes_are_assigned_to_annotators_only(world, mia, user):
    user = getattr(world, user).pk if hasattr(world, user) else user
    response = mia.post(ASSIGN, {"annotator": user, "names": "caso-001"})
    assert response.status_code == 422
    check_page(response)
    assert Assignment.objects.count() == 4


def test_without_annotators_the_page_says_so(db, sign_in):
    project = make.make_project("lone")
    html = check_page(sign_in(make.make_member(project, "manager")).get("/projects/lone/settings/"))
    assert "No annotators yet" in html


# ── Existing notes ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_existing_notes_are_assigned_by_the_rule(world, mia, cas):
    response = mia.post(FILL, follow=True)
    assert "2 assignments were made" in check_page(response)
    assert Assignment.objects.filter(user=cas).count() == 2
    assert Event.objects.get(verb=NOTES_ASSIGNED).data == {"rule": True, "notes": 2}
    assert "All notes already have enough annotators" in check_page(mia.post(FILL, follow=True))
    assert Event.objects.filter(verb=NOTES_ASSIGNED).count() == 1


def test_each_note_goes_to_the_annotators_with_the_fewest_open_notes(world, mia, cas):
    Project.objects.filter(pk=world.project.pk).update(distribution="some", annotators_per_note=2)
    Assignment.objects.filter(user=world.ben).delete()
    third = make.make_note(world.project)
    released = Assignment.objects.create(project=world.project, document=third, user=cas, state="released")
    world.project.refresh_from_db()
    assert fill_up(project=world.project, actor=world.mia) == 4
    live = Assignment.objects.exclude(state="released").values_list("document", "user")
    assert all(sum(note == pk for note, _ in live) == 2 for pk in (*[n.pk for n in world.notes], third.pk))
    assert (third.pk, cas.pk) not in live
    released.refresh_from_db()
    assert released.state == "released"


@pytest.mark.parametrize("rule, words", [("list", "by name only"), ("everyone", "no annotators yet")])
def test_nothing_to_assign(world, mia, rule, words):
    Project.objects.filter(pk=world.project.pk).update(distribution=rule)
    if rule == "everyone":
        Membership.objects.filter(role="annotator").update(active=False)
    assert words in check_page(mia.post(FILL, follow=True))
    assert Assignment.objects.count() == 4


# ── Options ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_of(project, name="rules-1", submitted=True):
    author = make.make_author(project, kind="run", name=name)
    make.make_set(make.make_note(project), author, submitted=submitted)
    return author


def test_annotators_may_start_from_a_run(world, mia):
    run = run_of(world.project)
    run_of(world.project, "unfinished", submitted=False)
    html = check_page(mia.get(PAGE))
    assert "without spans, blind (recommended)" in html
    assert "Spans of rules-1" in html
    assert "unfinished" not in html
    for chosen, after in ((run.pk, run), ("", None)):
        assert mia.post(PAGE, values(seed_from=chosen)).url == PAGE
        assert Project.objects.get(pk=world.project.pk).seed_from == after
    fields = [event.data["fields"] for event in Event.objects.filter(verb=PROJECT_CHANGED)]
    assert "seed_from" in fields[0]
    assert fields[1] == ["seed_from"]


def test_only_from_a_run_of_this_project(world, mia):
    others = run_of(world.other)
    person = make.make_author(world.project, world.ann)
    for chosen in (others.pk, person.pk, 0, HUGE, "x"):
        response = mia.post(PAGE, values(seed_from=chosen))
        assert response.status_code == 422
        assert "This run no longer exists" in check_page(response)
    with pytest.raises(ServiceError, match="only from a model run of this project"):
        update_project(project=world.project, actor=world.mia, seed_from=others)
    assert Project.objects.get(pk=world.project.pk).seed_from is None


def test_options_of_adjudication(world, mia):
    assert 'name="show_outcome" id="id_show_outcome" checked' in " ".join(check_page(mia.get(PAGE)).split())
    mia.post(PAGE, values(unanimous_passes="on", anonymous_adjudication="on"))
    project = Project.objects.get(pk=world.project.pk)
    assert (project.unanimous_passes, project.anonymous_adjudication, project.show_outcome) == (True, True, False)
