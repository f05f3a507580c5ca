"""Pages: signing, downloading, verifying, and the public keys."""

import io
import zipfile
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template import Context, Template
from django.urls import reverse
from django.utils import timezone

from annotations.certificates.events import CERTIFICATE_DOWNLOADED
from annotations.core.access import enter
from annotations.domain.certifying.risks import key_of
from annotations.domain.certifying.signatures import MOST_BYTES
from annotations.models import Certificate, Event, Release, SigningKey
from annotations.ops.services.erasing import erase_patient
from annotations.release.services.exporting import export_release_to_path
from tests.certificates.test_signing import finding, signed
from tests.worlds.checks import check_page

SIGN = reverse("certificate_sign", args=["covid", 1])
VERIFY = reverse("certificate_verify")
KEYS = reverse("signing_keys")
EXPIRES = (timezone.localdate() + timedelta(days=30)).isoformat()
FORM = {"purpose": "Teaching", "recipient": "University of Milan", "expires_on": EXPIRES, "own_risks": ""}


def keys_in(html):
    return [part.split('"')[0] for part in html.split('name="risk"')[1:] for part in [part.split('value="')[1]]]


def test_signing_lists_the_risks_and_signs(released, sign_in):
    client = sign_in(released.mia)
    html = check_page(client.get(SIGN))
    keys = keys_in(html)
    assert len(keys) == 2
    response = client.post(SIGN, FORM | {"risk": keys, "own_risks": "Rare diseases\nNames of drugs"})
    assert response.status_code == 302
    release = Release.objects.get(pk=released.release.pk)
    assert [risk["text"] for risk in release.risks][2:] == ["Rare diseases", "Names of drugs"]
    client.post(SIGN, FORM | {"risk": keys, "own_risks": "Rare diseases\nNames of drugs"})
    assert Certificate.objects.count() == 1


def test_a_form_that_misses_risks_keeps_what_was_typed(released, sign_in):
    client = sign_in(released.mia)
    keys = keys_in(client.get(SIGN).content.decode())
    response = client.post(SIGN, FORM | {"risk": keys[:1]})
    html = check_page(response)
    assert response.status_code == 422
    assert "University of Milan" in html and "autofocus" in html
    assert html.count(" checked") == 1
    assert not Certificate.objects.exists()


@pytest.mark.parametrize(
    "wrong", [{"purpose": ""}, {"recipient": ""}, {"expires_on": ""}, {"expires_on": "2020-01-01"}]
)
def test_every_field_is_required_and_the_last_day_is_to_come(released, sign_in, wrong):
    client = sign_in(released.mia)
    keys = keys_in(client.get(SIGN).content.decode())
    assert client.post(SIGN, FORM | {"risk": keys} | wrong).status_code == 422
    assert not Certificate.objects.exists()


def test_the_second_signature_names_who_accepted_before(released, sign_in):
    signed(released)
    html = check_page(sign_in(released.mia).get(SIGN))
    assert keys_in(html) == []


def test_a_release_with_open_findings_leads_back_with_the_reason(released, sign_in):
    finding(released)
    response = sign_in(released.mia).get(SIGN, follow=True)
    assert "waits for a decision" in response.content.decode()


@pytest.mark.parametrize("format", ["json", "pdf"])
def test_downloads_are_the_same_bytes_every_time(released, sign_in, format):
    certificate = signed(released)
    url = reverse(f"certificate_{format}", args=["covid", 1, 1])
    client = sign_in(released.rev)
    first, second = client.get(url), client.get(url)
    assert first.content == second.content == bytes(getattr(certificate, format))
    assert first.headers["Content-Disposition"] == f'attachment; filename="release-1-certificate-1.{format}"'
    event = Event.objects.filter(verb=CERTIFICATE_DOWNLOADED).first()
    assert event.data == {"release": 1, "certificate": 1, "format": format}
    assert sign_in(released.vic).get(url).status_code == 403
    assert sign_in(released.out).get(url).status_code == 404
    assert client.get(reverse(f"certificate_{format}", args=["covid", 1, 2])).status_code == 404


def upload(name, data):
    return SimpleUploadedFile(name, data)


def test_the_page_verifies_a_certificate_with_its_release(released, sign_in, tmp_path):
    certificate = signed(released)
    packed = tmp_path / "out.zip"
    export_release_to_path(
        release=Release.objects.get(pk=released.release.pk), out=packed, format="brat", leave_out=True
    )
    client = sign_in(released.out)
    files = {"certificate": upload("c.pdf", bytes(certificate.pdf)), "release": upload("r.zip", packed.read_bytes())}
    html = check_page(client.post(VERIFY, files))
    assert "The certificate is verified" in html and "Certificate 1 of release 1." in html
    assert "The spans of all notes are the certified ones." in html
    assert "release.json" in html and "The zip file has as many notes as the certificate covers: " in html
    assert "folder" not in html and "--key" not in html


def test_the_page_names_the_zip_file_and_its_fields_where_a_check_fails(released, sign_in):
    data = bytes(signed(released).json)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("keys.doc", "x")
    files = {"certificate": upload("c.json", data), "release": upload("r.zip", packed.getvalue()), "key": "0" * 64}
    html = check_page(sign_in(released.mia).post(VERIFY, files))
    assert "The zip file holds files that belong to no released note." in html and "in the zip file: 0." in html
    assert "enter it as the fingerprint of the issuer&#x27;s key" in html
    assert "folder" not in html and "--key" not in html


def test_the_page_says_what_is_wrong(released, sign_in):
    data = bytes(signed(released).json).replace(b"Teaching", b"Teachinh")
    html = check_page(sign_in(released.vic).post(VERIFY, {"certificate": upload("c.json", data)}))
    assert "The certificate is not verified" in html and "was changed after signing" in html


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({}, "This field is required"),
        ({"certificate": b"{}", "release": b"no zip"}, "not a readable zip"),
        ({"certificate": b"{}", "key": "12"}, "A fingerprint has 64"),
        ({"certificate": b"x" * (MOST_BYTES + 1)}, "too large for a certificate"),
    ],
)
def test_bad_uploads_are_explained(released, sign_in, files, error):
    data = {name: upload(name, value) if isinstance(value, bytes) else value for name, value in files.items()}
    response = sign_in(released.ann).post(VERIFY, data)
    html = check_page(response)
    assert response.status_code == 422 and error in html and "Nothing was verified." in html


def test_public_keys_are_listed_and_downloaded(released, sign_in):
    client = sign_in(released.out)
    assert "No key yet" in check_page(client.get(KEYS))
    signed(released)
    html = check_page(client.get(KEYS))
    fingerprint = html.split("<code>")[1].split("<")[0]
    response = client.get(reverse("signing_key_pem", args=[fingerprint]))
    assert response.content.startswith(b"-----BEGIN PUBLIC KEY-----")
    assert bytes(SigningKey.objects.get().sealed) not in response.content
    assert client.get(reverse("signing_key_pem", args=["0" * 64])).status_code == 404


def section(world, person):
    access = enter(person, "covid")
    release = Release.objects.get(pk=world.release.pk)
    context = Context({"access": access, "release": release})
    return Template('{% include "certificates/offers/release.html" %}').render(context)


def test_the_section_of_the_release_page(released):
    assert "Not signed yet" in section(released, released.mia) and SIGN in section(released, released.mia)
    assert SIGN not in section(released, released.rev)
    one = finding(released)
    assert "1 finding waits" in section(released, released.mia)
    one.delete()
    signed(released)
    html = section(released, released.mia)
    assert "Sign a new certificate" in html and reverse("certificate_pdf", args=["covid", 1, 1]) in html
    assert "supersedes it" not in html
    erase_patient(project=released.project, patient_id="P-0001", actor=released.mia)
    html = section(released, released.mia)
    assert "2 notes; patients: 1" in html and "Sign a new one, which supersedes it." in html


@pytest.mark.parametrize(("state", "text"), [("preparing", "when all notes are ready"), ("withdrawn", "withdrawn")])
def test_the_section_in_other_states(released, state, text):
    Release.objects.filter(pk=released.release.pk).update(state=state)
    html = section(released, released.mia)
    assert text in html and SIGN not in html


def test_risk_keys_are_of_the_text():
    assert key_of("a") != key_of("b") and len(key_of("a")) == 16
