"""The commands audit_plan, audit_note and audit_leaks: from the plan to a decision about a leak."""

from annotations.models import AuditMark, AuditNote, AuditPlan, Event, LeakFinding
from annotations.release.services.audits.reading import next_note
from tests.worlds.audited import planned, read_one
from tests.worlds.commands import answered, printed


def run(name, *words):
    return answered(name, "covid", 1, *words)


def test_a_note_is_read_marked_and_finished(ward):
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
    assert f"mark {AuditMark.objects.get().pk} {start}-{start + 7} DOCTOR" in printed("audit_note", "covid", 1, *by)
    done = run("audit_note", "--finish", *this, *by)
    assert (done["mine"], done["begun"], done["reopens"], done["result"]) == (1, False, True, None)
    assert run("audit_note", "--progress", "--by", "mina")["result"]["read"] == 1
    assert run("audit_note", "--reopen", *by)["marks"]
    assert AuditNote.objects.get(reader=ward.rev).state == AuditNote.State.READING


def test_what_is_refused(ward):
    assert run("audit_note", "--by", "rita") == "audit" == run("audit_leaks", "--by", "mina")
    assert run("audit_note", "--next") == "by"
    next_note(plan=planned(ward.release), user=ward.rev)
    for words, code in (
        (("--mark", 0, 9, "DOCTOR", "--note", 1), "replaced"), (("--mark", 60, 5000, "DOCTOR", "--note", 1), "bounds"),
        (("--mark", "x", 9, "DOCTOR", "--note", 1), "bounds"), (("--mark", 20, 25, "NONE", "--note", 1), "label"),
        (("--mark", 20, 25, "DOCTOR"), "note"), (("--note", 1), "note"), (("--finish", "--note", 2), "gone"),
        (("--finish", "--note", -1), "gone"), (("--unmark", 9, "--note", 1), "mark"), (("--reopen",), "closed"),
    ):  # fmt: skip
        assert run("audit_note", *words, "--by", "rita") == code
    assert not AuditMark.objects.exists()


def test_leaks_are_listed_and_decided(ward):
    assert run("audit_leaks") == "audit"
    plan = planned(ward.release)
    assert run("audit_leaks")["leaks"] == []
    read_one(plan, ward.rev, "Bianchi")
    (leak,) = run("audit_leaks", "--by", "mina")["leaks"]
    assert (leak["marked"], leak["label"], leak["decision"], leak["decided_by"]) == ("Bianchi", "DOCTOR", "", None)
    assert Event.objects.filter(verb="note.read", actor=ward.mia).count() == 1
    for words, code in (
        (("--decide", "dismiss"), "decide"), (("--leak", leak["id"]), "decide"),
        (("--decide", "dismiss", "--leak", leak["id"] + 1), "leak"),
    ):  # fmt: skip
        assert run("audit_leaks", *words, "--by", "mina") == code
    for answer, decision in (("dismiss", "dismissed"), ("undo", ""), ("accept", "allow")):
        (found,) = run("audit_leaks", "--decide", answer, "--leak", leak["id"], "--by", "mina")["leaks"]
        assert (found["decision"], found["decided_by"]) == (decision, "mina" if decision else None)
        if answer == "dismiss":
            assert "dott. »Bianchi«.  dismissed by mina" in printed("audit_leaks", "covid", 1)
    assert LeakFinding.objects.get().decision == "allow"


def plan(*words):
    return answered("audit_plan", *words)


def test_a_plan_and_its_progress(ward):
    made = plan("covid", "--release", "1", "--bound", "10%", "--confidence", "95%", "--planted", "0%", "--by", "mina")
    assert made["made"] and made["notes"] == 40 and made["looks"] == [18] and made["bound"] is None
    row = AuditPlan.objects.get()
    assert row.created_by == ward.mia
    for _note in range(18):
        read_one(row, ward.rev)
    again = plan("covid")
    assert not again["made"] and again["complete"] and again["state"] == "met" and again["bound"] == 0.1
    assert again["readers"] == {"rita": 18}
    assert "At most 10.0% of the notes contain a leak (95% confidence)." in printed("audit_plan", "covid")


def test_planted_leaks_stay_hidden_and_a_plan_is_discarded_until_somebody_reads(ward):
    for words, code in (
        (("covid", "--release", "7"), "release"), (("nowhere",), "project"), (("covid", "--bound", "few"), "share"),
        (("covid", "--bound", "300%"), "choices"),
    ):  # fmt: skip
        assert plan(*words) == code
    plan("covid", "--planted", "0%", "--bound", "10%", "--by", "mina")
    assert plan("covid", "--discard", "--by", "rita") == "access"
    assert plan("covid", "--discard", "--by", "mina") == {"release": 1, "discarded": True}
    assert not AuditPlan.objects.exists() and Event.objects.get(verb="audit.discarded").actor == ward.mia
    assert plan("covid", "--discard", "--by", "mina") == "none"
    made = plan("covid", "--strata", "language", "--planted", "20%", "--bound", "0.2")
    assert set(made["strata"]) == {"en", "it"} and made["target"] == 0.2
    assert made["planted"] is None and made["planted_found"] is None and made["recall"] is None
    next_note(plan=AuditPlan.objects.get(), user=ward.rev)
    assert plan("covid", "--discard", "--by", "mina") == "begun"
