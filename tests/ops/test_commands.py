"""All commands of `manage.py`: with --json each prints one JSON object, and errors set the exit status.

--by refuses a person whom the page or the API would refuse. A command with --by that the table lacks fails the test.
"""

import hashlib
import io
import json
import re
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.core import serializers
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.db import transaction
from django.utils import timezone

from annotations.core.access import RIGHTS, Can
from annotations.core.commands import JourneyCommand, RequiredStanding
from annotations.jobs.runner import run as work
from annotations.models import ApiToken, Document, Job, JobState, Membership, Project, Review, Role, Span, User
from annotations.review.selectors.reviewing import next_to_review
from deidreview import preparing
from models_runtime.models import Run
from tests import factories as make
from tests.factories import make_member, make_note, make_project, make_user
from tests.worlds.commands import answered

pytestmark = pytest.mark.django_db

# Command lines by what the person needs. {0} is a file that does not exist, {1} a token of “ann”.
TABLE: dict[Can | RequiredStanding | str, list[str]] = {
    Can.SEE_PROJECT: [
        "labels covid"
    ],
    Can.ANNOTATE: [
        "submit covid caso-1"
    ],
    Can.READ_NOTES: [
        "agreement covid", "backends covid", "compare_runs covid --runs a,b",
        "corpus_statistics covid", "diff_gold covid 1 2", "disagreements covid", "grouped_sentences covid --gold 1",
        "jobs covid", "loop covid", "models covid", "planted_leaks covid",
        "score covid --author annotator:ann",
    ],
    Can.MAKE_GOLD: [
        "adjudicate covid {0}", "freeze_gold covid", "majority_gold covid", "majority_gold covid --preview",
        "majority_gold covid --list", "make_gold covid --set annotator:ann", "review covid run:a {0}",
        "review_bulk covid --list", "split_gold covid 1 --seed a", "withdraw_gold covid caso-1",
    ],
    Can.EXPORT: [
        "agreement covid --table {0}", "export_documents covid {0} --format brat --set gold",
        "models covid --download crf-1 --to {0}",
    ],
    Can.RELEASE: [
        "audit_plan covid", "audit_plan covid --discard", "deid_records covid {0} {0}", "feed status covid",
        "feed run covid letters --once",
        "release covid --set gold --policy mask --out {0}",
        "surrogates covid",
    ],
    Can.MANAGE: [
        "add_member covid out --role manager", "deid_audio covid {0} --out {0}", "calibrate covid --run a --gold 1",
        "erase_patient covid P-1 --yes", "import_documents covid {0} --format text",
        "import_audio covid {0} --words {0}", "judge_gaps covid a --server s", "transcribe covid {0}",
        "known_identifiers covid",
        "labels covid --delete CITY", "labels covid --move CITY --position 2",
        "map_group covid a b --role viewer", "merge_labels covid CITY HOSPITAL", "models covid --retire crf-1",
        "pair_published covid {0}", "password_link covid ann", "remove_member covid ann",
        "rename_label covid CITY --name Town",
        "run_model covid rules", "schema add covid {0}", "serve_model covid none --protocol inception",
        "read_parquet covid none {0} {0}", "train_model covid --gold 1",
    ],
    Can.ARCHIVE: [
        "archive_project covid", "delete_project covid --name Covid", "export_archive covid {0}",
        "export_documents covid {0} --format archive",
    ],
    RequiredStanding.SIGN_IN: [
        "backends", "completion bash", "ready", "verify_certificate {0}"
    ],
    RequiredStanding.CREATE_PROJECTS: [
        "create_project New --labels meddocan", "import_archive {0}", "import_documents new {0} --format archive"
    ],
    RequiredStanding.SEE_QUEUES: [
        "queues"
    ],
    RequiredStanding.ADMINISTER: [
        "backup {0}", "create_scim_token", "link_account ann a b", "load_demo", "restore {0}"
    ],
    "see or change API tokens of “ann”": [
        "create_token ann Nightly", "revoke_token {1}", "tokens ann"
    ],
}  # fmt: skip
ROLES = {"vic": Role.VIEWER, "ann": Role.ANNOTATOR, "rev": Role.REVIEWER, "mia": Role.MANAGER}


@pytest.fixture
def project(db):
    found = make.make_project("covid")
    for name, role in ROLES.items():
        make.make_member(found, role, name)
    make.make_member(found, Role.MANAGER, "out")
    Membership.objects.filter(user__username="out").update(active=False)
    make.make_member(found, Role.MANAGER, make.make_user("left", is_active=False))
    make.make_user("staff", is_staff=True)
    make.make_user("root", is_staff=True, is_superuser=True)
    make.make_note(found, name="caso-1", patient_id="P-1")
    ann, tomorrow = User.objects.get(username="ann"), timezone.now() + timedelta(days=1)
    ApiToken.objects.create(user=ann, name="Nightly", digest="0", expires_at=tomorrow)
    return found


def may(name, needed):
    """Whether this person may do what needs this."""
    if isinstance(needed, Can):
        return name in ROLES and needed in RIGHTS[ROLES[name]]
    if isinstance(needed, RequiredStanding):
        allowed = {
            RequiredStanding.SEE_QUEUES: {"staff", "root"},
            RequiredStanding.CREATE_PROJECTS: {"mia", "staff", "root"},
        }
        return name in allowed.get(needed, {"root"}) or needed is RequiredStanding.SIGN_IN
    return name == "ann"


OURS = {name: app for name, app in get_commands().items() if app.split(".")[0] in settings.OWN_PACKAGES}


def prepared(line, *values):
    """Return a function that runs the command for a person, and returns its result or its error. Parses once."""
    name, *words = [word.format(*values) for word in line.split()]
    command = load_command_class(OURS[name], name)
    options = vars(command.create_parser("manage.py", name).parse_args([*words, "--json"]))

    def run(by):
        out = io.StringIO()
        with suppress(CommandError):
            command.execute(**options | {"by": by, "stdout": out, "stderr": io.StringIO(), "skip_checks": True})
        return json.loads(out.getvalue())

    return run


def everything():
    """A hash of all rows of all tables."""
    rows = [
        serializers.serialize("json", model.objects.order_by("pk"))
        for model in apps.get_models()
        if model._meta.managed
    ]
    return hashlib.sha256("".join(rows).encode()).hexdigest()


def test_every_command_refuses_people_without_the_right(project, tmp_path):
    values = tmp_path / "none", ApiToken.objects.get().pk
    before, wrong = everything(), []
    for needed, line in ((needed, line) for needed, lines in TABLE.items() for line in lines):
        refused = prepared(line, *values)
        for name in [*ROLES, "out", "left", "staff", "root"]:
            if name != "left" and may(name, needed):
                continue
            found = refused(name)
            said = found.get("error", "")
            named = f"“{name}”" in said and (name == "left" or str(needed) in said)
            if found.get("code") != "access" or not named:
                wrong.append((line, name, found))
    assert wrong == [] and everything() == before
    assert not list(tmp_path.iterdir())


def test_people_with_the_right_are_not_refused(project, tmp_path, no_redis):
    values = tmp_path / "none", ApiToken.objects.get().pk
    wrong = []
    for needed, lines in TABLE.items():
        # Administrators are refused nothing, and a backup needs the end of the transaction. Without --yes, deleting and
        # erasing end after the rights were checked.
        for line in [] if needed is RequiredStanding.ADMINISTER else lines:
            name = next(name for name in ["vic", "ann", "rev", "mia", "staff"] if may(name, needed))
            with transaction.atomic():
                found = prepared(line.removesuffix(" --yes"), *values)(name)
                transaction.set_rollback(True)
            if found.get("code") in ("access", "by"):
                wrong.append((line, name, found))
    assert wrong == []


def test_the_table_has_every_command_with_by():
    listed = {line.split()[0] for lines in TABLE.values() for line in lines}
    assert listed == {name for name, app in OURS.items() if isinstance(load_command_class(app, name), JourneyCommand)}


def test_a_project_that_wants_a_second_factor_wants_it_of_commands_too(project):
    make.change(project, second_factor=True)
    assert prepared("freeze_gold covid")("rev")["code"] == "second-factor"


# What all commands have in common


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
