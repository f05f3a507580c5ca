"""The commands audit_plan, audit_note and audit_leaks: from the plan to a decision about a leak."""

from annotations.models import AuditPlan
from annotations.release.services.audits.reading import next_note
from tests.worlds.audited import read_one
from tests.worlds.commands import answered, printed


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
    made = plan("covid", "--strata", "language", "--planted", "20%", "--bound", "0.2")
    assert set(made["strata"]) == {"en", "it"} and made["target"] == 0.2
    assert made["planted"] is None and made["planted_found"] is None and made["recall"] is None
    assert plan("covid", "--discard", "--by", "rita") == "access"
    next_note(plan=AuditPlan.objects.get(), user=ward.rev)
    assert plan("covid", "--discard", "--by", "mina") == "begun"
