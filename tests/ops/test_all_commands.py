"""The commands of `manage.py`: with --json each prints one JSON object, and errors set the exit status."""

import io
import json
import re
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command, get_commands, load_command_class

from annotations.gold.events import GOLD_FROZEN
from annotations.models import Document, Event, Membership, Project, Role, Span, User
from models_runtime.ops.services import preparing
from tests.factories import make_member, make_note, make_project, make_user

pytestmark = pytest.mark.django_db
MEDDOCAN = Path(__file__).resolve().parents[3] / "shared" / "data" / "meddocan" / "dev"

OURS = {name: app for name, app in get_commands().items() if app.split(".")[0] in settings.OWN_PACKAGES}
# These run until somebody stops them, or (a backup) until the test's transaction ends.
LASTING = {"backup", "mcp", "relay", "run", "work"}


def run(*args, **options):
    out = io.StringIO()
    call_command(*args, "--json", stdout=out, **options)
    return json.loads(out.getvalue())


def write_corpus(folder):
    """Write two notes in brat's format, with characters that break careless parsers."""
    folder.mkdir()
    texts = {
        "uno": ("\ufeffPaziente: José Núñez 👩‍⚕️\r\nEdad: 54 años\r\n", [("NOMBRE_SUJETO_ASISTENCIA", 11, 21)]),
        "due": (
            "\nDr.\tPérez\u00a0Gil\u2028 (Málaga)\n",
            [("NOMBRE_PERSONAL_SANITARIO", 5, 14), ("TERRITORIO", 17, 23)],
        ),
    }
    for name, (text, spans) in texts.items():
        (folder / f"{name}.txt").write_bytes(text.encode())
        lines = [f"T{n}\t{label} {s} {e}\t{text[s:e]}\n" for n, (label, s, e) in enumerate(spans, 1)]
        (folder / f"{name}.ann").write_bytes("".join(lines).encode())


def annotations(folder):
    found = set()
    for file in folder.rglob("*.ann"):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line.startswith("T"):
                _, location, quote = line.split("\t", 2)
                label, start, end = location.split(" ")
                found.add((file.stem, label, int(start), int(end), quote))
    return found


def texts(folder):
    return {file.name: file.read_bytes() for file in folder.rglob("*.txt")}


def journey(folder, tmp_path, project="es"):
    """Import as gold, freeze, export as brat and CoNLL, import the CoNLL again, and export that as brat."""
    assert run("create_project", project, "--labels", "meddocan", "--language", "es")["project"] == project
    report = run("import_documents", project, str(folder), "--format", "brat", "--as", "gold")
    assert report["refused"] == []
    assert run("freeze_gold", project)["version"] == 1
    run("export_documents", project, str(tmp_path / "brat"), "--format", "brat", "--set", "gold:1")
    losses = run("export_documents", project, str(tmp_path / "conll"), "--format", "conll", "--set", "gold")["losses"]
    run("create_project", f"{project}-2", "--labels", "meddocan")
    run("import_documents", f"{project}-2", str(tmp_path / "conll"), "--format", "conll", "--as", "gold")
    run("export_documents", f"{project}-2", str(tmp_path / "again"), "--format", "brat", "--set", "gold")
    return report, losses


def test_an_export_equals_the_import(tmp_path):
    write_corpus(tmp_path / "in")
    report, losses = journey(tmp_path / "in", tmp_path)
    assert (report["notes"], report["spans"], losses) == (2, 3, [])
    for out in ("brat", "again"):
        assert annotations(tmp_path / out) == annotations(tmp_path / "in")
        assert texts(tmp_path / out) == texts(tmp_path / "in")


@pytest.mark.skipif(not MEDDOCAN.is_dir(), reason="the MEDDOCAN corpus is not beside this checkout")
def test_meddocan_dev_is_exported_unchanged(tmp_path):
    report, losses = journey(MEDDOCAN, tmp_path, "meddocan")
    assert (report["notes"], report["spans"], losses) == (250, 5801, [])
    for out in ("brat", "again"):
        assert annotations(tmp_path / out) == annotations(MEDDOCAN)
        assert texts(tmp_path / out) == texts(MEDDOCAN)


def test_two_annotators_a_reviewer_and_gold(tmp_path):
    write_corpus(tmp_path / "in")
    run("create_project", "Ward 3", "--labels", "meddocan")
    created = run("add_member", "ward-3", "anna", "--role", "annotator", "--create")
    assert created["created"]
    assert created["password_link"].startswith("/accounts/")
    run("add_member", "ward-3", "rita", "--role", "reviewer", "--create")
    run("import_documents", "ward-3", str(tmp_path / "in"), "--format", "brat", "--as", "annotator:anna")
    assert run("make_gold", "ward-3", "--set", "annotator:anna", "--by", "rita")["made"] == 2
    frozen = run("freeze_gold", "ward-3", "--by", "rita", "--reason", "pilot")
    assert (frozen["version"], frozen["notes"], frozen["spans"], frozen["new"]) == (1, 2, 3, True)
    assert Event.objects.get(verb=GOLD_FROZEN).actor.username == "rita"


def test_adding_somebody_without_an_account_needs_create():
    make_project("p")
    with pytest.raises(CommandError, match="no account “nobody”"):
        run("add_member", "p", "nobody", "--role", "viewer")
    assert not User.objects.exists()


def test_making_gold_needs_a_person():
    project = make_project("p")
    make_member(project, Role.ANNOTATOR, "anna")
    with pytest.raises(CommandError, match="--by"):
        run("make_gold", "p", "--set", "annotator:anna")
    with pytest.raises(CommandError, match="permission to make gold"):
        run("make_gold", "p", "--set", "annotator:anna", "--by", "anna")


def test_errors_are_also_printed_as_json(capsys):
    out = io.StringIO()
    with pytest.raises(CommandError, match="no project “none”"):
        call_command("freeze_gold", "none", "--json", stdout=out)
    assert json.loads(out.getvalue())["code"] == "project"


def test_an_import_without_notes_fails_with_its_report(tmp_path):
    make_project("p")
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    out = io.StringIO()
    with pytest.raises(CommandError, match="Nothing was imported"):
        call_command("import_documents", "p", str(tmp_path), "--format", "text", "--json", stdout=out)
    assert json.loads(out.getvalue())["refused"][0]["code"] == "utf8"


def test_an_unknown_path():
    make_project("p")
    with pytest.raises(CommandError, match="There is no file or folder"):
        run("import_documents", "p", "/nowhere/at/all", "--format", "text")


def test_a_single_file(tmp_path):
    make_project("p")
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("two")
    assert run("import_documents", "p", str(tmp_path / "a.txt"), "--format", "text")["notes"] == 1
    assert Document.objects.get().name == "a"


def test_labels_renamed_and_merged():
    make_project("p")
    assert run("rename_label", "p", "DOCTOR", "--name", "PHYSICIAN")["name"] == "PHYSICIAN"
    assert run("merge_labels", "p", "DOCTOR", "PATIENT", "--preview")["spans"] == 0
    run("merge_labels", "p", "DOCTOR", "PATIENT")
    with pytest.raises(CommandError, match="There is no label “DOCTOR”"):
        run("rename_label", "p", "DOCTOR", "--name", "X")


def test_removing_assigning_erasing_and_a_link():
    project = make_project("p")
    make_member(project, Role.MANAGER, "boss")
    make_member(project, Role.ANNOTATOR, "anna")
    make_note(project, name="n1", patient_id="P-1")
    assert run("assign", "p", "anna", "n1")["assigned"] == 1
    assert run("password_link", "p", "anna", "--by", "boss")["path"].startswith("/accounts/")
    assert run("remove_member", "p", "anna", "--preview")["open_notes"] == 1
    run("remove_member", "p", "anna", "--by", "boss")
    assert not Membership.objects.get(user__username="anna").active
    with pytest.raises(CommandError, match="--yes"):
        run("erase_patient", "p", "P-1")
    assert run("erase_patient", "p", "P-1", "--yes")["erased"]
    assert not Document.objects.exists()


def test_a_link_by_command_follows_the_rule_of_whoever_it_is_made_for(capsys):
    project = make_project("p")
    make_member(project, Role.MANAGER, "boss")
    make_member(project, Role.VIEWER, make_user("vera"))
    assert run("password_link", "p", "vera")["path"].startswith("/accounts/")
    with pytest.raises(CommandError, match="not created in a project that you manage"):
        run("password_link", "p", "vera", "--by", "boss")
    run("add_member", "p", "nina", "--role", "viewer", "--create", "--by", "boss")
    assert run("password_link", "p", "nina", "--by", "boss")["path"].startswith("/accounts/")


def test_the_demo_loads_once_and_only_where_it_is_allowed(settings):
    settings.DEMO = False
    with pytest.raises(CommandError, match="passwords are public"):
        run("load_demo")
    settings.DEMO = True
    made = run("load_demo")
    assert made["notes"] >= 40
    assert not run("load_demo")["created"]
    project = Project.objects.get(slug="demo")
    assert set(project.memberships.values_list("role", flat=True)) == set(Role.values)
    assert project.gold_versions.count() == 1
    assert Span.objects.filter(annotation_set__author__kind="annotator").count() > 500
    guidelines = Path(settings.FIXTURES_DIR, "demo", "guidelines.md").read_text(encoding="utf-8")
    assert project.guidelines.strip() == guidelines.strip() != ""


def test_an_existing_account_keeps_its_password_when_added():
    make_project("p")
    make_user("anna")
    assert run("add_member", "p", "anna", "--role", "viewer", "--create")["created"] is False
    assert User.objects.get(username="anna").has_usable_password()


def test_an_invalid_user_name(capsys):
    make_project(slug="p")
    with pytest.raises(CommandError, match="Enter a valid username"):
        call_command("add_member", "p", "<img src=x>", "--role", "annotator", "--create", "--json")
    assert json.loads(capsys.readouterr().out)["code"] == "invalid"
    assert not User.objects.filter(username__contains="<").exists()


@pytest.mark.parametrize("content", [None, b"caf\xe9"])
def test_guidelines_that_cannot_be_read_leave_no_project(tmp_path, content):
    file = tmp_path / "guidelines.md"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError, match="Nothing was created"):
        run("create_project", "P", "--labels", "it-4", "--guidelines", str(file))
    assert not Project.objects.exists()


def test_help_texts_are_sentences_with_a_capital_and_a_full_stop():
    found = []
    for name, app in OURS.items():
        command = load_command_class(app, name)
        # Django adds options to every command, whose texts are its own.
        added = {option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings}
        actions = command.create_parser("manage.py", name)._actions
        texts = [action.help for action in actions if not added.intersection(action.option_strings) and action.help]
        found += [(name, text) for text in [command.help, *texts] if not re.match(r"(?s)[A-Z0-9].*[.…]$", text)]
    assert len(OURS) > 20 and not found


def test_the_documentation_lists_every_command_and_no_other():
    text = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    tables = "\n".join(line for line in text.splitlines() if line.startswith("| "))
    listed = set(re.findall(r"`([a-z][a-z_]*)[ `]", tables))
    assert listed == set(OURS)


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
    for name, app in OURS.items():
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
