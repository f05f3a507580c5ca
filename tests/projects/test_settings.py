"""Settings of a project, quotas, and assignment of notes by name and by the rule; on pages and by commands."""

from collections import Counter
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils import timezone

from annotations.core.hooks import tidiers
from annotations.core.services import ServiceError
from annotations.models import AnnotationSet, Assignment, Event, Membership, Project
from annotations.projects.events import NOTES_ASSIGNED, NOTES_RELEASED, PROJECT_CHANGED
from annotations.projects.forms.settings import AssignForm
from annotations.projects.services import assigning
from annotations.projects.services.projects import update_project
from tests import factories as make
from tests.worlds.checks import check_page, refused
from tests.worlds.managing import HUGE

PAGE = "/projects/covid/settings/"
FILL = f"{PAGE}fill"


def values(**over):
    known = {"name": "Ward", "language": "IT", "distribution": "some", "annotators_per_note": 3}
    return known | {"second_review": "off", "planted_share": 0} | over


def stored(world):
    return Project.objects.get(pk=world.project.pk)


def live(world):
    found = Assignment.objects.filter(project=world.project).exclude(state="released")
    return Counter(found.values_list("user__username", flat=True))


# ── The form ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_settings_are_changed(world, mia):
    assert "Assignments of the 2 existing notes stay" in check_page(mia.get(PAGE))
    for _ in range(2):
        assert mia.post(PAGE, values(idle_days=14, notes_per_annotator=3, unanimous_passes="on")).url == PAGE
    project = stored(world)
    assert (project.name, project.slug, project.language) == ("Ward", "covid", "it")
    assert (project.distribution, project.annotators_per_note) == ("some", 3)
    assert (project.idle_days, project.notes_per_annotator) == (14, 3)
    assert (project.unanimous_passes, project.anonymous_adjudication, project.show_outcome) == (True, False, False)
    assert Event.objects.filter(verb=PROJECT_CHANGED).count() == 1
    html = check_page(mia.get(PAGE))
    assert "Each note needs 3 annotators, but the project has only 2" in html and 'value="14"' in html
    assert Assignment.objects.filter(project=world.project).count() == 4, "existing assignments stay"
    mia.post(PAGE, values(idle_days="", notes_per_annotator="", show_outcome="on", anonymous_adjudication="on"))
    project = stored(world)
    assert (project.idle_days, project.notes_per_annotator) == (None, None)
    assert (project.unanimous_passes, project.anonymous_adjudication, project.show_outcome) == (False, True, True)


def test_errors_keep_what_was_typed(world, mia):
    wrong = {
        "name": ["", "x" * 121], "language": ["italian!"], "distribution": ["nobody"],
        "annotators_per_note": [0, 21, "x", HUGE], "idle_days": ["0", "366", "x"],
        "notes_per_annotator": ["0", "-1", "x", "1000001", 2**31, HUGE],
    }  # fmt: skip
    for name, some in wrong.items():
        for value in some:
            response = mia.post(PAGE, values(name="Ward nine") | {name: value})
            assert response.status_code == 422, (name, value)
            html = check_page(response)
            assert "errorlist" in html and (name == "name" or "Ward nine" in html)
    assert stored(world).name == "Covid ward"


def run_of(project, name="rules-1", submitted=True):
    author = make.make_author(project, kind="run", name=name)
    make.make_set(make.make_note(project), author, submitted=submitted)
    return author


def test_annotators_may_start_from_a_run_of_this_project(world, mia):
    run, others = run_of(world.project), run_of(world.other)
    run_of(world.project, "unfinished", submitted=False)
    html = check_page(mia.get(PAGE))
    assert "without spans, blind (recommended)" in html and "Spans of rules-1" in html and "unfinished" not in html
    for chosen, after in ((run.pk, run), ("", None)):
        assert mia.post(PAGE, values(seed_from=chosen)).url == PAGE and stored(world).seed_from == after
    fields = [event.data["fields"] for event in Event.objects.filter(verb=PROJECT_CHANGED)]
    assert "seed_from" in fields[0] and fields[1] == ["seed_from"]
    for chosen in (others.pk, make.make_author(world.project, world.ann).pk, 0, HUGE, "x"):
        response = mia.post(PAGE, values(seed_from=chosen))
        assert response.status_code == 422 and "no longer exists" in check_page(response)
    with pytest.raises(ServiceError, match="only from a model run of this project"):
        update_project(project=world.project, actor=world.mia, seed_from=others)
    assert stored(world).seed_from is None


# ── Notes by name ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def cas(world):
    return make.make_member(world.project, user="cas")


def test_notes_are_assigned_by_name(world, cas):
    for _ in range(2):
        form = AssignForm({"annotator": cas.pk, "names": " caso-001 \r\n\r\ncaso-002\ncaso-001"}, annotators=[cas])
        assert form.is_valid() and form.cleaned_data["names"] == ["caso-001", "caso-002"]
        assigning.assign_list(project=world.project, user=cas, names=form.cleaned_data["names"], actor=world.mia)
    assert live(world)["cas"] == 2


def test_a_wrong_name_or_person_assigns_nothing(world, mia, cas):
    for names, words in (("\n \n", "required"), ("", "required")):
        assert words in str(AssignForm({"annotator": cas.pk, "names": names}, annotators=[cas]).errors["names"])
    with refused("note"):
        assigning.assign_list(project=world.project, user=cas, names=["caso-001", "nowhere"], actor=world.mia)
    for user in (world.vic.pk, world.out.pk, "", "x", HUGE):
        assert set(AssignForm({"annotator": user, "names": "caso-001"}, annotators=[cas]).errors) == {"annotator"}
    assert live(world) == {"ann": 2, "ben": 2}


def test_a_project_without_a_rule_leads_to_the_ticks_of_its_notes(world, mia):
    assert 'id="assign"' not in check_page(mia.get(PAGE))
    Project.objects.update(distribution=Project.Distribution.LIST)
    assert reverse("notes", args=["covid"]) in check_page(mia.get(PAGE)).split('id="assign"')[1].split("</p>")[0]


# ── Notes by the rule ────────────────────────────────────────────────────────────────────────────────────────────────


def test_existing_notes_are_assigned_by_the_rule(world, mia, cas):
    assert "2 assignments were made" in check_page(mia.post(FILL, follow=True)) and live(world)["cas"] == 2
    assert Event.objects.get(verb=NOTES_ASSIGNED).data == {"rule": True, "notes": 2}
    check_page(mia.post(FILL, follow=True))
    assert Event.objects.filter(verb=NOTES_ASSIGNED).count() == 1
    Project.objects.update(distribution=Project.Distribution.LIST)
    assert "by name only" in check_page(mia.post(FILL, follow=True))
    Project.objects.update(distribution="everyone")
    Membership.objects.filter(role="annotator").update(active=False)
    assert "no annotators yet" in check_page(mia.post(FILL, follow=True))


def test_each_note_goes_to_the_annotators_with_the_fewest_open_notes(world, cas):
    make.change(world.project, distribution="some", annotators_per_note=2)
    Assignment.objects.filter(user=world.ben).delete()
    third = make.make_note(world.project)
    released = Assignment.objects.create(project=world.project, document=third, user=cas, state="released")
    assert assigning.fill_up(project=world.project, actor=world.mia) == 4
    assigned = Assignment.objects.exclude(state="released").values_list("document", "user")
    assert all(sum(note == pk for note, _ in assigned) == 2 for pk in (*[n.pk for n in world.notes], third.pk))
    assert (third.pk, cas.pk) not in assigned
    assert make.reread(released).state == "released"


# ── Quotas: the most notes that the rule assigns to one annotator ────────────────────────────────────────────────────


@pytest.fixture
def limited(world):
    """At most three notes for each annotator; ann and ben have two, and ann has done hers."""
    make.change(world.project, notes_per_annotator=3)
    Assignment.objects.filter(user=world.ann).update(state="done")
    return world.project


def more(project, number):
    return [make.make_note(project, name=f"extra-{n}") for n in range(number)]


@pytest.mark.parametrize("rule", ["everyone", "some"])
def test_new_notes_go_only_to_annotators_with_room(world, limited, rule):
    limited.distribution = rule
    assert assigning.assign_new_notes(project=limited, notes=[note.pk for note in more(limited, 4)]) == 2
    assert live(world) == {"ann": 3, "ben": 3}


def test_new_annotators_and_existing_notes_follow_the_quota(world, limited, mia):
    more(limited, 4)
    cas = make.make_member(limited, user="cas")
    assert assigning.assign_new_member(project=limited, user=cas) == 3
    assert "2 assignments were made" in check_page(mia.post(FILL, follow=True))
    assert live(world) == {"ann": 3, "ben": 3, "cas": 3}


def test_notes_assigned_by_name_are_never_refused(world, limited):
    names = [note.name for note in more(limited, 4)]
    assigning.assign_list(project=limited, user=world.ann, names=names, actor=world.mia)
    assert live(world)["ann"] == 6
    assert assigning.assign_new_notes(project=limited, notes=[make.make_note(limited).pk]) == 1
    assert live(world) == {"ann": 6, "ben": 3}


# ── Annotators who do nothing for some days: their open notes go to others, and their annotations are kept ──


NOTES = "/projects/covid/notes/"
TAKE_BACK = "/projects/covid/assignments/take-back"


@pytest.fixture
def ward(world):
    """Notes are released after seven days. Each note goes to one annotator: both notes to ann, none to ben."""
    make.change(world.project, distribution="some", annotators_per_note=1, idle_days=7)
    Assignment.objects.filter(user=world.ben).delete()
    return world


@pytest.fixture
def long_ago(ward):
    """All notes were assigned a month ago."""
    Assignment.objects.update(created_at=timezone.now() - timedelta(days=30))


@pytest.fixture
def release_after(monkeypatch):
    """Call with a number of days: the release, so much later."""

    def release(days=0.0):
        now = timezone.now() + timedelta(days=days)
        monkeypatch.setattr(assigning, "timezone", SimpleNamespace(now=lambda: now))
        assigning.release_idle_notes()

    return release


def states(user):
    return sorted(Assignment.objects.filter(user=user).values_list("state", flat=True))


def works(client, note):
    assert client.get(f"{NOTES}{note.pk}/annotate/").status_code == 200


def test_notes_of_an_idle_annotator_go_to_another_one(ward, sign_in, release_after):
    assert assigning.release_idle_notes in tidiers
    works(sign_in(ward.ben), make.make_note(ward.project, annotators=[ward.ben]))
    release_after(6.9)
    assert states(ward.ann) == ["open", "open"]
    Assignment.objects.update(created_at=timezone.now() - timedelta(days=8))
    for _ in range(2):
        release_after(1)  # ann never did anything, and ben worked today
        assert states(ward.ann) == ["released", "released"] and states(ward.ben) == ["open", "open", "open"]
        event = Event.objects.get(verb=NOTES_RELEASED)
        assert (event.actor, event.data) == (None, {"user": "ann", "notes": 2, "days": 7})
        assert Event.objects.get(verb=NOTES_ASSIGNED).data == {"rule": True, "notes": 2}
    assert "released notes" in check_page(sign_in(ward.mia).get("/projects/covid/audit/"))


def test_who_worked_meanwhile_keeps_all_notes(ward, long_ago, sign_in, release_after):
    works(sign_in(ward.ann), ward.notes[0])
    release_after(6)
    assert states(ward.ann) == ["open", "open"]


def test_notes_assigned_meanwhile_and_done_notes_stay(ward, long_ago, release_after):
    Assignment.objects.filter(document=ward.notes[1]).update(state="done")
    new = make.make_note(ward.project, annotators=[ward.ann])
    release_after(1)
    assert states(ward.ann) == ["done", "open", "released"]
    assert Assignment.objects.get(document=new).state == "open"


def test_without_the_setting_nothing_is_released_and_without_others_the_notes_wait(ward, release_after):
    Project.objects.update(idle_days=None)
    release_after(1000)
    assert states(ward.ann) == ["open", "open"]
    Project.objects.update(idle_days=7)
    release_after(30)  # ben is idle as well
    assert states(ward.ann) == ["released", "released"] and states(ward.ben) == []


def test_who_comes_back_takes_the_free_notes_back(ward, long_ago, sign_in, release_after):
    ann, annotate = sign_in(ward.ann), f"{NOTES}{ward.notes[0].pk}/annotate/"
    draft = make.make_set(ward.notes[0], ward.ann, [(0, 5, "PATIENT")])
    release_after(1)
    assert AnnotationSet.objects.get(pk=draft.pk).state == "draft" and ann.get(annotate).status_code == 404
    assert "2 of your notes were released" in check_page(ann.get(NOTES))
    Assignment.objects.create(project=ward.project, document=ward.notes[1], user=ward.ben)
    assert "1 note is assigned to you again" in check_page(ann.post(TAKE_BACK, follow=True))
    assert states(ward.ann) == ["open", "released"] and ann.get(annotate).status_code == 200
    assigning.release_idle_notes()  # the notes count as assigned now
    assert states(ward.ann) == ["open", "released"]
    assert "These notes went to other annotators" in check_page(ann.post(TAKE_BACK, follow=True))
