"""Audits through the API: plan, read, mark, finish, decide. What auditors may not know stays hidden."""

import pytest

from annotations.models import AuditNote, ReleasedNote, ReleasePolicy
from tests.factories import make_project
from tests.worlds.audited import TEXT, audited_world
from tests.worlds.programs import Program

AUDIT = "/projects/ward/releases/1/audit"


@pytest.fixture
def audited(db):
    world = audited_world(make_project("ward"), notes=12)
    world.manager, world.auditor = Program(world.mia), Program(world.rev, scope="write")
    return world


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
