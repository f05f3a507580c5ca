"""Audits by pages, commands and the API: who sees what, planning, reading, deciding."""

import re
from unittest.mock import patch

import pytest
from django.urls import reverse

from annotations.core.services import NOTE_READ
from annotations.models import AuditMark, AuditNote, AuditPlan, Event, ReleasedNote, ReleasePolicy
from annotations.release.selectors import audits
from annotations.release.selectors.audits import shown_of
from annotations.release.services.audits.reading import next_note, reading_note
from tests.worlds.audited import TEXT, planned, read_one
from tests.worlds.checks import check_page
from tests.worlds.commands import answered, printed
from tests.worlds.programs import Program

CHOICES = {"target": "10", "confidence": "95", "by": "", "planted": "0", "leaks": "0"}


def url(name, *args):
    return reverse(name, args=["covid", 1, *args])


def test_reviewers_audit_and_managers_plan_and_decide(ward, sign_in):
    rev, mia = sign_in(ward.rev), sign_in(ward.mia)
    assert url("audit_start") not in check_page(rev.get(url("release_audit")))
    assert rev.post(url("audit_next")).url == url("release_audit")
    proposed = mia.get(url("release_audit")).context
    assert (
        proposed["preview"].reachable and proposed["form"]["target"].value() == f"{100 * proposed['choices'].target:g}"
    )
    for _time in range(2):
        assert mia.post(url("audit_start"), CHOICES).url == url("release_audit")
    assert AuditPlan.objects.get().drawn == 18 and mia.post(url("audit_start"), {}).status_code == 422
    for user, status, leaks in ((ward.ann, 403, 403), (ward.rev, 200, 403), (ward.mia, 200, 200)):
        assert sign_in(user).get(url("release_audit")).status_code == status
        assert sign_in(user).get(url("audit_leaks")).status_code == leaks
    assert url("audit_discard") in check_page(mia.get(url("release_audit")))
    for _time in range(2):
        mia.post(url("audit_discard"))
        assert not AuditPlan.objects.exists()


def test_auditors_see_no_bound_while_they_read(ward, sign_in):
    plan = planned(ward.release, leaks=1, target=0.15, planted=0.2)
    for number in range(sum(plan.looks[0].values())):
        read_one(plan, ward.rev, *(["Bianchi"] if number == 0 else []))
    assert plan.state == "open"
    auditor, manager = (check_page(sign_in(user).get(url("release_audit"))) for user in (ward.rev, ward.mia))
    assert "confidence" not in auditor and "You have read" in auditor
    # The only planted leak was missed, so that the auditors may have missed any share of leaks.
    assert "no upper bound of the share of notes with a leak (95% confidence)" in manager
    # Not even managers see planted leaks: they may read, too.
    assert "Planted leaks found" not in auditor + manager


def test_the_page_of_a_release_reads_its_audit_once(ward, sign_in):
    planned(ward.release)
    with patch.object(audits, "result_of", wraps=audits.result_of) as read:
        assert "Ready to sign, but the audit is not finished" in check_page(sign_in(ward.mia).get(url("release")))
    assert read.call_count == 1


def test_a_note_is_read(ward, sign_in):
    audit = planned(ward.release)
    client = sign_in(ward.rev)
    assert client.get(url("audit_read")).url == url("release_audit")
    assert client.post(url("audit_next")).url == url("audit_read")
    html = check_page(client.get(url("audit_read")))
    text = re.sub(r"<[^>]+>", "", re.search(r'id="note".*?</section>', html, re.DOTALL)[0])
    assert "visto il [DATE] a [CITY] dal dott. Bianchi." in text and "Rossi" not in html
    assert Event.objects.filter(verb=NOTE_READ, data__what="audit").count() == 1
    at, replaced = (shown_of(reading_note(audit, ward.rev)).text.index(part) for part in ("Bianchi", "[DATE]"))
    right = {"note": 1, "start": at, "end": at + 7, "label": "DOCTOR"}
    wrong = [
        right | more
        for more in (
            {"start": "x"}, {"start": replaced, "end": replaced + 6}, {"note": 2}, {"label": "NONE"},
            {"end": 9999, "label": ""},
        )
    ]  # fmt: skip

    def sent(*changes):
        data = {"changes": changes, "person": ward.rev.pk}
        answer = client.post(url("audit_mark"), data, content_type="application/json").json()
        return [outcome and outcome["error"] for outcome in answer["outcomes"]], answer["parts"]

    assert sent(*wrong)[0] == ["malformed", "replaced", "gone", "label", "bounds"]
    assert not AuditMark.objects.exists()
    # Marks go in batches, each with its own outcome, and are removed by the bounds that the page shows.
    outcomes, parts = sent(right, wrong[0], right | {"label": "CITY"})
    assert outcomes == [None, "malformed", None] and AuditMark.objects.get().label == "CITY"
    assert "Leak: CITY" in parts["text"] and f'data-start="{at}"' in parts["marks"] and "Finish note" in parts["finish"]
    outcomes, parts = sent(right | {"label": ""})
    assert outcomes == [None] and not AuditMark.objects.exists() and "No leak" in parts["finish"]
    assert Event.objects.filter(verb=NOTE_READ, data__what="audit").count() == 1


# ── Commands ──────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    assert "bound: 0.1\n" in printed("audit_plan", "covid")


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


# The API: plan, read, mark, finish, decide. What auditors may not know stays hidden.


AUDIT = "/projects/covid/releases/1/audit"


@pytest.fixture
def audited(ward):
    ward.manager, ward.auditor = Program(ward.mia), Program(ward.rev, scope="write")
    return ward


def test_from_the_plan_to_the_decision(audited):
    manager, auditor = audited.manager, audited.auditor
    choices = {"target": 0.1, "planted": 0}
    preview = manager.get(f"{AUDIT}/preview?target=0.1&planted=0").json()
    assert manager.post(AUDIT, choices).json()["result"]["drawn"] == preview["looks"][-1]
    assert manager.post(AUDIT, choices).json()["code"] == "exists"

    note = auditor.post(f"{AUDIT}/next").json()
    assert auditor.get(f"{AUDIT}/note").json() == note
    assert {part["label"] for part in note["parts"]} == {"PATIENT", "DATE", "CITY"}
    start = note["text"].index("Bianchi")
    leak = {"note": note["note"], "start": start, "end": start + 7, "label": "DOCTOR"}
    mark = auditor.post(f"{AUDIT}/note/marks", leak).json()
    assert (mark["start"], mark["end"]) == (start, start + 7)
    assert auditor.post(f"{AUDIT}/note/marks", leak | {"label": "NONE"}).json()["errors"][0]["field"] == "label"
    wrong = auditor.post(f"{AUDIT}/note/marks", leak | {"start": 0, "end": 9})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "start")
    assert auditor.delete(f"{AUDIT}/note/marks/{mark['id']}").status_code == 204
    auditor.post(f"{AUDIT}/note/marks", leak)
    assert auditor.post(f"{AUDIT}/note/finish", {"note": note["note"] + 1}).json()["code"] == "gone"
    finished = auditor.post(f"{AUDIT}/note/finish", {"note": note["note"]}).json()
    assert (finished["mine"], finished["begun"]) == (1, False)

    assert auditor.get(f"{AUDIT}/leaks").status_code == 403
    (found,) = manager.get(f"{AUDIT}/leaks").json()["items"]
    assert (found["marked"], found["label"], found["decision"]) == ("Bianchi", "DOCTOR", "")
    manager.post(f"{AUDIT}/leaks/{found['mark']}/decide", {"answer": "dismiss"})
    (found,) = manager.get(f"{AUDIT}/leaks").json()["items"]
    assert (found["decision"], found["decided_by"]) == ("dismissed", "mina")


def test_auditors_learn_neither_the_result_nor_the_planted_leaks(audited):
    audited.manager.post(AUDIT, {"target": 0.1, "planted": 0.5})
    planted = AuditNote.objects.exclude(planted_start=None).order_by("position").first()
    AuditNote.objects.filter(position__lt=planted.position).delete()
    # All masks have the number 2, as beside a first entity that is planted.
    policy, released = planted.plan.release.policy, planted.note
    ReleasePolicy.objects.filter(pk=policy.pk).update(
        rules={code: rule | {"numbered": True} for code, rule in policy.rules.items()}
    )
    pieces = [[*one[:2], one[2] + 2 * at, one[3] + 2 * at + 2, *one[4:]] for at, one in enumerate(released.pieces)]
    ReleasedNote.objects.filter(pk=released.pk).update(pieces=pieces, text=released.text.replace("]", " 2]"))
    note = audited.auditor.post(f"{AUDIT}/next").json()
    assert note["note"] == planted.position and note["text"].count(" 1]") == 2 and " 2]" not in note["text"]
    shown = TEXT[planted.planted_start : planted.planted_end]
    assert shown in note["text"]
    # The planted identifier looks like text that the release left as it was.
    at = note["text"].index(shown)
    assert not any(part["start"] <= at < part["end"] for part in note["parts"]) and "planted" not in str(note)
    assert audited.auditor.get(AUDIT).json()["result"] is None
    manager = audited.manager.get(AUDIT).json()["result"]
    assert (manager["planted"], manager["planted_found"], manager["recall"]) == (None, None, None)
