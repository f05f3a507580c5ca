"""Signing a release that was audited: leaks that wait or were accepted, who read, and the steps of a release."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.models import AuditMark, AuditNote, AuditPlan, AuditPlanState, Event
from annotations.release.selectors.audits import shown_of
from annotations.release.services.audits.reading import decide_leak, finish, mark, next_note, reading_note
from annotations.release.services.certificates.people import readers_of
from annotations.release.services.certificates.signing import content_of, sign
from tests import factories as make
from tests.held import made_once
from tests.release.certificates.test_signing import TERMS, signed
from tests.worlds.audited import audited_world, planned, read_one
from tests.worlds.checks import check_page, refused

pytestmark = pytest.mark.usefixtures("no_redis")

RELEASE, SIGN = reverse("release", args=["covid", 1]), reverse("certificate_sign", args=["covid", 1])


def make_ward():
    return audited_world(make.make_project("covid", name="Covid ward", language="it"))


made, ward = made_once(make_ward)


@pytest.fixture
def leak(ward):
    """The audit has found a leak, and nobody has decided about it."""
    make.change(ward.mia, first_name="Mina", last_name="Neri")
    ward.plan = planned(ward.release)
    read_one(ward.plan, ward.rev, "Bianchi")
    return AuditMark.objects.select_related("note__plan__release__project", "note__note").get()


def steps(client):
    return {step.title: step for step in client.get(RELEASE).context["steps"]}


def test_undecided_leaks_are_refused_with_a_link(ward, leak, sign_in):
    for everything in (False, True):
        with refused("undecided"):
            sign(release=ward.release, terms=TERMS, accepted=(), actor=ward.mia, everything=everything)
    client, leaks = sign_in(ward.mia), reverse("audit_leaks", args=["covid", 1])
    assert client.get(SIGN).status_code == 302
    assert f'href="{leaks}"' in check_page(client.get(RELEASE)).split('id="certificate-title"')[1]
    step = steps(client)["Audit a sample"]
    assert (step.page, step.action, step.done) == ("audit_leaks", "Decide leaks", False)
    assert steps(client)["Sign"].page == ""


def test_the_page_reads_the_audit_once(ward, sign_in):
    planned(ward.release)
    with CaptureQueriesContext(connection) as queries:
        check_page(sign_in(ward.mia).get(SIGN))
    for table in ("annotations_auditplan", "annotations_auditnote"):
        assert sum(f'FROM "{table}"' in one["sql"] for one in queries) == 1, table


def test_accepted_leaks_are_stated_by_name(ward, leak):
    decide_leak(mark=leak, answer="accept", actor=ward.mia)
    content = content_of(signed(ward))
    audit = content["identifiability"]["audit"]
    at = leak.finding.__class__.objects.get().decided_at
    assert audit["accepted"] == [{"label": "DOCTOR", "by": "Mina Neri", "at": at.replace(microsecond=0).isoformat()}]
    risks = " ".join(risk["text"] for risk in content["governance"]["risks"])
    assert "Leaks of the audit that people left in the release: Mina Neri (1)." in risks


def test_who_read_what_counts_each_auditor_and_not_as_a_reader_of_originals(ward, sign_in):
    plan = planned(ward.release, planted=0.5)
    client = sign_in(ward.rev)
    client.post(reverse("audit_next", args=["covid", 1]))
    assert client.get(reverse("audit_read", args=["covid", 1])).status_code == 200
    for turn in range(plan.drawn):
        user = (ward.rev, ward.rev2)[turn % 3 == 0]
        taken = next_note(plan=plan, user=user)
        note = reading_note(plan, user)
        if taken.planted_start is not None and user == ward.rev:
            text = shown_of(note).text
            words = note.note.document.text[taken.planted_start : taken.planted_end]
            mark(note=note, start=text.index(words), end=text.index(words) + len(words), label="CITY", user=user)
        finish(note=note, user=user)
    done = AuditNote.objects.filter(plan=plan, state="done")
    part = content_of(signed(ward))
    readers = {(row["name"], row["what"]): row["notes"] for row in part["governance"]["readers"]}
    mine, theirs = (done.filter(reader=user).count() for user in (ward.rev, ward.rev2))
    assert readers == {("rita", "audited released notes"): mine, ("remo", "audited released notes"): theirs}
    auditors = {row["name"]: row for row in part["identifiability"]["audit"]["auditors"]}
    assert auditors["rita"]["read"] == mine and auditors["remo"]["read"] == theirs
    assert auditors["rita"]["found"] == auditors["rita"]["planted"] > 0
    assert auditors["remo"]["found"] == 0 < auditors["remo"]["planted"]
    # Opening the original of one of the notes counts, too.
    about = {"project_id": ward.project.pk, "document_id": done[0].note.document_id, "actor": ward.rev}
    Event.objects.create(verb="note.read", data={}, **about)
    rows = [(row["name"], row["what"], row["notes"]) for row in readers_of(ward.release, {})]
    assert ("rita", "saw text of the original notes", 1) in rows
    # So does a file with notes, but none with weights or released text.
    for actor, kind in ((ward.rev, "model"), (ward.rev2, "release"), (ward.mia, "export")):
        Event.objects.create(verb="file.downloaded", data={"kind": kind}, project_id=ward.project.pk, actor=actor)
    found = [row["name"] for row in readers_of(ward.release, {}) if row["what"].startswith("downloaded")]
    assert found == [ward.mia.username]
    managers = check_page(sign_in(ward.mia).get(reverse("release_audit", args=["covid", 1])))
    assert "Planted leaks found" in managers.split('id="auditors-title"')[1]
    answer, _folds, folded = managers.partition('<div class="card folds">')
    assert "of the notes" in answer and "<details>" not in answer.partition("<main")[2]
    assert folded.count("<details>") >= 3
    reviewers = check_page(sign_in(ward.rev).get(reverse("release_audit", args=["covid", 1])))
    assert "Recall" not in reviewers.split('id="auditors-title"')[1]


def test_the_steps_follow_the_audit(ward, sign_in):
    client = sign_in(ward.mia)
    found = steps(client)
    assert list(found) == ["Prepare the notes", "Check for leaks", "Audit a sample", "Sign", "Export"]
    assert (found["Audit a sample"].page, found["Audit a sample"].optional) == ("release_audit", True)
    assert found["Sign"].page == "certificate_sign"
    plan = planned(ward.release)
    read_one(plan, ward.rev)
    assert "1 of 18 notes" in steps(client)["Audit a sample"].text
    while plan.state == AuditPlanState.OPEN:
        read_one(plan, ward.rev)
    step = steps(client)["Audit a sample"]
    assert step.done and "10.0%" in step.text and "95%" in step.text
    plan.notes.update(state="waiting", reader=None)
    AuditPlan.objects.update(state="open")
    read_one(plan, ward.rev, "Bianchi")
    found = AuditMark.objects.select_related("note__plan__release__project").get()
    decide_leak(mark=found, answer="accept", actor=ward.mia)
    step = steps(client)["Audit a sample"]
    assert (step.done, step.page) == (False, "release_audit") and "The target of 10% was not met." in step.text
    signed(ward)
    step = steps(client)["Sign"]
    assert step.done and "Certificate 1" in step.text


def test_an_audit_with_notes_to_read_is_on_the_overview_of_reviewers(ward, sign_in):
    overview = reverse("project", args=["covid"])
    client = sign_in(ward.rev)
    assert "left to read in its audit" not in check_page(client.get(overview))
    plan = planned(ward.release)
    html = check_page(client.get(overview))
    assert "18 notes of release 1" in html and reverse("audits", args=["covid"]) in html
    assert f'"{reverse("releases", args=["covid"])}"' not in html
    while plan.state == AuditPlanState.OPEN:
        read_one(plan, ward.rev)
    assert "left to read in its audit" not in check_page(client.get(overview))
