"""Certificates by API and pages."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template import Context, Template
from django.urls import reverse
from django.utils import timezone

from annotations.core.access import enter
from annotations.models import Certificate, Event, Job, LeakFinding, Release, SigningKey
from annotations.ops.services.erasing import erase_patient
from annotations.release.events import CERTIFICATE_DOWNLOADED
from annotations.release.rules.certificates.signatures import MOST_BYTES
from annotations.release.services.exporting import export_release_to_path
from annotations.release.services.steps import state_of
from annotations.text.names import MAX_ID
from tests.release.certificates.test_signing import finding, signed
from tests.worlds.checks import check_page
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
    return worked(Job.objects.get(project__slug="covid", number=job))


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


# ── Pages: signing, downloading, verifying, and the public keys ──


SIGN = reverse("certificate_sign", args=["covid", 1])
VERIFY = reverse("certificate_verify")
KEYS = reverse("signing_keys")
EXPIRES = (timezone.localdate() + timedelta(days=30)).isoformat()
FORM = {"purpose": "Teaching", "recipient": "University of Milan", "expires_on": EXPIRES, "own_risks": ""}


def keys_in(html):
    return [part.split('"')[0] for part in html.split('name="risk"')[1:] for part in [part.split('value="')[1]]]


def test_signing_lists_the_risks_and_signs(released, sign_in):
    client = sign_in(released.mia)
    keys = keys_in(check_page(client.get(SIGN)))
    assert len(keys) == 4
    response = client.post(SIGN, FORM | {"risk": keys[:1]})
    html = check_page(response)
    assert response.status_code == 422 and "University of Milan" in html and html.count(" checked") == 1
    for wrong in ({"purpose": ""}, {"recipient": ""}, {"expires_on": ""}, {"expires_on": "2020-01-01"}):
        assert client.post(SIGN, FORM | {"risk": keys} | wrong).status_code == 422
    assert not Certificate.objects.exists()
    form = FORM | {"risk": keys, "own_risks": "Rare diseases\nNames of drugs"}
    assert [client.post(SIGN, form).status_code for _click in range(2)] == [302, 302]
    release = Release.objects.get(pk=released.release.pk)
    assert [risk["text"] for risk in release.risks][4:] == ["Rare diseases", "Names of drugs"]
    assert Certificate.objects.count() == 1
    assert keys_in(check_page(client.get(SIGN))) == [], "they are accepted already"


def test_the_page_verifies_a_certificate_with_its_release(released, sign_in, tmp_path):
    certificate = signed(released)
    packed = tmp_path / "out.zip"
    release = Release.objects.get(pk=released.release.pk)
    export_release_to_path(release=release, out=packed, format="brat")
    client = sign_in(released.out)
    release = SimpleUploadedFile("r.zip", packed.read_bytes())
    files = {"certificate": SimpleUploadedFile("c.pdf", bytes(certificate.pdf)), "release": release}
    html = check_page(client.post(VERIFY, files))
    assert "The certificate is verified" in html and "Certificate 1 of release 1." in html
    # The page names the zip file and its fields, where the command names the folder and its options.
    assert "folder" not in html and "--key" not in html
    changed = bytes(certificate.json).replace(b"Teaching", b"Teachinh")
    html = check_page(client.post(VERIFY, {"certificate": SimpleUploadedFile("c.json", changed)}))
    assert "The certificate is not verified" in html and "changed after signing" in html
    for wrong in (
        {},
        {"certificate": SimpleUploadedFile("c", b"{}"), "release": SimpleUploadedFile("r", b"no zip")},
        {"certificate": SimpleUploadedFile("c", b"{}"), "key": "12"},
        {"certificate": SimpleUploadedFile("c", b"x" * (MOST_BYTES + 1))},
    ):
        response = client.post(VERIFY, wrong)
        assert response.status_code == 422 and "Nothing was verified." in check_page(response)


def test_public_keys_are_listed_and_downloaded(released, sign_in):
    client = sign_in(released.out)
    check_page(client.get(KEYS))
    signed(released)
    fingerprint = check_page(client.get(KEYS)).split("<code>")[1].split("<")[0]
    response = client.get(reverse("signing_key_pem", args=[fingerprint]))
    assert response.content.startswith(b"-----BEGIN PUBLIC KEY-----")
    assert bytes(SigningKey.objects.get().sealed) not in response.content
    assert client.get(reverse("signing_key_pem", args=["0" * 64])).status_code == 404


def section(world, person):
    access = enter(person, "covid")
    release = Release.objects.get(pk=world.release.pk)
    context = Context({"access": access, "release": release, "signing": state_of(access, release)})
    return Template('{% include "release/certificates/section.html" %}').render(context)


def test_the_section_of_the_release_page(released, sign_in):
    assert SIGN in section(released, released.mia) and SIGN not in section(released, released.rev)
    one = finding(released)
    assert "1 finding waits" in section(released, released.mia)
    assert "waits for a decision" in sign_in(released.mia).get(SIGN, follow=True).content.decode()
    one.delete()
    signed(released)
    html = section(released, released.mia)
    assert reverse("certificate_pdf", args=["covid", 1, 1]) in html and "supersedes it" not in html
    erase_patient(project=released.project, patient_id="P-0001", actor=released.mia)
    html = section(released, released.mia)
    assert "2 notes; patients: 1" in html and "supersedes it" in html
    for state in ("preparing", "withdrawn"):
        Release.objects.filter(pk=released.release.pk).update(state=state)
        assert SIGN not in section(released, released.mia)


def test_downloads_are_the_same_bytes_every_time(released, sign_in):
    certificate = signed(released)
    client = sign_in(released.rev)
    for format in ("json", "pdf"):
        url = reverse(f"certificate_{format}", args=["covid", 1, 1])
        first, second = client.get(url), client.get(url)
        assert first.content == second.content == bytes(getattr(certificate, format))
        assert first.headers["Content-Disposition"] == f'attachment; filename="release-1-certificate-1.{format}"'
        event = Event.objects.filter(verb=CERTIFICATE_DOWNLOADED).latest("pk")
        assert event.data == {"release": 1, "certificate": 1, "format": format}
        assert client.get(reverse(f"certificate_{format}", args=["covid", 1, 2])).status_code == 404
