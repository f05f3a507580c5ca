"""Releases through the API alone: from the choice of annotations to the signed certificate and the exported files."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotations.models import Event, Job, LeakFinding
from annotations.text.names import MAX_ID
from tests.worlds.commands import told
from tests.worlds.programs import Program
from tests.worlds.queue import worked
from tests.worlds.released import make_clinic
from tests.zips import unzipped

RELEASES = "/projects/covid/releases"
TERMS = {"purpose": "A study of visits", "recipient": "University of Nowhere"}


@pytest.fixture
def ward(db, no_redis):
    made = make_clinic()
    made.program = Program(made.mia)
    return made


def done(job: int) -> Job:
    """Do the job with this number, as a worker does. Return it."""
    found = Job.objects.get(project__slug="covid", number=job)
    return worked(found)


def expiry() -> str:
    return (timezone.localdate() + timedelta(days=365)).isoformat()


def body_of(response) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_from_the_annotations_to_the_certificate_and_the_files(ward, tmp_path):
    api = ward.program
    choices = api.get(f"{RELEASES}/choices").json()
    assert choices["sets"] == ["gold"] and "mask" in choices["policies"] and "brat" in choices["formats"]
    preview = api.get(f"{RELEASES}/preview?set=gold&policy=mask").json()
    assert preview["released"].startswith("[PATIENT], [AGE] anni") and preview["total"] == 3
    assert [preview["released"][leak["start"] : leak["end"]] for leak in preview["leaks"]] == ["Rossi"]

    started = api.post(RELEASES, {"sets": ["gold"], "policy": "mask", **TERMS, "expires_on": expiry()})
    release = started.json()
    assert (started.status_code, release["state"], release["notes"]) == (202, "preparing", 3)
    assert started.headers["Location"] == f"/api/v1/projects/covid/jobs/{release['job']}"
    one = f"{RELEASES}/{release['number']}"
    assert done(release["job"]).state == "done"
    assert api.get(one).json()["findings"] == {"found": 3, "replaced": 0, "allowed": 0, "open": 3}

    assert api.post(f"{one}/export", {"format": "brat"}).json()["code"] == "held"
    findings = api.get(f"{one}/findings?state=open").json()["items"]
    assert sorted(finding["marked"] for finding in findings) == ["Rossi", "Rossi", "Torino"]
    assert {finding["origin"] for finding in findings} == {"note", "patient"}
    rossi = next(finding["string"] for finding in findings if finding["marked"] == "Rossi")
    for largest in (MAX_ID, -MAX_ID):
        LeakFinding.objects.filter(string_key=rossi).update(string_key=largest)
        rossi = str(largest)
    assert api.post(f"{one}/findings/decide", {"answer": "replace", "string": f"{MAX_ID + 1}"}).status_code == 422
    decided = api.post(f"{one}/findings/decide", {"answer": "replace", "string": rossi}).json()
    assert (decided["changed"], decided["open_findings"]) == (2, 1)
    decided = api.post(f"{one}/findings/decide", {"answer": "replace", "all": True}).json()
    assert (decided["changed"], decided["open_findings"], decided["state"]) == (1, 0, "prepared")
    texts = {row["note"]: api.get(f"{one}/notes/{row['note']}").json()["text"] for row in findings}
    decided = api.get(f"{one}/findings?state=decided").json()["items"]
    assert {texts[row["note"]][row["start"] : row["end"]] for row in decided} == {"[PATIENT]", "[CITY]"}
    note = api.get(f"{one}/notes").json()["items"][0]
    released = api.get(f"{one}/notes/{note['note']}").json()
    assert "Rossi" in released["original"] and "Rossi" not in released["text"]
    span = released["released_spans"][0]
    assert released["text"][span["start"] : span["end"]] == "[PATIENT]"

    risks = api.get(f"{one}/certificates/draft").json()["risks"]
    refused = api.post(f"{one}/certificates", {**TERMS, "expires_on": expiry()})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "accepted")
    accepted = {"accepted": [risk["key"] for risk in risks], "own_risks": ["A rare disease"]}
    signed = api.post(f"{one}/certificates", {**TERMS, "expires_on": expiry(), **accepted})
    assert (signed.status_code, signed.json()["number"], signed.json()["notes"]) == (201, 1, 3)
    assert api.get(one).json()["state"] == "signed"
    assert [row["number"] for row in api.get(f"{one}/certificates").json()] == [1]

    job = done(api.post(f"{one}/export", {"format": "brat"}).json()["number"])
    result = api.get(f"/projects/covid/jobs/{job.number}").json()["result"]
    assert [file["id"] for file in api.get(one).json()["files"]] == [result["file_id"]]
    archive = body_of(api.get(f"/projects/covid/files/{result['file_id']}"))
    assert b"Rossi" not in b"".join(unzipped(archive).values())

    for ending in ("json", "pdf"):
        certificate = body_of(api.get(f"{one}/certificates/1.{ending}"))
        (tmp_path / f"certificate.{ending}").write_bytes(certificate)
        (tmp_path / "release.zip").write_bytes(archive)
        words = (tmp_path / f"certificate.{ending}", "--release", tmp_path / "release.zip")
        assert told("verify_certificate", *words)["verified"]
        files = {"certificate": (f"certificate.{ending}", certificate), "release": ("release.zip", archive)}
        files = {name: SimpleUploadedFile(*file) for name, file in files.items()}
        verified = api.upload("/certificates/verify", files).json()
        assert verified["verified"] and (verified["release"], verified["certificate"]) == (1, 1)
        assert {check["check"] for check in verified["checks"]} >= {"signature", "key", "texts", "spans"}
    assert verified["key"] == api.get("/certificates/keys").json()[0]["fingerprint"]
    verbs = set(Event.objects.filter(project_id=ward.project.pk).values_list("verb", flat=True))
    assert {"release.started", "release.decided", "release.signed", "release.exported"} <= verbs
    assert {"certificate.downloaded", "file.downloaded"} <= verbs

    withdrawn = api.post(f"{one}/withdraw").json()
    assert (withdrawn["state"], withdrawn["files"]) == ("withdrawn", [])
    gone = api.get(f"/projects/covid/files/{result['file_id']}")
    assert gone.status_code == 404 and "withdrawn" in gone.json()["detail"]
