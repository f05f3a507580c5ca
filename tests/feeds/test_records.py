"""Records in a feed: Singh et al. 2025, appendix A.9, and records without free text."""

import hashlib
import json
from datetime import date, timedelta

from annotations.models import Certificate, Record
from annotations.ops.services.erasing import erase_patient
from models_runtime.models import FeedFile, FeedNote
from tests.feeds.feed_world import FeedWorld, on, states
from tests.records.world import FLAT, LISTING_1, LISTING_2, STRINGS, VISIT, active, label_strings

DAY = date(2026, 3, 2)


def records_of(world: FeedWorld, folder: str) -> list[dict]:
    names = sorted((world.target / folder).glob("note-*.json"))
    return [json.loads(path.read_text()) for path in names]


def test_records_leave_through_a_part_of_their_own(feed_world: FeedWorld):
    feed = feed_world.add()
    active(feed_world.project, LISTING_1)
    active(feed_world.project, FLAT)
    other = VISIT | {"patient": "P-78", "name": "Anna Neri"}
    wrong = VISIT | {"weight": "heavy"}
    rows = [LISTING_2 | {"dataType": "clinicalRecord"}, VISIT | {"dataType": "visit"}, other | {"dataType": "visit"},
            wrong | {"dataType": "visit"}]  # fmt: skip
    feed_world.put("day.ndjson", "".join(json.dumps(one) + "\n" for one in rows))
    feed_world.put("broken.json", "{")
    with on(DAY):
        feed_world.run()
        assert states(feed) == {"read": 1, "released": 2}
        note = FeedNote.objects.get(state="read").document
        label_strings(note, STRINGS)
        feed_world.run()
    assert states(feed) == {"released": 3}
    records = records_of(feed_world, "2026-03-02-records-json")
    visits = [one for one in records if "weight" in one]
    assert len(records) == 3 and {one["name"] for one in visits} == {"[PATIENT]"} and visits[0]["weight"] == 61.5
    assert visits[0]["patient"] != "P-77" and len({one["patient"] for one in visits}) == 2
    (clinical,) = [one for one in records if "note" in one]
    assert not any(string in clinical["note"] for string in STRINGS if len(string) > 2)
    quarantined = {one.name: one for one in FeedFile.objects.filter(state="quarantined")}
    assert quarantined["broken.json"].reason == "refused"
    (problem,) = quarantined["day.ndjson"].problems
    assert (problem["where"], problem["path"]) == ("line 4", "/weight")
    for path in (feed_world.target / "2026-03-02-records-json").iterdir():
        path.rename(feed_world.root / path.name)  # The recipient takes the records away.
    with on(DAY + timedelta(days=1)):
        feed_world.run()
    listed = json.loads((feed_world.target / "2026-03-02-records-json" / "manifest.json").read_text())
    assert [hashlib.sha256((feed_world.root / one["name"]).read_bytes()).hexdigest() for one in listed["files"]] == [
        one["sha256"] for one in listed["files"]
    ]
    assert feed_world.verified("2026-03-02-records") and Certificate.objects.count() == 1
    patient = Record.objects.get(document__text__contains="Anna Neri").document.patient_id
    erase_patient(project=feed_world.project, patient_id=patient, actor=feed_world.mia)
    feed_world.run()
    assert {stone["file"].rpartition(".")[2] for stone in feed_world.tombstones()} == {"txt", "json"}
    assert feed_world.verified("2026-03-02-records") and Certificate.objects.count() == 2
    listed = json.loads((feed_world.target / "2026-03-02-records-json" / "manifest.json").read_text())
    assert (len(listed["files"]), listed["certificate"]) == (2, 2)
