"""The commands for a release that exists: deciding what the leak gate found, writing and withdrawing it."""

import io
import json

from django.core.management import CommandError, call_command

from annotations.models import Event, Job, Release
from annotations.release.services import deciding


def run(name, *words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command(name, "covid", *map(str, words), "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def test_findings_are_listed_in_their_sentences(clinic, capsys):
    found = run("leak_findings", 1, "--by", "mia")
    assert (found["open"], found["decided"], len(found["findings"])) == (3, 0, 3)
    first = found["findings"][0]
    assert (first["note"], first["marked"], first["decision"]) == ("caso-001", "Rossi", "")
    read = Event.objects.filter(verb="note.read", data__what="leak findings", actor=clinic.mia)
    assert set(read.values_list("document_id", flat=True)) == {note.pk for note in clinic.notes[:2]}
    call_command("leak_findings", "covid", "1")
    assert "Il sig. »Rossi« torna a casa." in capsys.readouterr().out


def test_findings_are_decided_and_decisions_undone(clinic):
    found = run("leak_findings", 1)["findings"]
    torino = next(one for one in found if one["marked"] == "Torino")
    rossi = next(one["string"] for one in found if one["marked"] == "Rossi")
    done = run("leak_findings", 1, "--decide", "allow", "--finding", torino["id"], "--by", "mia")
    assert (done["changed"], done["open"], done["decided"], done["state"]) == (1, 2, 1, "prepared")
    assert run("leak_findings", 1, "--decide", "replace", "--string", rossi, "--by", "mia")["changed"] == 2
    decided = run("leak_findings", 1, "--state", "decided")["findings"]
    assert {(one["marked"], one["decision"], one["decided_by"]) for one in decided} == {
        ("Torino", "allow", "mia"), ("Rossi", "replace", "mia"),
    }  # fmt: skip
    assert run("leak_findings", 1, "--decide", "undo", "--all", "--by", "mia")["open"] == 3


def test_many_notes_are_prepared_again_by_a_job(clinic, monkeypatch, no_redis):
    monkeypatch.setattr(deciding, "AT_ONCE", 1)
    done = run("leak_findings", 1, "--decide", "replace", "--all", "--by", "mia")
    assert (done["changed"], done["open"], done["state"]) == (3, 0, "prepared")
    assert set(Job.objects.values_list("kind", "state")) == {("release", "done")}


def test_a_release_is_written_once_nothing_is_open(clinic, tmp_path):
    assert run("export_release", 1, tmp_path / "out") == "held"
    part = run("export_release", 1, tmp_path / "out", "--leave-out", "--by", "mia")
    assert (part["release"], part["notes"], part["held_back"]) == (1, 1, 2)
    assert Event.objects.get(verb="release.exported").actor == clinic.mia
    run("leak_findings", 1, "--decide", "replace", "--all")
    assert run("export_release", 1, tmp_path / "all.zip")["notes"] == 3
    assert (tmp_path / "all.zip").is_file()
    assert run("export_release", 1, tmp_path / "out") == "out"


def test_a_release_is_signed_when_it_is_written(clinic, tmp_path):
    run("leak_findings", 1, "--decide", "replace", "--all")
    (tmp_path / "there.json").write_text("")
    words = (1, tmp_path / "out", "--by", "mia", "--certificate")
    assert run("export_release", *words, tmp_path / "there.json") == "out"
    assert not (tmp_path / "out").exists()
    assert run("export_release", *words, tmp_path / "signed.json")["notes"] == 3
    assert Release.objects.get().state == "signed"
    assert json.loads((tmp_path / "signed.json").read_text())


def test_a_release_is_withdrawn(clinic):
    assert run("withdraw_release", 1, "--by", "mia") == "confirm"
    assert Release.objects.get().state == "prepared"
    assert run("withdraw_release", 1, "--yes", "--by", "mia") == {"release": 1, "state": "withdrawn"}
    assert run("withdraw_release", 1, "--yes", "--by", "mia")["state"] == "withdrawn"
    assert Event.objects.get(verb="release.withdrawn").actor == clinic.mia
    assert run("leak_findings", 1, "--decide", "allow", "--all") == "state"


def test_what_is_refused(clinic, tmp_path):
    for name, *more in (("leak_findings",), ("export_release", tmp_path / "out"), ("withdraw_release",)):
        assert run(name, 7, *more) == run(name, "9" * 20, *more) == "release"
        assert run(name, 1, *more, "--by", "rev") == "access"
    for words in (("--decide", "allow"), ("--all",), ("--decide", "allow", "--finding", 10**20)):
        assert run("leak_findings", 1, *words) == "decide"
    assert not Event.objects.filter(verb__in=["release.decided", "release.withdrawn", "release.exported"]).exists()
