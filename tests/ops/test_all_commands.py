"""The commands of `manage.py`: with --json each prints one JSON object, and errors set the exit status."""

import io
import json
import re
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command, get_commands, load_command_class

from annotations.jobs.runner import run as work
from annotations.models import Document, Job, JobState, Membership, Project, Review, Role, Span, User
from annotations.review.selectors.reviewing import next_to_review
from deidreview import preparing
from models_runtime.models import Run
from tests.factories import make_member, make_note, make_project, make_user
from tests.worlds.commands import answered

pytestmark = pytest.mark.django_db

OURS = {name: app for name, app in get_commands().items() if app.split(".")[0] in settings.OWN_PACKAGES}
# These run until somebody stops them, or (a backup) until the test's transaction ends.
LASTING = {"backup", "mcp", "relay", "run", "work"}


def annotations(folder):
    found = set()
    for file in folder.rglob("*.ann"):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line.startswith("T"):
                _, location, quote = line.split("\t", 2)
                label, start, end = location.split(" ")
                found.add((file.stem, label, int(start), int(end), quote))
    return found


def test_members_and_their_links():
    project = make_project("p")
    make_member(project, Role.MANAGER, "boss")
    assert answered("add_member", "p", "nobody", "--role", "viewer") == "user"
    assert answered("add_member", "p", "<img src=x>", "--role", "annotator", "--create") == "invalid"
    assert set(User.objects.values_list("username", flat=True)) == {"boss"}
    make_user("vera")
    assert answered("add_member", "p", "vera", "--role", "viewer", "--create")["created"] is False
    assert User.objects.get(username="vera").has_usable_password()
    assert answered("password_link", "p", "vera")["path"].startswith("/accounts/")
    assert answered("password_link", "p", "vera", "--by", "boss") == "not-yours"
    answered("add_member", "p", "nina", "--role", "annotator", "--create", "--by", "boss")
    assert answered("password_link", "p", "nina", "--by", "boss")["path"].startswith("/accounts/")
    make_note(project, name="n1", patient_id="P-1")
    answered("do", "assign_by_name", "p", "--annotator", "nina", "--names", "n1", "--by", "boss")
    assert answered("remove_member", "p", "nina", "--preview")["open_notes"] == 1
    answered("remove_member", "p", "nina", "--by", "boss")
    assert not Membership.objects.get(user__username="nina").active
    assert answered("erase_patient", "p", "P-1") == "confirm"
    assert answered("erase_patient", "p", "P-1", "--yes")["erased"] and not Document.objects.exists()


def test_the_demo_loads_once_and_has_a_run_that_waits_for_review(settings, no_redis):
    settings.DEMO = False
    assert answered("load_demo") == "demo"
    settings.DEMO = True
    assert preparing.load_demo(slug="demo", say=lambda line: None) and not answered("load_demo")["created"]
    project = Project.objects.get(slug="demo")
    assert set(project.memberships.values_list("role", flat=True)) == set(Role.values)
    assert project.gold_versions.count() == 1
    assert Span.objects.filter(annotation_set__author__kind="annotator").count() > 500
    guidelines = Path(settings.FIXTURES_DIR, "demo", "guidelines.md").read_text(encoding="utf-8")
    assert project.guidelines.strip() == guidelines.strip() != ""
    demo_run = Run.objects.get(project=project)
    work(demo_run.job_id)
    job = Job.objects.get(pk=demo_run.job_id)
    assert (job.state, job.done) == (JobState.DONE, Document.objects.count()) and job.done >= 40
    assert not Review.objects.exists() and next_to_review(demo_run.author) is not None


@pytest.mark.parametrize("content", [None, b"caf\xe9"])
def test_guidelines_that_cannot_be_read_leave_no_project(tmp_path, content):
    file = tmp_path / "guidelines.md"
    if content is not None:
        file.write_bytes(content)
    assert isinstance(answered("create_project", "P", "--labels", "it-4", "--guidelines", str(file)), str)
    assert not Project.objects.exists()


def test_the_documentation_lists_every_command_and_no_other():
    text = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    tables = "\n".join(line for line in text.splitlines() if line.startswith("| "))
    assert set(re.findall(r"`([a-z][a-z_]*)[ `]", tables)) == set(OURS)


def words_for(command, folder):
    """Return arguments that the command's parser accepts. What they name does not exist, so most commands fail."""
    words = ["--json"]
    parser = command.create_parser("manage.py", "x")
    # One option of each group that needs one.
    chosen = [group._group_actions[0] for group in parser._mutually_exclusive_groups if group.required]
    for action in parser._actions:
        if not (action.required or action in chosen or (not action.option_strings and action.nargs != "?")):
            continue
        wanted = "1" if action.type in (int, float) else str(folder / "none")
        value = str(next(iter(action.choices))) if action.choices else wanted
        words += [*action.option_strings[-1:], value]
    return words


def test_each_command_prints_one_json_object(tmp_path, monkeypatch, no_redis):
    monkeypatch.setattr(preparing, "collect_static", lambda say: None)
    wrong = []
    # `do` has tests of its own; `makemessages` is Django's, with more keywords.
    for name, app in sorted((name, OURS[name]) for name in OURS.keys() - {"do", "makemessages"}):
        command = load_command_class(app, name)
        words = words_for(command, tmp_path)
        assert command.create_parser("manage.py", name).parse_args(words).json
        if name in LASTING:
            continue
        out = io.StringIO()
        with suppress(CommandError, SystemExit):
            call_command(command, *words, stdout=out, stderr=io.StringIO())
        try:
            assert isinstance(json.loads(out.getvalue()), dict)
        except ValueError:
            wrong.append((name, words, out.getvalue()[:200]))
    assert not wrong
