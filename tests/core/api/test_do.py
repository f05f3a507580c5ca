"""The command `do`: every operation of the API on the command line, with the rights of one person."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.core.commands import lines_of
from annotations.models import GoldVersion, Project, Webhook
from deidreview.operations import operations, parser_of
from tests import factories as make
from tests.worlds.commands import answered, printed
from tests.worlds.pages import made_world, world
from tests.worlds.programs import Program

__all__ = ["made_world", "world"]

pytestmark = pytest.mark.django_db


def do(*words):
    return answered("do", *words)


@pytest.fixture
def gold(world, no_redis):
    author = make.make_author(world.project, kind="gold", name="gold")
    make.make_set(world.note, author, [(0, 11, "PATIENT")], submitted=True)
    return world


def test_every_operation_has_a_parser_and_is_listed():
    listed = printed("do")
    for name, operation in operations().items():
        assert parser_of(name, operation).format_help()
        assert f"  {name} " in listed


def test_the_answer_is_that_of_the_api(gold):
    made = do("freeze_gold_version", "covid", "--reason", "pilot", "--by", "rev")
    assert GoldVersion.objects.get().reason == "pilot"
    assert made == Program(gold.rev).get("/projects/covid/gold/versions").json()["items"][0]
    assert do("list_gold_versions", "covid", "--by", "vic") == {"items": [made], "next": None}
    assert "reason: pilot" in printed("do", "read_gold_version", "covid", 1, "--by", "vic")
    assert do("withdraw_gold_of_note", "covid", gold.note.pk, "--by", "rev") == {}


def test_refusals_name_their_code(gold):
    for words, code in (
        (("freeze_gold_version", "covid", "--by", "vic"), "forbidden"),
        (("freeze_gold_version", "none", "--by", "rev"), "not-found"),
        (("split_gold_version", "covid", 7, "--seed", "a", "--by", "rev"), "not-found"),
        (("read_settings", "covid", "--by", "nobody"), "user"),
    ):
        assert do(*words) == code
    with pytest.raises(CommandError, match="no operation"):
        call_command("do", "freeze")
    with pytest.raises(CommandError, match="planted_share: "):
        call_command("do", "change_settings", "covid", "--planted-share", "7", "--by", "mia")
    make.change(gold.rev, is_active=False)
    assert do("read_gold", "covid", "--by", "rev") == "access"
    assert not GoldVersion.objects.exists()


def test_a_long_list_has_all_its_pages(world):
    for number in range(120):
        make.make_note(world.project, name=f"n{number}")
    assert len(do("list_notes", "covid", "--by", "mia")["items"]) > 120
    assert len(do("list_notes", "covid", "--limit", 3, "--by", "mia")["items"]) == 3


def test_fields_are_emptied_and_switched_off(world):
    do("change_settings", "covid", "--idle-days", "7", "--show-outcome", "--by", "mia")
    do("change_settings", "covid", "--idle-days", "null", "--no-show-outcome", "--by", "mia")
    project = Project.objects.get(slug="covid")
    assert (project.idle_days, project.show_outcome) == (None, False)


def test_files_go_in_and_out(world, no_redis, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("Sig. Bruno Bassi.")
    words = ("import_files", "covid", "--files", tmp_path / "a.txt", "--annotations", "none", "--wait", "--by", "mia")
    assert do(*words)["state"] == "done"
    assert world.project.documents.filter(text="Sig. Bruno Bassi.").exists()
    out = tmp_path / "comments.csv"
    for _ in range(2):
        found = io.StringIO()
        try:
            call_command("do", "export_comments", "covid", "--output", str(out), "--by", "rev", "--json", stdout=found)
        except CommandError:
            assert json.loads(found.getvalue())["code"] == "output"
    assert out.read_text().startswith('"')
    monkeypatch.setattr("sys.stdin", io.StringIO("Bruno\n"))
    assert do("search_notes", "covid", "--text", "-", "--by", "mia")["notes"]


def test_lists_of_a_body(world, settings):
    settings.WEBHOOK_HOSTS = ()
    assert do("new_webhook", "covid", "--url", "https://a.example", "--kinds", "job.done", "--by", "mia") == "invalid"
    assert not Webhook.objects.exists()


def test_an_answer_as_lines():
    figure = {"value": 0.91234, "low": 0.9, "high": 1.0, "why": ""}
    undefined = {"value": None, "low": None, "high": None, "why": "Nothing is marked."}
    rows = [{"x": 1, "y": "", "alpha": figure}, {"z": [1, 2]}]
    answer = {"a": None, "b": {"c": True}, "zero": 0, "rows": rows, "none": [], "f": undefined, "long": "w" * 130}
    assert list(lines_of(answer)) == [
        "b: c yes", "zero: 0", "rows:", "  x 1, alpha 0.9123 (0.9 to 1.0)", "  z 1, 2",
        "f: undefined. Nothing is marked.", f"long: {'w' * 130}",
    ]  # fmt: skip
