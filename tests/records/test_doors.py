"""Pages and routes of records, from the schema that two people need to the exported file."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotations.core.stored_files import open_stored
from annotations.jobs.runner import run as work
from annotations.models import Event, Job, Membership, Project, Record, RecordSchema, Release, StoredFile
from annotations.ops.services.erasing import erase_patient
from annotations.records.services.files import deidentify_file
from annotations.records.services.schemas import add_schema
from annotations.release.services.exporting import withdraw
from tests.factories import make_member, make_note, reread
from tests.records.world import FLAT, LISTING_1, LISTING_2, STRINGS, VISIT, active, label_strings, saved, ward
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.pages import signed_in
from tests.worlds.programs import Program
from tests.worlds.queue import worked


def page(name, *parts):
    return reverse(name, args=["ward", *parts])


@pytest.fixture
def project(db):
    return ward()


@pytest.fixture
def mia(project):
    return make_member(project, "manager", "mia")


def upload(text):
    return SimpleUploadedFile("in.ndjson", text.encode())


def test_a_schema_needs_a_second_person_and_its_changes_are_shown(project, mia):
    other = make_member(project, "manager", "noa")
    client = signed_in(mia)
    assert "No schemas yet" in check_page(client.get(page("record_schemas")))
    html = check_page(client.get(page("records")))
    assert "No schema is active" in html and 'type="file"' not in html
    assert client.post(page("record_schemas"), {}).status_code == 422
    answer = client.post(page("record_schemas"), {"file": upload(LISTING_1)})
    first = RecordSchema.objects.get()
    assert answer["Location"] == page("record_schema", first.pk) and first.state == "draft"
    assert "a missing comma was added" in check_page(client.get(answer["Location"]))
    assert "No field stays as it is" in check_page(client.get(answer["Location"]))
    client.post(answer["Location"], {"act": "review"})
    client.post(answer["Location"], {"act": "activate"})
    assert RecordSchema.objects.get().state == "draft", "who added it can't review it"
    assert client.post(answer["Location"], {}).status_code == 404
    again = signed_in(other)
    again.post(answer["Location"], {"act": "review"})
    again.post(answer["Location"], {"act": "activate"})
    assert (reread(first).state, first.reviewed_by, first.created_by) == ("active", other, mia)
    api = Program(mia)
    changed = json.dumps(first.schema | {"recordVersion": "2.0"})
    added = api.post("/projects/ward/record-schemas", {"text": changed}).json()
    assert added["number"] == 2 and {"path": "recordVersion", "before": "1.0", "after": "2.0"} in added["changes"]
    assert api.post(f"/projects/ward/record-schemas/{added['id']}/activate").status_code == 409
    assert api.post("/projects/ward/record-schemas", {"text": "{}"}).status_code == 422
    field = '{"dataType": "t", "type": "object", "properties": {"a": {"rule": "pass", "%s": %s}}}'
    nested = "{}"
    for _level in range(300):
        nested = f'{{"dataType": "t", "type": "object", "properties": {{"a": {nested}}}}}'
    for wrong in (
        field % ("minimum", "NaN"), field % ("minimum", "1e999"), field % ("minimum", "9" * 5000),
        field % ("\\u0000", 1), field % ("\\ud800", 1), "x = " + "[" * 100_000, nested,
        field.replace('"t"', '"t", "language": "british english"') % ("minimum", 1),
        field.replace('"t"', '"t", "$schema": 5') % ("minimum", 1),
        field.replace('"t"', '"t", "absent": 5') % ("minimum", 1),
        field.replace('"t"', '"t", "$defs": {"b": {"items": {"$ref": "#/$defs/b"}}}') % ("minimum", 1),
    ):  # fmt: skip
        assert api.post("/projects/ward/record-schemas", {"text": wrong}).status_code == 422, wrong[:200]
    assert api.post("/projects/ward/record-schemas", {"text": field % ("fhir", "[1]")}).status_code == 201
    assert "data-changed" in check_page(again.get(page("record_schema", added["id"])))


def test_a_manager_who_works_alone_reviews_the_own_schema_and_the_certificate_says_so(project, mia, tmp_path):
    client, api = signed_in(mia), Program(mia)
    schema = add_schema(project=project, text=json.dumps(FLAT), actor=mia)
    here, route = page("record_schema", schema.pk), f"/projects/ward/record-schemas/{schema.pk}/review"
    assert 'value="review"' not in check_page(client.get(here)) and api.post(route).status_code == 409
    Project.objects.update(distribution=Project.Distribution.MANAGERS)
    other = make_member(project, "manager", "noa")
    assert 'value="review"' not in check_page(client.get(here)) and api.post(route).status_code == 409
    Membership.objects.filter(user=other).update(active=False)
    assert 'value="review"' in check_page(client.get(here))
    client.post(here, {"act": "review"})
    client.post(here, {"act": "activate"})
    assert (reread(schema).state, schema.reviewed_by, schema.created_by) == ("active", mia, mia)
    assert list(Event.objects.filter(verb__startswith="record_schema").values_list("actor", flat=True)) == [mia.pk] * 3
    assert "data-one-person" in check_page(client.get(here))
    source, certificate = saved(tmp_path / "in.ndjson", [VISIT]), tmp_path / "certificate.json"
    answered("deid_records", "ward", source, tmp_path / "out.ndjson", "--type", "visit", "--certificate", certificate)
    manifest = json.loads((tmp_path / "out.ndjson.manifest.json").read_text())
    content = json.loads(certificate.read_text())["certificate"]
    assert [one["one_person"] for one in manifest["schemas"]] == ["mia"]
    assert [one["one_person"] for one in content["data"]["records"]["schemas"]] == ["mia"]
    risks = [one["text"] for one in content["governance"]["risks"]]
    assert any("mia, both added and reviewed the schema visit 1" in one for one in risks), risks


def test_a_file_waits_is_reviewed_released_and_exported(project, mia):
    active(project, LISTING_1)
    client = signed_in(mia)
    source = upload(json.dumps(LISTING_2) + '\n{}\n{"a": 1}\n')
    sent = {"file": source, "data_type": "clinicalRecord", "policy": "mask:1"}
    answer = client.post(page("records"), sent)
    job = Job.objects.get()
    assert answer["Location"] == page("job", job.number)
    worked(job)
    assert (job.result["waiting"], job.result["records"], job.result["refused"]) == (1, 1, 1), job.error
    check_page(client.get(answer["Location"]))
    record = Record.objects.select_related("document").get()
    html = check_page(client.get(page("records")))
    assert 'data-waiting="1"' in html and 'data-ready="0"' in html and "Run a model" in html
    assert "waits" in check_page(client.get(page("record", record.pk)))
    direct = Release.objects.get()
    assert (direct.number, direct.note_count) == (job.result["release"], 0), "the record without free text"
    html = check_page(client.get(page("release", direct.number)))
    assert "No notes" in html and "schemas" not in html.partition('id="release"')[2].partition("</div>")[0]
    assert "export-title" not in html and reverse("certificate_sign", args=["ward", direct.number]) in html
    check_page(client.get(page("certificate_sign", direct.number)))
    assert client.post(page("release_export", direct.number), {"format": "text"}).status_code == 302
    client.post(page("record_release"), {"policy": "mask:1"})
    assert Release.objects.count() == 1, "nothing is ready"
    label_strings(record.document, STRINGS)
    answer = client.post(page("record_release"), {"policy": "mask:1"})
    release = Release.objects.exclude(pk=direct.pk).get()
    work(release.job_id)
    assert answer["Location"] == page("release", release.number) and release.note_count == 1
    check_page(client.get(page("records")))
    shown = check_page(client.get(page("record", record.pk)))
    assert "presented to [HOSPITAL]" in shown and "123456789" in shown
    client.post(page("record_export", release.number))
    job = worked(Job.objects.get(kind="records_export"))
    content = open_stored(StoredFile.objects.get(pk=job.result["file_id"])).read()
    assert job.result["records"] == 1 and b"records.ndjson.manifest.json.sig" in content
    assert Program(mia).get("/projects/ward/records").json()["items"] == []
    withdraw(release=direct, actor=mia)
    assert StoredFile.objects.count() == 1, "the export of the other release stays"
    erase_patient(project=project, patient_id="123456789", actor=mia)
    assert not Record.objects.exists() and not StoredFile.objects.exists()
    result = Job.objects.get(kind="records").result
    assert result["refused"] == 1 and "line 3" not in str(result), "the row may have been the patient's"


def test_a_file_that_is_sent_twice_is_read_once(project, mia):
    active(project, LISTING_1)

    def sent(record=LISTING_2):
        source = upload(json.dumps(record | {"note": ""}))
        form = {"file": source, "data_type": "clinicalRecord", "policy": "mask:1"}
        return signed_in(mia).post(page("records"), form)["Location"]

    first = sent()
    assert sent() == first and StoredFile.objects.count() == 1
    assert sent(LISTING_2 | {"MRN": "1"}) != first
    worked(Job.objects.order_by("pk")[0])
    assert sent() != first, "as after a review"


def test_a_patient_who_is_erased_before_the_new_file_is_stored_is_in_no_file(project, mia, monkeypatch):
    active(project, LISTING_1)
    make_note(project, patient_id="123456789")

    def slow(**about):
        report = deidentify_file(**about)
        erase_patient(project=project, patient_id="123456789", actor=mia)
        return report

    monkeypatch.setattr("annotations.records.jobs.deidentify_file", slow)
    source = upload(json.dumps(LISTING_2 | {"note": ""}))
    sent = {"file": source, "data_type": "clinicalRecord", "policy": "mask:1"}
    signed_in(mia).post(page("records"), sent)
    job = worked(Job.objects.get())
    assert job.state == "failed" and not StoredFile.objects.exists()


def test_in_a_project_that_lets_runs_decide_a_read_record_is_ready(project, mia, tmp_path):
    active(project, LISTING_1)
    api, client = Program(mia), signed_in(mia)
    record = LISTING_2 | {"note": "Phone: (650) 555-1234."}
    source = saved(tmp_path / "in.ndjson", [record])
    command = ["deid_records", "ward", source, tmp_path / "out.ndjson", "--type", "clinicalRecord", "--run", "rules"]
    assert answered(*command)["waiting"] == 1
    html = client.get(page("records")).content.decode()
    assert 'data-ready="0"' in html and "selected>run:" not in html
    assert api.post("/projects/ward/records/release", {}).status_code == 409
    assert api.patch("/projects/ward/settings", {"runs_decide": True}).json()["runs_decide"]
    html = check_page(client.get(page("records")))
    assert 'data-ready="1"' in html and "selected>run:rules-1" in html
    assert api.post("/projects/ward/records/release", {}).json()["records"] == 1
    withdraw(release=Release.objects.get(), actor=mia)
    command[3] = tmp_path / "later.ndjson"
    assert answered(*command)["records"] == 1
    assert "run:rules-1" in Release.objects.order_by("number").last().set_spec
