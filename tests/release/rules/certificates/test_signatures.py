"""Thirty ways to tamper with a certificate or with released files, each of which must be refused."""

import base64
import hashlib
import io
import json
from datetime import UTC, date, datetime

import pytest
from pypdf import PdfReader

from annotations.formats import FORMATS
from annotations.formats.base import OutNote
from annotations.release.rules.certificates import signatures
from annotations.release.rules.certificates.content import canonical
from annotations.release.rules.certificates.pdf import joined, render
from annotations.release.rules.certificates.verifying import CheckState, VerifierKnowledge, verify
from annotations.text.spans import Span
from tests.release.rules.certificates.sample import KEY, NOTES, OTHER, PRIVATE, content

TODAY = date(2026, 12, 1)
TRUSTED = VerifierKnowledge(TODAY, {KEY}, has_records=True)
JSON = signatures.signed_json(content(), PRIVATE)
PDF = signatures.signed_pdf(render(JSON), PRIVATE)


def files(format="text"):
    written = {}
    for name, (text, spans) in NOTES.items():
        note = OutNote(name, text, [Span(*span) for span in spans])
        written |= FORMATS[format].write(note, {"NAME": "NAME", "DATE": "DATE"})[0]
    return written


def signed(found, private=PRIVATE):
    """The files with a signed list of them."""
    rows = [{"name": name, "sha256": hashlib.sha256(data).hexdigest()} for name, data in found.items()]
    listed = json.dumps({"files": rows}).encode()
    return found | {
        "release.json": listed,
        "release.json.sig": signatures.signed_files(hashlib.sha256(listed).digest(), private),
    }


def checked(data=JSON, found=None, known=TRUSTED):
    """Check files with a signed list of them as they are."""
    found = signed(files() if found is None else found)
    return verify(data, known, (list(found), found.__getitem__))


def failed(verdict):
    return {check.code for check in verdict.checks if check.state is CheckState.FAILED}


def resigned(private=PRIVATE, **changes):
    return signatures.signed_json(content(**changes), private)


def edited(change):
    found = json.loads(JSON)
    change(found)
    return canonical(found)


def with_signature(**parts):
    return edited(lambda found: found["signature"].update(parts))


def without(name):
    found = files()
    del found[name]
    return found


def respelled(text):
    """The same bytes in Base64 with other unused bits before the padding."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    body = text.rstrip("=")
    found = body[:-1] + letters[letters.index(body[-1]) + 1] + text[len(body) :]
    assert base64.b64decode(found) == base64.b64decode(text)
    return found


SIGNATURE = json.loads(JSON)["signature"]


def respelled_pdf():
    body, comment, value = PDF.rpartition(b"%deidreview ")
    return body + comment + respelled(value.decode().rstrip("\n")).encode() + b"\n"


def other_public_key():
    public = signatures.public_of(OTHER)
    return with_signature(public_key=base64.b64encode(public).decode(), fingerprint=signatures.fingerprint_of(public))


def moved_span():
    found = files("brat")
    found["c.ann"] = b"T1\tNAME 0 7\tNothing\n"
    return found


def relabeled():
    found = files("brat")
    found["ward/a.ann"] = found["ward/a.ann"].replace(b"NAME ", b"DATE ", 1)
    return found


# The certificate, released files, the check that must fail.
TAMPERED = [
    # A byte of the JSON changed
    (JSON.replace(b"Teaching", b"Teachinh"), None, "signature"),
    # A number of the JSON changed
    (JSON.replace(b'"alpha":0.71', b'"alpha":0.91'), None, "signature"),
    # A space added to the JSON
    (JSON.replace(b'","', b'", "', 1), None, "signature"),
    # The JSON cut off
    (JSON[:-20], None, "signature"),
    # A field added beside the signature
    (edited(lambda found: found.update(note="ok")), None, "signature"),
    # A risk removed
    (edited(lambda f: f["certificate"]["governance"].update(risks=[])), None, "signature"),
    # The signature of another certificate
    (with_signature(value=json.loads(resigned(purpose="another"))["signature"]["value"]), None, "signature"),
    # An empty signature
    (with_signature(value=""), None, "signature"),
    # The public key exchanged
    (other_public_key(), None, "signature"),
    # The signature in another spelling
    (with_signature(value=respelled(SIGNATURE["value"])), None, "signature"),
    # The public key in another spelling
    (with_signature(public_key=respelled(SIGNATURE["public_key"])), None, "signature"),
    # The signature of the PDF in another spelling
    (respelled_pdf(), None, "signature"),
    # Signed with another key that names ours
    (resigned(OTHER), None, "signature"),
    # Signed with another key
    (resigned(OTHER, key=signatures.fingerprint_of(signatures.public_of(OTHER))), None, "key"),
    # Expired
    (resigned(context=content()["context"] | {"expires_on": "2026-11-30"}), None, "expiry"),
    # A page of the PDF changed
    (PDF.replace(b"/Title", b"/Titlf", 1), None, "signature"),
    # The JSON in the PDF changed
    (PDF.replace(b"Teaching", b"Teachinh"), None, "signature"),
    # The signature of the PDF removed
    (PDF[: PDF.rindex(b"%deidreview")], None, "signature"),
    # No certificate at all
    (b"%PDF-1.4\n%%EOF\n", None, "signature"),
    # A note changed
    (JSON, files() | {"c.txt": b"Nothing to replace!"}, "texts"),
    # A note missing
    (JSON, without("c.txt"), "notes"),
    # A note renamed
    (JSON, without("c.txt") | {"d.txt": files()["c.txt"]}, "texts"),
    # A note added
    (JSON, files() | {"d.txt": b"A fourth note."}, "notes"),
    # Two notes exchanged
    (JSON, files() | {"c.txt": files()["ward/a.txt"], "ward/a.txt": files()["c.txt"]}, "texts"),
    # A file of another kind added
    (JSON, files() | {"patients.xlsx": b"PK"}, "extra"),
    # A hidden file added
    (JSON, files() | {".names": b"Rossi"}, "extra"),
    # A line break changed
    (JSON, {n: d.replace(b"\n", b"\r\n") for n, d in files().items()}, "texts"),
    # A span added
    (JSON, moved_span(), "spans"),
    # A label changed
    (JSON, relabeled(), "spans"),
    # An annotation file missing
    (JSON, {n: d for n, d in files("brat").items() if n != "c.ann"}, "spans"),
    # A note that is no UTF-8
    (JSON, files() | {"c.txt": b"\xff"}, "readable"),
]


@pytest.mark.parametrize(("data", "found", "code"), TAMPERED)
def test_tampering_is_refused(data, found, code):
    verdict = checked(data, found)
    assert (verdict.verified, code in failed(verdict)) == (False, True)


@pytest.mark.parametrize("data", [JSON, PDF], ids=["json", "pdf"])
@pytest.mark.parametrize("format", ["text", "brat", "conll"])
def test_what_was_certified_is_verified(data, format):
    verdict = checked(data, files(format))
    assert verdict.verified and not failed(verdict)
    states = {check.code: check.state for check in verdict.checks}
    assert {states[code] for code in ("texts", "key", "superseded")} == {CheckState.PASSED}
    assert states["spans"] is (CheckState.NOT_CHECKED if format == "text" else CheckState.PASSED)


def test_the_same_content_and_key_give_the_same_bytes():
    assert (signatures.signed_json(content(), PRIVATE), signatures.signed_pdf(render(JSON), PRIVATE)) == (JSON, PDF)


def test_a_key_that_nobody_vouches_for_is_not_verified():
    verdict = verify(JSON, VerifierKnowledge(TODAY), None)
    assert failed(verdict) == {"key"} and not verdict.verified
    [message] = [check.message for check in verdict.checks if check.code == "key"]
    assert KEY in message


def test_superseded_and_withdrawn_certificates_fail():
    known = VerifierKnowledge(TODAY, {KEY}, has_records=True, superseded_by=2, withdrawn=True)
    assert failed(checked(known=known)) == {"superseded", "withdrawn"}


WHOLE = signed(files("brat") | {"tools.conf": b"[options]\n"})
HIDDEN = [
    WHOLE | {"tools.conf": b"# Mario Rossi\n"}, WHOLE | {"c.ann": b"#1\tAnnotatorNotes T1\tMario Rossi\n"},
    WHOLE | {"losses.csv": b""}, WHOLE | {"certificate.pdf": b"%PDF-1.4 Mario Rossi\n"},
    WHOLE | {"certificate.json": b"{}"}, {name: data for name, data in WHOLE.items() if name != "tools.conf"},
    {name: data for name, data in WHOLE.items() if name != "release.json.sig"},
    WHOLE | {"release.json": WHOLE["release.json"] + b" "}, WHOLE | {"release.json.sig": b"{}"},
    signed(files("brat"), OTHER),
]  # fmt: skip


@pytest.mark.parametrize("found", HIDDEN)
def test_only_what_the_issuer_signed_is_verified(found):
    """Names can hide in files that are no notes, and in what a format writes beside texts and spans."""
    assert "files" in failed(verify(JSON, TRUSTED, (list(found), found.__getitem__)))


def test_the_certificate_may_lie_among_its_files():
    found = WHOLE | {"certificate.json": JSON, "certificate.pdf": PDF, "signed.json": JSON}
    assert verify(JSON, TRUSTED, (list(found), found.__getitem__)).verified
    # A changed text is named with the help of the list.
    found = signed(files()) | {"c.txt": b"x"}
    [check] = [one for one in verify(JSON, TRUSTED, (list(found), found.__getitem__)).checks if one.code == "texts"]
    assert check.names == ["c.txt"]


def test_what_is_no_certificate_is_refused():
    for data, words in ((b"x" * (16 * 1024 * 1024 + 1), "too long"), (b'{"a":1}', "not a certificate")):
        with pytest.raises(signatures.CertificateError, match=words):
            signatures.open_certificate(data)


def test_the_signature_verifies_with_openssl_keys_alone():
    """As docs/certificates.md says: canonical JSON after one line, with any Ed25519 library."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    found = json.loads(JSON)
    signature = found["signature"]
    text = json.dumps(found["certificate"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(signature["public_key"]))
    key.verify(base64.b64decode(signature["value"]), b"deidreview certificate 1\n" + text.encode())


# ── The PDF of a certificate ─────────────────────────────────────────────────────────────────────────────────────────


def pdf_of(**changes):
    data = signatures.signed_json(content(**changes), PRIVATE)
    return data, signatures.signed_pdf(render(data), PRIVATE)


def text_of(pdf):
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages]
    return " ".join(" ".join(pages).split())


@pytest.fixture(scope="module")
def made():
    return pdf_of()


@pytest.fixture(scope="module")
def text(made):
    return text_of(made[1])


PARTS = [
    "Context", "Data", "Identifiability", "Governance", "ISO/IEC 27559:2022, Context assessment, clause 6",
    "ISO/IEC 27559:2022, De-identification governance, clause 9", "Certificate 1 of release 3, Ward 7",
    "45 CFR 164.514(b)(1)", "45 CFR 164.514(b)(2)(i)", "45 CFR 164.514(b)(2)(ii)", "actual knowledge",
    "University of Milan", "2018 to 2019", "Publication mask (mask, version 1)", "NAME – Name name mask (A) 2",
    "(R) Any other unique number, characteristic or code", "4 findings: 3 replaced, 1 allowed by Rosa Lindt",
    "90% of the original text", "alpha 0.71 (95% interval 0.68 to 0.74)",
    "At most 63.16% of the notes contain a leak, at 95% confidence", "Found 19 of 20 planted leaks",
    "Leak rate by label", "rules-1 against gold version 1 3 2 66.67%", "rules-1, language en", "crf-1",
    "1 note has no patient ID. Rosa Lindt 2026-11-20 10:29 UTC", "Anna audited the release 3",
    "Valid until 2027-11-20", "Nils Ahl 2 19 of 20 95%", "Ada Bo 1 – Not measured",
    "NAME Rosa Lindt 2026-11-19 09:05 UTC", "generic: 12", KEY,
]  # fmt: skip


def test_the_pdf_says(text):
    assert [part for part in PARTS if part not in text] == []


def test_the_pdf_holds_the_json_and_the_time_of_the_certificate(made):
    """With the clock's time, rendering again would give other bytes."""
    data, pdf = made
    reader = PdfReader(io.BytesIO(pdf))
    assert reader.attachments == {"certificate.json": [data]}
    assert reader.metadata.creation_date == datetime(2026, 11, 20, 10, 30, tzinfo=UTC)


def test_what_was_not_measured_is_not_invented_and_an_erasure_is_stated():
    part = content()["identifiability"] | {
        "audit": None, "scores": [], "agreement": None, "models": [], "gate": None, "utility": None
    }  # fmt: skip
    erased = content()["data"] | {"erased": [{"on": "2026-12-24", "notes": 2, "patients": 1}], "notes": 1}
    text = text_of(pdf_of(identifiability=part, data=erased, number=2, supersedes=1)[1])
    for name in ("Leak rate", "All-or-nothing recall", "Agreement", "Utility"):
        assert f"{name} Not measured" in text
    assert "2026-12-24 2 1" in text and "supersedes certificate 1" in text


def test_measures_of_surrogates_have_names():
    measures = {"consistent": 1.0, "collisions": 2, "f1_backend": "rules", "f1_released": 0.9125, "f1_original": None}
    found = {"labels": ["NAME"], "made_by": "ward/small", "measures": measures}
    text = text_of(pdf_of(identifiability=content()["identifiability"] | {"surrogates": found})[1])
    assert "Surrogates made by the language model ward/small, and rules" in text
    assert "Its F1 on the released text 0.9125" in text and "Its F1 on the original text Not measured" in text
    assert "Surrogates that two entities share 2" in text


def test_names_in_many_scripts_are_shown():
    text = text_of(pdf_of(issued_by="Ελένη Żółć Дмитрий Ընդունիր")[1])
    assert "Ελένη Żółć Дмитрий Ընդունիր" in text and "square brackets" not in text
    # A character without a glyph is written as its number.
    text = text_of(pdf_of(issued_by="李明 \u202eevil")[1])
    assert all(part in text for part in ("[U+674E][U+660E]", "[U+202E]", "The font of this PDF lacks some characters"))


def test_arabic_letters_are_joined():
    # Meem initial, hah medial, meem medial, dal final: “Muhammad”.
    assert joined("محمد") == "\ufee3\ufea4\ufee4\ufeaa" and joined("ab") == "ab"
    # Alef doesn't join the letter after it.
    assert joined("اب") == "\ufe8d\ufe8f"
