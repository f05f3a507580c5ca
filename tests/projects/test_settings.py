"""Settings, and handing out notes by name."""

import pytest

from annotations.core.errors import ServiceError
from annotations.models import Assignment, Event, Membership, Project, Verb
from annotations.projects.services.filling import fill_up
from annotations.projects.services.projects import update_project
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.managing import HUGE, check_closed, check_method

PAGE = "/projects/covid/settings/"
ASSIGN = "/projects/covid/settings/assign"
FILL = "/projects/covid/settings/fill"


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)


def values(**over):
    known = {"name": "Ward", "language": "IT", "distribution": "some", "readers_per_note": 3, "second_review": "off"}
    known["planted_share"] = 0
    return known | over


def test_settings_are_changed(world, mia):
    html = check_page(mia.get(PAGE))
    assert "The 2 notes here stay" in html
    for _ in range(2):
        assert mia.post(PAGE, values()).url == PAGE
    project = Project.objects.get(pk=world.project.pk)
    assert (project.name, project.language) == ("Ward", "it")
    assert (project.distribution, project.readers_per_note) == ("some", 3)
    assert project.slug == "covid"
    assert Event.objects.filter(verb=Verb.PROJECT_CHANGED).count() == 1
    assert "3 annotators are wanted for each note, and there are 2" in check_page(mia.get(PAGE))
    # What was handed out stays.
    assert Assignment.objects.filter(project=world.project).count() == 4


def test_nobody_else_comes_in(world, sign_in):
    check_closed(world, sign_in, PAGE)
    check_closed(world, sign_in, PAGE, "post")
    check_closed(world, sign_in, ASSIGN, "post")
    check_closed(world, sign_in, FILL, "post")


def test_wrong_methods(mia):
    check_method(mia, PAGE)
    check_method(mia, ASSIGN, "get")
    check_method(mia, FILL, "get")


@pytest.mark.parametrize(
    "over",
    [
        {"name": ""},
        {"name": "x" * 121},
        {"language": "italian!"},
        {"distribution": "nobody"},
        {"readers_per_note": 0},
        {"readers_per_note": 21},
        {"readers_per_note": "x"},
        {"readers_per_note": HUGE},
    ],
)
def test_refusals_keep_what_was_typed(world, mia, over):
    response = mia.post(PAGE, values(name="Ward nine") | over)
    assert response.status_code == 422
    html = check_page(response)
    assert "errorlist" in html
    assert "name" in over or "Ward nine" in html
    assert Project.objects.get(pk=world.project.pk).name == "Covid ward"


# ── Handing out ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def cas(world):
    return make.make_member(world.project, user="cas")


def test_notes_are_handed_out(world, mia, cas):
    for _ in range(2):
        response = mia.post(ASSIGN, {"reader": cas.pk, "names": " caso-001 \r\n\r\ncaso-002\ncaso-001"}, follow=True)
        assert "cas has the 2 notes of this list to read" in check_page(response)
    assert Assignment.objects.filter(user=cas, state=Assignment.State.OPEN).count() == 2


@pytest.mark.parametrize(
    "names, words",
    [("caso-001\nnowhere", "No such note: nowhere; nothing was assigned"), ("\n \n", "required"), ("", "required")],
)
def test_unknown_names_refuse_the_whole_list(world, mia, cas, names, words):
    response = mia.post(ASSIGN, {"reader": cas.pk, "names": names})
    assert response.status_code == 422
    html = check_page(response)
    assert words in html
    assert not names.strip() or "caso-001" in html
    assert not Assignment.objects.filter(user=cas).exists()


@pytest.mark.parametrize("reader", ["vic", "out", "", "x", str(HUGE)])
def test_only_annotators_get_notes(world, mia, reader):
    reader = getattr(world, reader).pk if hasattr(world, reader) else reader
    response = mia.post(ASSIGN, {"reader": reader, "names": "caso-001"})
    assert response.status_code == 422
    check_page(response)
    assert Assignment.objects.count() == 4


def test_without_annotators_the_page_says_so(db, sign_in):
    project = make.make_project("lone")
    html = check_page(sign_in(make.make_member(project, "manager")).get("/projects/lone/settings/"))
    assert "There is no annotator yet" in html


# ── Notes that were there before ─────────────────────────────────────────────────────────────────────────────────────


def test_notes_that_were_there_are_handed_out_by_the_rule(world, mia, cas):
    response = mia.post(FILL, follow=True)
    assert "2 notes more to read were handed out" in check_page(response)
    assert Assignment.objects.filter(user=cas).count() == 2
    assert Event.objects.get(verb=Verb.NOTES_ASSIGNED).data == {"rule": True, "notes": 2}
    assert "Every note has its readers already" in check_page(mia.post(FILL, follow=True))
    assert Event.objects.filter(verb=Verb.NOTES_ASSIGNED).count() == 1


def test_some_readers_each_go_to_who_has_least(world, mia, cas):
    Project.objects.filter(pk=world.project.pk).update(distribution="some", readers_per_note=2)
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


@pytest.mark.parametrize("rule, words", [("list", "by name only"), ("everyone", "no annotator yet")])
def test_nothing_to_hand_out(world, mia, rule, words):
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


def test_annotators_may_begin_from_a_run(world, mia):
    run = run_of(world.project)
    run_of(world.project, "unfinished", submitted=False)
    html = check_page(mia.get(PAGE))
    assert "they read blind (recommended)" in html
    assert "The spans of rules-1" in html
    assert "unfinished" not in html
    for chosen, after in ((run.pk, run), ("", None)):
        assert mia.post(PAGE, values(seed_from=chosen)).url == PAGE
        assert Project.objects.get(pk=world.project.pk).seed_from == after
    fields = [event.data["fields"] for event in Event.objects.filter(verb=Verb.PROJECT_CHANGED)]
    assert "seed_from" in fields[0]
    assert fields[1] == ["seed_from"]


def test_only_from_a_run_of_this_project(world, mia):
    others = run_of(world.other)
    person = make.make_author(world.project, world.ann)
    for chosen in (others.pk, person.pk, 0, HUGE, "x"):
        response = mia.post(PAGE, values(seed_from=chosen))
        assert response.status_code == 422
        assert "no run of this project" in check_page(response)
    with pytest.raises(ServiceError, match="model run of this project only"):
        update_project(project=world.project, actor=world.mia, seed_from=others)
    assert Project.objects.get(pk=world.project.pk).seed_from is None


def test_options_of_adjudication(world, mia):
    assert 'name="show_outcome" id="id_show_outcome" checked' in " ".join(check_page(mia.get(PAGE)).split())
    mia.post(PAGE, values(unanimous_passes="on", anonymous_adjudication="on"))
    project = Project.objects.get(pk=world.project.pk)
    assert (project.unanimous_passes, project.anonymous_adjudication, project.show_outcome) == (True, True, False)
