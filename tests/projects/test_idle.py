"""Annotators who do nothing for some days: their open notes go to others, and their annotations are kept."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from annotations.core.hooks import tidiers
from annotations.models import AnnotationSet, Assignment, Event, Project
from annotations.projects.events import NOTES_ASSIGNED, NOTES_RELEASED
from annotations.projects.services import assigning
from annotations.projects.services.assigning import release_idle_notes
from tests import factories as make
from tests.worlds.checks import check_page

NOTES = "/projects/covid/notes/"
TAKE_BACK = "/projects/covid/assignments/take-back"


@pytest.fixture
def ward(world):
    """Notes are released after seven days. Each note goes to one annotator: both notes to ann, none to ben."""
    world.project.distribution, world.project.annotators_per_note, world.project.idle_days = "some", 1, 7
    world.project.save()
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
        release_idle_notes()

    return release


def states(user):
    return sorted(Assignment.objects.filter(user=user).values_list("state", flat=True))


def works(client, note):
    assert client.get(f"{NOTES}{note.pk}/annotate/").status_code == 200


def test_notes_of_an_idle_annotator_go_to_another_one(ward, sign_in, release_after):
    assert release_idle_notes in tidiers
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
    release_idle_notes()  # the notes count as assigned now
    assert states(ward.ann) == ["open", "released"]
    assert "These notes went to other annotators" in check_page(ann.post(TAKE_BACK, follow=True))
