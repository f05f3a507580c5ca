"""The command audit_plan: makes a plan, then shows it."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.audits.services.reading import next_note
from annotations.models import AuditPlan, Event
from tests.worlds.audited import read_one


def run(*arguments):
    out = io.StringIO()
    call_command("audit_plan", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_a_plan_and_its_progress(ward):
    made = run("covid", "--release", "1", "--bound", "10%", "--confidence", "95%", "--planted", "0%", "--by", "mina")
    assert made["made"] and made["notes"] == 40 and made["looks"] == [18] and made["bound"] is None
    assert AuditPlan.objects.get().created_by == ward.mia
    plan = AuditPlan.objects.get()
    for _note in range(18):
        read_one(plan, ward.rev)
    again = run("covid")
    assert not again["made"] and again["complete"] and again["state"] == "met" and again["bound"] == 0.1
    assert again["readers"] == {"rita": 18}
    out = io.StringIO()
    call_command("audit_plan", "covid", stdout=out)
    assert "At most 10.0% of the notes contain a leak (95% confidence)." in out.getvalue()


def test_strata_and_planted_leaks_stay_hidden(ward):
    made = run("covid", "--strata", "language", "--planted", "20%", "--bound", "0.2")
    assert set(made["strata"]) == {"en", "it"} and made["target"] == 0.2
    next_note(plan=AuditPlan.objects.get(), user=ward.rev)
    assert made["planted"] is None and made["planted_found"] is None and made["recall"] is None


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("covid", "--release", "7"), "release"),
        (("nowhere",), "project"),
        (("covid", "--bound", "few"), "share"),
        (("covid", "--bound", "300%"), "choices"),
    ],
)
def test_errors(ward, arguments, code):
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("audit_plan", *arguments, "--json", stdout=out)
    assert json.loads(out.getvalue())["code"] == code


def test_a_plan_is_discarded_until_somebody_reads(ward):
    run("covid", "--planted", "0%", "--bound", "10%", "--by", "mina")
    with pytest.raises(CommandError, match="doesn't have permission"):
        run("covid", "--discard", "--by", "rita")
    assert run("covid", "--discard", "--by", "mina") == {"release": 1, "discarded": True}
    assert not AuditPlan.objects.exists() and Event.objects.get(verb="audit.discarded").actor == ward.mia
    with pytest.raises(CommandError, match="has no audit"):
        run("covid", "--discard", "--by", "mina")
    run("covid", "--planted", "0%", "--bound", "10%", "--by", "mina")
    next_note(plan=AuditPlan.objects.get(), user=ward.rev)
    with pytest.raises(CommandError, match="Reading has begun"):
        run("covid", "--discard", "--by", "mina")
