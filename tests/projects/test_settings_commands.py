"""The commands for a project's settings, and for assignments by its rule."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Assignment, Event
from tests import factories as make

pytestmark = pytest.mark.django_db


def run(name, *words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command(name, "covid", *words, "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


@pytest.fixture
def project(db):
    found = make.make_project("covid")
    for role, name in (("manager", "mia"), ("reviewer", "rev"), ("annotator", "ann"), ("annotator", "ben")):
        make.make_member(found, role, name)
    return found


def test_settings_are_shown_and_changed(project, capsys):
    run_author = make.make_author(project, kind="run", name="rules-1")
    make.make_set(make.make_note(project), run_author, submitted=True)
    before = run("project_settings")
    assert (before["distribution"], before["seed_from"], before["idle_days"]) == ("everyone", None, None)
    words = ["distribution=some", "annotators_per_note=1", "unanimous_passes=yes", "seed_from=rules-1", "idle_days=7"]
    after = run("project_settings", "--by", "mia", *[f"--set={word}" for word in words])
    assert after == before | {
        "distribution": "some", "annotators_per_note": 1, "unanimous_passes": True, "seed_from": "rules-1",
        "idle_days": 7,
    }  # fmt: skip
    event = Event.objects.get(verb="project.changed")
    assert event.actor.username == "mia" and set(event.data["fields"]) == {word.partition("=")[0] for word in words}
    assert run("project_settings", "--set", "idle_days=", "--set", "seed_from=") == after | {
        "idle_days": None, "seed_from": None,
    }  # fmt: skip
    call_command("project_settings", "covid")
    assert "unanimous_passes: yes" in capsys.readouterr().out


def test_settings_that_are_refused(project):
    for word in ("idle", "none=1", "slug=x", "unanimous_passes=perhaps"):
        assert run("project_settings", "--set", word) == "set"
    for word in ("annotators_per_note=0", "distribution=none", "name=", "planted_share=7"):
        assert run("project_settings", "--set", "language=it", "--set", word) == "invalid"
    assert run("project_settings", "--set", "seed_from=none") == "seed_from"
    assert run("project_settings", "--by", "rev") == "access"
    project.refresh_from_db()
    assert project.language == "" and not Event.objects.exists()


def test_missing_assignments_are_made_by_the_rule(project):
    make.make_note(project)
    assert run("fill_notes", "--by", "rev") == "access"
    assert run("fill_notes", "--by", "mia")["assigned"] == 2
    assert run("fill_notes")["assigned"] == 0 and Assignment.objects.count() == 2
    run("project_settings", "--set", "distribution=list")
    assert run("fill_notes") == "list"
