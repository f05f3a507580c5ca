"""The commands audit_note and audit_leaks: from the next note to a decision about a leak."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.audits.services.reading import next_note
from annotations.models import AuditMark, AuditNote, Event, LeakFinding
from tests.worlds.audited import planned


def run(name, *words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command(name, "covid", "1", *map(str, words), "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def test_a_note_is_read_marked_and_finished(ward, capsys):
    planned(ward.release, leaks=1)
    by = ("--by", "rita")
    assert run("audit_note", *by) == "none-begun"
    note = run("audit_note", "--next", *by)
    assert run("audit_note", *by) == note
    assert Event.objects.filter(verb="note.read", actor=ward.rev).count() == 2
    assert [part["label"] for part in note["parts"]] == ["PATIENT", "DATE", "CITY"]
    start, this = note["text"].index("Bianchi"), ("--note", note["note"])
    marked = run("audit_note", "--mark", start, start + 7, "DOCTOR", *this, *by)
    (mark,) = marked["marks"]
    assert (mark["start"], mark["end"], mark["label"]) == (start, start + 7, "DOCTOR")
    assert run("audit_note", "--unmark", mark["id"], *this, *by)["marks"] == []
    run("audit_note", "--mark", start, start + 7, "DOCTOR", *this, *by)
    call_command("audit_note", "covid", "1", *by)
    assert f"mark {AuditMark.objects.get().pk} {start}-{start + 7} DOCTOR" in capsys.readouterr().out
    done = run("audit_note", "--finish", *this, *by)
    assert (done["mine"], done["begun"], done["reopens"], done["result"]) == (1, False, True, None)
    assert run("audit_note", "--progress", "--by", "mina")["result"]["read"] == 1
    assert run("audit_note", "--reopen", *by)["marks"]
    assert AuditNote.objects.get(reader=ward.rev).state == AuditNote.State.READING


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--mark", 0, 9, "DOCTOR", "--note", 1), "replaced"),
        (("--mark", 60, 5000, "DOCTOR", "--note", 1), "bounds"),
        (("--mark", "x", 9, "DOCTOR", "--note", 1), "bounds"),
        (("--mark", 20, 25, "NONE", "--note", 1), "label"),
        (("--mark", 20, 25, "DOCTOR"), "note"),
        (("--note", 1), "note"),
        (("--finish", "--note", 2), "gone"),
        (("--finish", "--note", -1), "gone"),
        (("--unmark", 9, "--note", 1), "mark"),
        (("--reopen",), "closed"),
    ],
)
def test_what_is_refused(ward, words, code):
    plan = planned(ward.release)
    next_note(plan=plan, user=ward.rev)
    assert run("audit_note", *words, "--by", "rita") == code
    assert not AuditMark.objects.exists()


def test_a_release_without_an_audit(ward):
    assert run("audit_note", "--by", "rita") == "audit" == run("audit_leaks", "--by", "mina")
    assert run("audit_note", "--next") == "by"


def test_leaks_are_listed_and_decided(ward, capsys):
    plan = planned(ward.release)
    assert run("audit_leaks")["leaks"] == []
    note = run("audit_note", "--next", "--by", "rita")
    start = note["text"].index("Bianchi")
    run("audit_note", "--mark", start, start + 7, "DOCTOR", "--note", note["note"], "--by", "rita")
    run("audit_note", "--finish", "--note", note["note"], "--by", "rita")
    (leak,) = run("audit_leaks", "--by", "mina")["leaks"]
    assert (leak["marked"], leak["label"], leak["decision"], leak["decided_by"]) == ("Bianchi", "DOCTOR", "", None)
    assert Event.objects.filter(verb="note.read", actor=ward.mia).count() == 1
    for words, code in (
        (("--decide", "dismiss"), "decide"),
        (("--leak", leak["id"]), "decide"),
        (("--decide", "dismiss", "--leak", leak["id"] + 1), "leak"),
    ):
        assert run("audit_leaks", *words, "--by", "mina") == code
    (found,) = run("audit_leaks", "--decide", "dismiss", "--leak", leak["id"], "--by", "mina")["leaks"]
    assert (found["decision"], found["decided_by"]) == ("dismissed", "mina")
    plan.refresh_from_db()
    call_command("audit_leaks", "covid", "1")
    assert "dott. »Bianchi«.  dismissed by mina" in capsys.readouterr().out
    (found,) = run("audit_leaks", "--decide", "undo", "--leak", leak["id"], "--by", "mina")["leaks"]
    assert found["decision"] == ""
    (found,) = run("audit_leaks", "--decide", "accept", "--leak", leak["id"], "--by", "mina")["leaks"]
    assert found["decision"] == "allow" == LeakFinding.objects.get().decision
