"""Records in a feed: Singh et al. 2025, appendix A.9, and records without free text."""

import hashlib
import json
from datetime import date, timedelta

import pytest
from fhir.resources.R4B.bundle import Bundle

from annotations.core.services import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import (
    Certificate,
    Document,
    LeakFinding,
    PairCandidate,
    PublishedDecision,
    Record,
    Release,
    ReleasedNote,
    StoredFile,
)
from annotations.ops.services.erasing import erase_patient
from annotations.records.rules.fhir import RESOURCES
from annotations.records.services.releasing import start_record_release
from annotations.records.services.schemas import activate_schema, add_schema
from annotations.records.services.starting import start_record_export
from models_runtime.models import FeedFile, FeedNote
from tests.factories import reread
from tests.feeds.feed_world import FeedWorld, on, states
from tests.ops.test_erasing_everything import tables
from tests.records import fhir
from tests.records.world import FLAT, LISTING_1, LISTING_2, STRINGS, VISIT, active, label_strings, saved
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.pages import signed_in

DAY = date(2026, 3, 2)


def records_of(world: FeedWorld, folder: str) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((world.target / folder).glob("note-*.json"))]


def test_records_leave_through_a_part_of_their_own(feed_world: FeedWorld):
    feed = feed_world.add()
    active(feed_world.project, LISTING_1)
    active(feed_world.project, FLAT)
    other = VISIT | {"patient": "P-78", "name": "Anna Neri"}
    wrong = VISIT | {"weight": "heavy"}
    rows = [LISTING_2 | {"dataType": "clinicalRecord"}, VISIT | {"dataType": "visit"}, other | {"dataType": "visit"},
            wrong | {"dataType": "visit"}, VISIT | {"dataType": "visit", "status": "lost"}]  # fmt: skip
    feed_world.put("day.ndjson", "".join(json.dumps(one) + "\n" for one in rows))
    feed_world.put("broken.json", "{")
    with on(DAY):
        feed_world.run()
        assert states(feed) == {"read": 1, "released": 2}
        label_strings(FeedNote.objects.get(state="read").document, STRINGS)
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
    problems = [(one["where"], one["path"]) for one in quarantined["day.ndjson"].problems]
    assert problems == [("line 4", "/weight"), ("line 5", "/status")]
    html = check_page(signed_in(feed_world.mia).get(f"/projects/ward/feeds/{feed.pk}"))
    assert "Line 5 <code>/status</code>" in html and f"{quarantined['day.ndjson'].pk:06d}" in html
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


def test_a_record_of_a_feed_leaves_by_the_feed_alone(feed_world: FeedWorld):
    feed = feed_world.add()
    active(feed_world.project, LISTING_1)
    active(feed_world.project, FLAT)
    rows = [LISTING_2 | {"dataType": "clinicalRecord"}, VISIT | {"dataType": "visit"}]
    text = "".join(json.dumps(one) + "\n" for one in rows)
    feed_world.put("day.ndjson", text)
    feed_world.run()
    assert states(feed) == {"read": 1, "released": 1}
    label_strings(FeedNote.objects.get(state="read").document, STRINGS)
    (feed_world.root / "same.ndjson").write_text(text)
    result = answered("deid_records", "ward", feed_world.root / "same.ndjson", feed_world.root / "out.ndjson")
    # The visit has no free text, so that the command stores nothing of it, and finds nothing of the feed's.
    assert (result["records"], result["refused"], result["waiting"]) == (1, 1, 0)
    assert "A feed has this record" in result["problems"][0]["reason"]
    with pytest.raises(ServiceError, match="None of these records"):
        start_record_release(
            project=feed_world.project, policy=feed.policy, records=list(Record.objects.values_list("pk", flat=True)),
            actor=feed_world.mia,
        )  # fmt: skip
    feed_world.run()
    assert states(feed) == {"released": 2}


def test_records_of_a_replaced_schema_are_taken_again(feed_world: FeedWorld):
    feed = feed_world.add()
    schema = json.loads(json.dumps(FLAT))
    schema["properties"]["note"] = {"type": "string", "rule": "auto"}
    active(feed_world.project, schema)
    feed_world.put("day.ndjson", json.dumps(VISIT | {"dataType": "visit", "note": "Nothing to see."}) + "\n")
    with on(DAY):
        feed_world.run()
        before = FeedNote.objects.get(state="read").document_id
        schema["properties"]["comment"]["rule"] = "auto"
        active(feed_world.project, schema)
        feed_world.run()
        note = FeedNote.objects.get()
        assert note.state == "read" and note.document_id != before and "stable" in note.document.text
        assert not Document.objects.filter(pk=before).exists() and Record.objects.get().schema.number == 2
        label_strings(note.document, {"Maria Rossi": "PATIENT"})
        del schema["properties"]["comment"]
        active(feed_world.project, schema)
        feed_world.run()
    assert states(feed) == {"refused": 1}, "the newest version doesn't declare a field"


def test_a_bundle_of_a_thousand_resources_comes_out_of_a_feed_valid(feed_world: FeedWorld):
    feed = feed_world.add("--policy", "safe-harbor")
    for name in RESOURCES:
        activate_schema(schema=add_schema(project=feed_world.project, text=f"shipped:{name}", actor=None), actor=None)
    resources = [fhir.patient(), *fhir.others(), *(fhir.observation(number) for number in range(993))]
    feed_world.put("bundle.json", json.dumps(fhir.bundle(resources)))
    with on(DAY):
        feed_world.run()
    assert states(feed) == {"released": 1}, FeedFile.objects.get().problems
    (found,) = records_of(feed_world, "2026-03-02-records-json")
    Bundle.model_validate(found)
    assert len(found["entry"]) == 1000
    assert not [word for word in ("Rossi", "pat-1", "Torino", "650 555", "A98765") if word in json.dumps(found)]


def test_a_wrong_field_beside_free_text_is_refused_before_it_is_stored(feed_world: FeedWorld, tmp_path):
    feed_world.add()
    fields = FLAT["properties"] | {"plan": {"type": "string", "rule": "auto"}}
    active(feed_world.project, FLAT | {"properties": fields})
    good = VISIT | {"dataType": "visit", "plan": "Come back soon."}
    wrong = [good | {"status": "gone"}, good | {"born": "last spring"}, good | {"seen": "2024-05-06"}]
    feed_world.put("day.ndjson", "".join(json.dumps(one) + "\n" for one in [good, *wrong]))
    feed_world.run()
    (file,) = FeedFile.objects.filter(state="quarantined", reason="records")
    wanted = [("line 2", "/status"), ("line 3", "/born"), ("line 4", "/seen")]
    assert [(one["where"], one["path"]) for one in file.problems] == wanted and Record.objects.count() == 1
    told = answered("deid_records", "ward", saved(tmp_path / "wrong.ndjson", wrong), tmp_path / "to.ndjson")
    assert (told["refused"], told["waiting"], Record.objects.count()) == (3, 0, 1)


def test_a_patient_in_records_feed_pairs_and_releases_is_erased_everywhere(feed_world: FeedWorld):
    project, patient, name = feed_world.project, "PAT-778899", "Quirina Testasecca"
    feed = feed_world.add()
    active(project, LISTING_1)
    active(project, FLAT)
    feed_world.put("patients.csv", f"name,patient_id\na,{patient}\n")
    feed_world.put("a.txt", f"{name} came back on 03/14/2019.\n")
    feed_world.put("day.ndjson", json.dumps(VISIT | {"dataType": "visit", "patient": patient, "name": name}) + "\n")
    with on(DAY):
        feed_world.run()
        label_strings(FeedNote.objects.get(record=False).document, {name: "PATIENT", "03/14/2019": "DATE"})
        feed_world.run()
    with on(DAY + timedelta(days=1)):
        feed_world.run()
    assert states(feed) == {"released": 2} and Certificate.objects.count() == 2
    letter = FeedNote.objects.get(record=False).document
    published = PublishedDecision.objects.create(
        project=project, name="p", sha256="0" * 64, text=f"OMISSIS came back. {name}", document=letter, state="paired"
    )
    PairCandidate.objects.create(published=published, document=letter, similarity=0.99)
    clinical = LISTING_2 | {"dataType": "clinicalRecord", "PatientId": patient, "note": f"{name}. Testasecca is well."}
    (feed_world.root / "in.ndjson").write_text(json.dumps(clinical) + "\n")
    for out in ("first", "second"):
        answered("deid_records", "ward", feed_world.root / "in.ndjson", feed_world.root / f"{out}.ndjson")
        record = Record.objects.get(has_text=True)
        if out == "first":
            label_strings(record.document, {name: "PATIENT"})
    assert reread(record).release is not None and LeakFinding.objects.filter(note__document=record.document).exists()
    work(start_record_export(release=record.release, actor=feed_world.mia).pk)
    assert StoredFile.objects.exists()
    erase_patient(project=project, patient_id=patient, actor=feed_world.mia)
    feed_world.run()
    for table in (Document, Record, ReleasedNote, LeakFinding, FeedNote, PublishedDecision, PairCandidate, StoredFile):
        assert not table.objects.exists(), table
    assert [table for table, row in tables() if any(word in row for word in ("Quirina", "Testasecca", patient))] == []
    assert [path.name for path in feed_world.target.rglob("*") if path.is_file()] == ["tombstones.jsonl"]
    assert [stone["reason"] for stone in feed_world.tombstones()] == ["erased"] * 3
    assert "note-" in (listed := (feed_world.target / "tombstones.jsonl").read_text()) and "Testasecca" not in listed
    assert Release.objects.filter(state="withdrawn").count() == 2, "the parts of the feed"
