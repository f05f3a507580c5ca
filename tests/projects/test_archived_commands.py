"""Commands in an archived project: those that change it are refused, and those that read go on."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Assignment, Event, Import, Job, Membership, Span
from annotations.projects.services.archiving import archive_project
from tests import factories as make


@pytest.mark.parametrize(
    "command",
    [
        ["assign", "covid", "ann", "caso-001"],
        ["add_member", "covid", "out", "--role", "viewer"],
        ["remove_member", "covid", "ann"],
        ["rename_label", "covid", "CITY", "--name", "Town"],
        ["merge_labels", "covid", "CITY", "HOSPITAL"],
        ["labels", "covid", "--delete", "CITY"],
        ["categories", "covid", "--add", "Places"],
        ["project_settings", "covid", "--set", "idle_days=7"],
        ["label_mappings", "covid", "Ours", "--add"],
        ["submit", "covid", "caso-001", "--by", "ann"],
        ["withdraw_gold", "covid", "caso-002", "--by", "mia"],
        ["review_bulk", "covid", "--least", "0", "--by", "mia"],
        ["delete_note", "covid", "caso-001", "--yes"],
        ["make_gold", "covid", "--set", "annotator:ann", "--by", "mia"],
        ["freeze_gold", "covid"],
        ["import_documents", "covid", "{folder}", "--format", "text"],
        ["run_model", "covid", "rules"],
        ["erase_patient", "covid", "P-1", "--yes"],
    ],
)
def test_commands_are_refused_too(world, tmp_path, command):
    (tmp_path / "new.txt").write_text("Anna Verdi")
    make.make_note(world.project, patient_id="P-1")
    annotated = make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    gold = make.make_author(world.project, kind="gold", name="gold")
    make.make_set(world.notes[1], gold, [(0, 11, "PATIENT")], submitted=True)
    archive_project(project=world.project, actor=world.mia)
    before = _rows(world)
    with pytest.raises(CommandError, match="This project is archived"):
        call_command(*[word.format(folder=tmp_path) for word in command])
    assert _rows(world) == before
    annotated.refresh_from_db()


def _rows(world):
    members = Membership.objects.order_by("pk").values_list("user", "role", "active")
    return (
        Event.objects.count(), Job.objects.count(), Import.objects.count(), Span.objects.count(), list(members),
        Assignment.objects.count(), world.project.documents.count(), world.project.gold_versions.count(),
        list(world.project.label_set.labels.values_list("name", flat=True)),
    )  # fmt: skip


def test_reading_commands_go_on(world, capsys):
    archive_project(project=world.project, actor=world.mia)
    call_command("agreement", "covid", "--json")
    assert json.loads(capsys.readouterr().out)
