"""Twenty ways to tamper with a certificate or with released files, each of which must be refused."""

import base64
import json
from datetime import date

import pytest

from annotations.domain.certifying.canonical import canonical
from annotations.domain.certifying.pdf import render
from annotations.domain.certifying.released_files import read_released
from annotations.domain.certifying.signatures import (
    CertificateError,
    fingerprint_of,
    open_certificate,
    public_of,
    signed_json,
    signed_pdf,
)
from annotations.domain.certifying.verifying import Known, State, verify
from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import OutNote
from annotations.domain.spans import Span
from tests.domain.certifying.sample import KEY, NOTES, OTHER, PRIVATE, content

TODAY = date(2026, 12, 1)
TRUSTED = Known(TODAY, {KEY}, has_records=True)
JSON = signed_json(content(), PRIVATE)
PDF = signed_pdf(render(JSON), PRIVATE)


def files(format="text"):
    codes = {"NAME": "NAME", "DATE": "DATE"}
    written = {}
    for name, (text, spans) in NOTES.items():
        note = OutNote(name, text, [Span(*span) for span in spans])
        written |= FORMATS[format].write(note, codes)[0]
    return written


def checked(data=JSON, found=None, known=TRUSTED):
    found = files() if found is None else found
    return verify(data, known, (sorted(found), found.__getitem__))


def failed(verdict):
    return {check.code for check in verdict.checks if check.state is State.FAILED}


def resigned(private=PRIVATE, **changes):
    return signed_json(content(**changes), private)


def edited(data, change):
    found = json.loads(data)
    change(found)
    return canonical(found)


def expired():
    part = content()["context"]
    return resigned(context={**part, "expires_on": "2026-11-30"})


def without(name):
    found = files()
    del found[name]
    return found


def other_signature():
    value = json.loads(resigned(purpose="another"))["signature"]["value"]
    return edited(JSON, lambda found: found["signature"].update(value=value))


def respelled(text):
    """The same bytes in Base64 with other unused bits before the padding."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    body = text.rstrip("=")
    found = body[:-1] + letters[letters.index(body[-1]) + 1] + text[len(body) :]
    assert base64.b64decode(found) == base64.b64decode(text)
    return found


def respelled_in(part):
    return edited(JSON, lambda found: found["signature"].update({part: respelled(found["signature"][part])}))


def respelled_pdf():
    body, comment, value = PDF.rpartition(b"%deidreview ")
    return body + comment + respelled(value.decode().rstrip("\n")).encode() + b"\n"


def other_public_key():
    public = public_of(OTHER)
    return edited(
        JSON,
        lambda found: found["signature"].update(
            public_key=base64.b64encode(public).decode(), fingerprint=fingerprint_of(public)
        ),
    )


def moved_span():
    found = files("brat")
    found["c.ann"] = b"T1\tNAME 0 7\tNothing\n"
    return found


def relabeled():
    found = files("brat")
    found["ward/a.ann"] = found["ward/a.ann"].replace(b"NAME ", b"DATE ", 1)
    return found


# Name of the case, certificate, released files, the check that must fail.
TAMPERED = [
    ("a byte of the JSON changed", JSON.replace(b"Teaching", b"Teachinh"), None, "signature"),
    ("a number of the JSON changed", JSON.replace(b'"alpha":0.71', b'"alpha":0.91'), None, "signature"),
    ("a space added to the JSON", JSON.replace(b'","', b'", "', 1), None, "signature"),
    ("the JSON cut off", JSON[:-20], None, "signature"),
    ("a field added beside the signature", edited(JSON, lambda found: found.update(note="ok")), None, "signature"),
    ("a risk removed", edited(JSON, lambda f: f["certificate"]["governance"].update(risks=[])), None, "signature"),
    ("the signature of another certificate", other_signature(), None, "signature"),
    ("an empty signature", edited(JSON, lambda found: found["signature"].update(value="")), None, "signature"),
    ("the public key exchanged", other_public_key(), None, "signature"),
    ("the signature in another spelling", respelled_in("value"), None, "signature"),
    ("the public key in another spelling", respelled_in("public_key"), None, "signature"),
    ("the signature of the PDF in another spelling", respelled_pdf(), None, "signature"),
    ("signed with another key that names ours", resigned(OTHER), None, "signature"),
    ("signed with another key", resigned(OTHER, key=fingerprint_of(public_of(OTHER))), None, "key"),
    ("expired", expired(), None, "expiry"),
    ("a page of the PDF changed", PDF.replace(b"/Title", b"/Titlf", 1), None, "signature"),
    ("the JSON in the PDF changed", PDF.replace(b"Teaching", b"Teachinh"), None, "signature"),
    ("the signature of the PDF removed", PDF[: PDF.rindex(b"%deidreview")], None, "signature"),
    ("no certificate at all", b"%PDF-1.4\n%%EOF\n", None, "signature"),
    ("a note changed", JSON, files() | {"c.txt": b"Nothing to replace!"}, "texts"),
    ("a note missing", JSON, without("c.txt"), "notes"),
    ("a note renamed", JSON, without("c.txt") | {"d.txt": files()["c.txt"]}, "texts"),
    ("a note added", JSON, files() | {"d.txt": b"A fourth note."}, "notes"),
    ("two notes exchanged", JSON, files() | {"c.txt": files()["ward/a.txt"], "ward/a.txt": files()["c.txt"]}, "texts"),
    ("a file of another kind added", JSON, files() | {"patients.xlsx": b"PK"}, "extra"),
    ("a hidden file added", JSON, files() | {".names": b"Rossi"}, "extra"),
    ("a line break changed", JSON, {n: d.replace(b"\n", b"\r\n") for n, d in files().items()}, "texts"),
    ("a span added", JSON, moved_span(), "spans"),
    ("a label changed", JSON, relabeled(), "spans"),
    ("an annotation file missing", JSON, {n: d for n, d in files("brat").items() if n != "c.ann"}, "spans"),
    ("a note that is no UTF-8", JSON, files() | {"c.txt": b"\xff"}, "readable"),
]


@pytest.mark.parametrize(("data", "found", "code"), [row[1:] for row in TAMPERED], ids=[row[0] for row in TAMPERED])
def test_tampering_is_refused(data, found, code):
    verdict = checked(data, found)
    assert not verdict.verified
    assert code in failed(verdict)


@pytest.mark.parametrize("data", [JSON, PDF], ids=["json", "pdf"])
@pytest.mark.parametrize("format", ["text", "brat", "conll"])
def test_what_was_certified_is_verified(data, format):
    verdict = checked(data, files(format))
    assert verdict.verified and not failed(verdict)
    states = {check.code: check.state for check in verdict.checks}
    assert states["texts"] is State.PASSED and states["key"] is State.PASSED and states["superseded"] is State.PASSED
    assert states["spans"] is (State.NOT_CHECKED if format == "text" else State.PASSED)


def test_the_spans_of_released_files_are_counted():
    found = files("brat")
    assert read_released(found, found.__getitem__, ["NAME", "DATE"]).spans == 3


def test_a_machine_without_keys_says_that_it_does_not_know_the_key():
    verdict = verify(JSON, Known(TODAY), None)
    states = {check.code: check.state for check in verdict.checks}
    assert verdict.verified
    assert states == {
        "signature": State.PASSED,
        "key": State.NOT_CHECKED,
        "expiry": State.PASSED,
        "superseded": State.NOT_CHECKED,
        "notes": State.NOT_CHECKED,
    }
    [message] = [check.message for check in verdict.checks if check.code == "key"]
    assert KEY in message


def test_superseded_and_withdrawn_certificates_fail():
    known = Known(TODAY, {KEY}, has_records=True, superseded_by=2, withdrawn=True)
    assert failed(checked(known=known)) == {"superseded", "withdrawn"}


def test_other_files_of_an_export_are_named_as_not_covered():
    found = files() | {"release.json": b"{}", "certificate.pdf": PDF}
    verdict = checked(found=found)
    assert verdict.verified
    [check] = [check for check in verdict.checks if check.code == "beside"]
    assert check.names == ["release.json"] and check.state is State.NOT_CHECKED


def test_a_changed_file_is_named_with_the_help_of_the_manifest():
    import hashlib

    listed = [{"name": name, "sha256": hashlib.sha256(data).hexdigest()} for name, data in files().items()]
    changed = files() | {"c.txt": b"x", "release.json": json.dumps({"files": listed}).encode()}
    [check] = [check for check in checked(found=changed).checks if check.code == "texts"]
    assert check.names == ["c.txt"]


def test_the_same_content_and_key_give_the_same_bytes():
    assert signed_json(content(), PRIVATE) == JSON
    assert signed_pdf(render(JSON), PRIVATE) == PDF


def test_errors_name_what_is_wrong():
    with pytest.raises(CertificateError, match="too long"):
        open_certificate(b"x" * (16 * 1024 * 1024 + 1))
    with pytest.raises(CertificateError, match="not a certificate"):
        open_certificate(b'{"a":1}')


def test_the_signature_verifies_with_openssl_keys_alone():
    """As docs/certificates.md says: canonical JSON after one line, with any Ed25519 library."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    found = json.loads(JSON)
    signature = found["signature"]
    text = json.dumps(found["certificate"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(signature["public_key"]))
    key.verify(base64.b64decode(signature["value"]), b"deidreview certificate 1\n" + text.encode())
