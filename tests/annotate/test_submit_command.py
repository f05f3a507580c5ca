"""The command that submits and reopens annotations."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import AnnotationSet, Assignment, AssignmentState, Event, Project
from annotations.projects.services.projects import archive_project
from tests import factories as make

pytestmark = pytest.mark.django_db


def submit(*words, slug="covid"):
    """Return the result, and the error that the command ended with."""
    out = io.StringIO()
    try:
        call_command("submit", slug, *words, "--json", stdout=out)
    except CommandError as error:
        return json.loads(out.getvalue()), str(error)
    return json.loads(out.getvalue()), ""


def states(world):
    return list(AnnotationSet.objects.filter(document=world.note).values_list("state", flat=True))


def test_annotations_are_submitted_and_reopened(world):
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    found, _error = submit("caso-001", "--by", "ann")
    assert found["notes"] == [{"note": "caso-001", "version": found["notes"][0]["version"], "state": "submitted"}]
    assert (states(world), found["annotator"]) == (["submitted"], "ann")
    assert Assignment.objects.get(user=world.ann).state == AssignmentState.DONE
    assert Event.objects.get(verb="set.submitted").actor == world.ann

    assert submit("caso-001", "--reopen", "--by", "ann")[0]["notes"][0]["state"] == "draft"
    assert states(world) == ["draft"] and Event.objects.get(verb="set.reopened").actor == world.ann
    assert Assignment.objects.get(user=world.ann).state == AssignmentState.OPEN


def test_a_note_that_is_refused_leaves_the_others(world):
    assert submit("caso-001")[0]["code"] == "by"
    # This annotator has no such note assigned, so not even its name is confirmed.
    assert submit("caso-001", "--by", "cas")[0]["refused"][0]["code"] == "note"
    assert not AnnotationSet.objects.exists()
    found, error = submit("caso-001", "nowhere", "--by", "ann")
    assert [each["note"] for each in found["notes"]] == ["caso-001"] and states(world) == ["submitted"]
    assert found["refused"][0]["code"] == "note" and error.startswith("nowhere: ")
    out = io.StringIO()
    call_command("submit", "covid", "caso-001", "--by", "ann", stdout=out)
    assert out.getvalue().startswith("caso-001: ")
    archive_project(project=world.project, actor=world.mia)
    assert submit("caso-001", "--by", "ann")[0]["code"] == "archived"


def test_the_spans_of_a_run_are_never_submitted_unseen(world):
    run = make.make_author(world.project, kind="run", name="rules-1")
    make.make_set(world.note, run, [(0, 11, "PATIENT")], submitted=True)
    Project.objects.update(seed_from=run)
    found, error = submit("caso-001", "--by", "ann")
    assert found["refused"][0]["code"] == "unseen" and error
    assert AnnotationSet.objects.get(author__user=world.ann).state == "draft"
