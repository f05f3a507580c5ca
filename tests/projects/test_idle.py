"""Annotators who do nothing for some days: their open notes go to others, and their annotations are kept."""

import io
import json
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotations.jobs import hooks
from annotations.models import AnnotationSet, Assignment, Event, Project
from annotations.projects.events import NOTES_ASSIGNED, NOTES_RELEASED
from annotations.projects.services import idle
from annotations.projects.services.idle import release_idle_notes
from tests import factories as make
from tests.worlds.checks import check_page

PAGE = "/projects/covid/settings/"
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
def after(monkeypatch):
    """Call with a number of days to move the clock of the release forward."""

    def move(days):
        now = timezone.now() + timedelta(days=days)
        monkeypatch.setattr(idle, "timezone", SimpleNamespace(now=lambda: now))

    return move


def states(user):
    return sorted(Assignment.objects.filter(user=user).values_list("state", flat=True))


def works(user, note, client):
    assert client.get(f"{NOTES}{note.pk}/annotate/").status_code == 200


def test_the_days_are_set_and_removed_in_the_settings(world, sign_in):
    mia = sign_in(world.mia)
    values = {
        "name": "Ward",
        "distribution": "list",
        "annotators_per_note": 1,
        "second_review": "off",
        "planted_share": 0,
    }
    for sent, stored in (("14", 14), ("", None)):
        mia.post(PAGE, values | {"idle_days": sent})
        assert Project.objects.get(pk=world.project.pk).idle_days == stored
    for wrong in ("0", "366", "x"):
        assert mia.post(PAGE, values | {"idle_days": wrong}).status_code == 422


def test_the_relay_releases():
    assert release_idle_notes in hooks.TIDIERS


def test_notes_of_an_idle_annotator_go_to_another_one(ward, sign_in, after):
    works(ward.ben, make.make_note(ward.project, annotators=[ward.ben]), sign_in(ward.ben))
    after(6.9)
    release_idle_notes()
    assert states(ward.ann) == ["open", "open"]
    Assignment.objects.update(created_at=timezone.now() - timedelta(days=8))
    for _ in range(2):
        after(1)  # ann never did anything, and ben worked today
        release_idle_notes()
        assert states(ward.ann) == ["released", "released"]
        assert states(ward.ben) == ["open", "open", "open"]
        event = Event.objects.get(verb=NOTES_RELEASED)
        assert (event.actor, event.data) == (None, {"user": "ann", "notes": 2, "days": 7})
        assert Event.objects.get(verb=NOTES_ASSIGNED).data == {"rule": True, "notes": 2}
    assert "released notes" in check_page(sign_in(ward.mia).get("/projects/covid/audit/"))


def test_who_worked_meanwhile_keeps_all_notes(ward, sign_in, after):
    works(ward.ann, ward.notes[0], sign_in(ward.ann))
    Assignment.objects.update(created_at=timezone.now() - timedelta(days=30))
    after(6)
    release_idle_notes()
    assert states(ward.ann) == ["open", "open"]


def test_notes_assigned_meanwhile_and_done_notes_stay(ward, after):
    Assignment.objects.update(created_at=timezone.now() - timedelta(days=30))
    Assignment.objects.filter(document=ward.notes[1]).update(state="done")
    new = make.make_note(ward.project, annotators=[ward.ann])
    after(1)
    release_idle_notes()
    assert states(ward.ann) == ["done", "open", "released"]
    assert Assignment.objects.get(document=new).state == "open"


def test_without_others_the_notes_wait(ward, after):
    Assignment.objects.update(created_at=timezone.now() - timedelta(days=30))
    after(0)
    release_idle_notes()  # ben is idle as well
    assert states(ward.ann) == ["released", "released"]
    assert states(ward.ben) == []


def test_without_the_setting_nothing_is_released(ward, after):
    Project.objects.update(idle_days=None)
    after(1000)
    release_idle_notes()
    assert states(ward.ann) == ["open", "open"]


def test_who_comes_back_takes_the_free_notes_back(ward, sign_in, after):
    ann = sign_in(ward.ann)
    draft = make.make_set(ward.notes[0], make.make_author(ward.project, user=ward.ann), [(0, 5, "PATIENT")])
    Assignment.objects.update(created_at=timezone.now() - timedelta(days=30))
    after(1)
    release_idle_notes()
    assert AnnotationSet.objects.get(pk=draft.pk).state == "draft"
    assert ann.get(f"{NOTES}{ward.notes[0].pk}/annotate/").status_code == 404
    html = check_page(ann.get(NOTES))
    assert "2 of your notes were released because you did nothing here for 7 days" in html
    Assignment.objects.create(project=ward.project, document=ward.notes[1], user=ward.ben)
    assert "1 note is assigned to you again" in check_page(ann.post(TAKE_BACK, follow=True))
    assert states(ward.ann) == ["open", "released"]
    assert ann.get(f"{NOTES}{ward.notes[0].pk}/annotate/").status_code == 200
    release_idle_notes()  # the notes count as assigned now
    assert states(ward.ann) == ["open", "released"]
    assert "These notes went to other annotators" in check_page(ann.post(TAKE_BACK, follow=True))


def test_an_annotator_takes_notes_back_by_command(ward, after):
    Assignment.objects.update(created_at=timezone.now() - timedelta(days=30))
    after(0)
    release_idle_notes()
    out = io.StringIO()
    with pytest.raises(CommandError, match="--by"):
        call_command("take_back_notes", "covid")
    with pytest.raises(CommandError, match="doesn't have permission to annotate"):
        call_command("take_back_notes", "covid", "--by", "vic")
    call_command("take_back_notes", "covid", "--by", "ann", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"annotator": "ann", "assigned": 2}
    assert states(ward.ann) == ["open", "open"]
