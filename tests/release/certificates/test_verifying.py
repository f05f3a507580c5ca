"""The command verify_certificate, and reading the files of a release."""

import io
import json
import zipfile
import zlib
from datetime import timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from annotations.core.services import ServiceError
from annotations.exchange.services.label_mappings import labels_in_words
from annotations.models import Certificate, Release, ReleaseState, SigningKey
from annotations.release.rules.certificates.signatures import fingerprint_of, signed_json
from annotations.release.services.certificates.verifying import files_at, verify_certificate, zip_files
from annotations.release.services.exporting import export_release_to_path
from annotations.release.services.files import RELEASE_FORMATS
from tests.factories import change
from tests.held import made_once
from tests.release.certificates.conftest import make_released, prepared_release
from tests.release.certificates.test_signing import signed
from tests.release.rules.certificates.sample import KEY, PRIVATE, content
from tests.worlds.commands import printed, told
from tests.zips import zipped


def make_certified():
    released = make_released()
    released.certificate = signed(released)
    return released


made, held_certified = made_once(make_certified)


@pytest.fixture
def certified(held_certified, tmp_path):
    held_certified.file = tmp_path / "certificate.json"
    held_certified.file.write_bytes(bytes(held_certified.certificate.json))
    return held_certified


def exported(world, out, format="text"):
    release = Release.objects.get(pk=world.release.pk)
    export_release_to_path(release=release, out=out, format=format)
    return out


def run(*arguments):
    """Return the result of the command, and whether it succeeded."""
    out = io.StringIO()
    try:
        call_command("verify_certificate", *map(str, arguments), "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue()), False
    return json.loads(out.getvalue()), True


def test_files_of_another_release_or_of_earlier_decisions_are_not_verified(certified, tmp_path):
    """Their names, texts and spans may be equal, and their attributes different."""
    same = run(certified.file, "--release", exported(certified, tmp_path / "same", "jsonl"))
    release = Release.objects.get(pk=certified.release.pk)
    Release.objects.filter(pk=release.pk).update(revision=release.revision + 1)
    result, passed = run(certified.file, "--release", exported(certified, tmp_path / "other", "jsonl"))
    assert same[1] and not passed
    assert [one["check"] for one in result["checks"] if one["state"] == "failed"] == ["edition"]


@pytest.mark.parametrize("ending", ["json", "pdf"])
def test_the_command_release_signs_what_it_exports(certified, tmp_path, ending):
    file = tmp_path / "out" / f"second.{ending}"
    words = ["--set", "gold:1", "--policy", "mask", "--out", tmp_path / "out", "--format", "brat"]
    made = told("release", "covid", *words, "--certificate", file, "--by", "mia")
    result, passed = run(file, "--release", tmp_path / "out")
    assert passed and (result["release"], made["notes"]) == (2, 3)
    said = printed("verify_certificate", file)
    assert "ok: " in said and "certificate 1 of release 2" in said


@pytest.mark.parametrize(("format", "out"), [*((name, "folder") for name in RELEASE_FORMATS), ("brat", "release.zip")])
def test_every_format_is_verified(certified, tmp_path, format, out):
    result, passed = run(certified.file, "--release", exported(certified, tmp_path / out, format))
    assert passed and result["verified"] and (result["release"], result["certificate"]) == (1, 1)
    states = {check["check"]: check["state"] for check in result["checks"]}
    assert states["texts"] == states["notes"] == states["key"] == "passed"
    assert states["spans"] == ("not checked" if format == "text" else "passed")


def _signature_with_a_name(folder):
    file = folder / "release.json.sig"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"note": "Mario Rossi"}))


CARRIERS = {
    "a key in the signature": _signature_with_a_name,
    "a space in the signature": lambda folder: (folder / "release.json.sig").open("a").write(" "),
    "an empty folder": lambda folder: (folder / "Mario Rossi").mkdir(),
}


@pytest.mark.parametrize("carrier", CARRIERS)
def test_what_no_signature_covers_is_refused(certified, tmp_path, carrier):
    folder = exported(certified, tmp_path / "out")
    CARRIERS[carrier](folder)
    assert not run(certified.file, "--release", folder)[1]


def refused_carrier(data, carrier):
    """The archive with a name where programs that unpack it don't look."""
    name = b"Mario Rossi"
    source = zipfile.ZipFile(io.BytesIO(data))
    first, target = source.infolist()[0], io.BytesIO()
    raw = source.read(first)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in source.infolist():
            if entry is first and carrier == "extra field":
                entry.extra = b"xy" + len(name).to_bytes(2, "little") + name
            if entry is first and carrier == "owner":
                entry.create_system = 77
            if entry is first and carrier == "permissions":
                entry.external_attr = int.from_bytes(b"Ross", "little")
            if entry is first and carrier == "comment of a file":
                entry.comment = name
            archive.writestr(entry, source.read(entry))
            if entry is first and carrier == "between":
                target.write(name)
                archive.start_dir += len(name)
        if carrier == "comment":
            archive.comment = name
        if carrier == "empty folder":
            archive.writestr("Mario Rossi/", "")
    packed = (name if carrier == "before" else b"") + target.getvalue() + (name if carrier == "after" else b"")
    if carrier == "second name":  # only in the header before the content
        assert len(first.filename) == 12
        packed = packed.replace(first.filename.encode(), b"Mario Ro.txt", 1)
    if carrier == "after the content":
        deflated = zlib.compress(raw, wbits=-15)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for entry in source.infolist():
                stored = source.read(entry)
                entry.compress_type = zipfile.ZIP_STORED if entry is first else zipfile.ZIP_DEFLATED
                archive.writestr(entry, deflated + name if entry is first else stored)
        changed = bytearray(packed.getvalue())
        for at, size in ((0, 22), (changed.index(b"PK\1\2"), 24)):  # method, checksum and size in both headers
            method = at + (8 if at == 0 else 10)
            changed[method : method + 2] = (8).to_bytes(2, "little")
            crc = at + (14 if at == 0 else 16)
            changed[crc : crc + 4] = zlib.crc32(raw).to_bytes(4, "little")
            changed[at + size : at + size + 4] = len(raw).to_bytes(4, "little")
        packed = bytes(changed)
        assert zipfile.ZipFile(io.BytesIO(packed)).read(first.filename) == raw
    return packed


HIDING = [
    "nothing", "extra field", "owner", "permissions", "between", "second name", "after the content", "comment",
    "comment of a file", "before", "after", "empty folder",
]  # fmt: skip


@pytest.mark.parametrize("carrier", HIDING)
def test_a_zip_that_hides_something_from_unpacking_is_refused(certified, tmp_path, carrier):
    packed = exported(certified, tmp_path / "out.zip")
    before = packed.read_bytes()
    packed.write_bytes(refused_carrier(before, carrier))
    if carrier == "nothing":
        assert packed.read_bytes() == before
    assert run(certified.file, "--release", packed)[1] == (carrier == "nothing")


@pytest.mark.parametrize(
    ("name", "passes"),
    [("certificate.json", True), ("release-1-certificate-1.json", True), ("Mario Rossi.json", False),
     ("release-1-certificate-5552018834.json", False), ("Mario Rossi/certificate.json", False)],
)  # fmt: skip
def test_the_name_of_the_certificate_says_nothing_that_is_not_signed(certified, tmp_path, name, passes):
    folder = exported(certified, tmp_path / "out")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(certified.file.read_bytes())
    assert run(certified.file, "--release", folder)[1] == passes


def test_a_certificate_that_was_signed_beside_the_files_can_not_be_renamed(certified, tmp_path):
    words = ["release", "covid", "--set", "gold:1", "--policy", "mask", "--out", tmp_path / "out", "--by", "mia"]
    for wrong in ("release.json", "signed.txt"):
        with pytest.raises(CommandError, match="among the released files"):
            told(*words, "--certificate", tmp_path / "out" / wrong)
    file = tmp_path / "out" / "signed.json"
    told(*words, "--certificate", file)
    assert run(file, "--release", tmp_path / "out")[1]
    taken = file.rename(tmp_path / "signed.json")
    assert run(taken, "--release", tmp_path / "out")[1], "it may be kept elsewhere"
    file = taken.rename(file)
    assert not run(file.rename(tmp_path / "out" / "Mario Rossi.json"), "--release", tmp_path / "out")[1]


ODD_NAMES = ["con", "ward/A", 'ward/a: "12:30"?']


@pytest.mark.parametrize("format", ["text", "brat", "conll", "xlsx", "i2b2", "jsonl"])
def test_kept_names_become_names_that_every_system_holds(released_again, tmp_path, format):
    """The table names.csv has the notes' own names, by which the certificate knows them."""
    folder = exported(released_again, tmp_path / "out", format)
    for path in folder.rglob("*"):
        assert not set(path.name) & set('<>:"|?*') and path.stem.lower() != "con"
    assert (folder / "names.csv").exists() == (format != "jsonl")
    result, passed = run(released_again.file, "--release", folder)
    assert passed, result["checks"]
    if format == "text":
        (folder / "names.csv").write_text((folder / "names.csv").read_text().replace("12:30", "Mario Rossi"))
        checks = run(released_again.file, "--release", folder)[0]["checks"]
        assert {check["check"] for check in checks if check["state"] == "failed"} >= {"files", "texts"}


@pytest.fixture
def released_again(certified):
    """Another release, whose notes keep names that some systems can't hold."""
    certified.release = prepared_release(certified, 2)
    for row, name in zip(certified.release.notes.order_by("pk"), ODD_NAMES, strict=True):
        change(row, name=name)
    Release.objects.filter(pk=certified.release.pk).update(content_hash="")
    certified.release.refresh_from_db()
    certified.file.write_bytes(bytes(signed(certified).json))
    return certified


def test_a_certificate_of_another_instance_needs_its_fingerprint(certified, tmp_path):
    file = tmp_path / "other.json"
    file.write_bytes(signed_json(content(), PRIVATE))
    assert "this instance doesn't know" in run(file)[0]["failed"]
    spaced = ":".join(KEY[at : at + 2] for at in range(0, len(KEY), 2)).upper()
    assert run(file, "--key", spaced)[1]
    assert not run(file, "--key", fingerprint_of(bytes(SigningKey.objects.get().public)))[1]
    for words, code in (
        (("nowhere.json",), "path"), ((file, "--release", "nowhere"), "path"), ((file, "--release", file), "zip"),
        ((file, "--key", "12"), "key"),
    ):  # fmt: skip
        result, passed = run(*words)
        assert not passed and result["code"] == code
    # A machine without keys trusts none by itself.
    Certificate.objects.all().delete()
    SigningKey.objects.all().delete()
    result, passed = run(file)
    assert not passed and {check["check"]: check["state"] for check in result["checks"]}["key"] == "failed"
    assert run(file, "--key", KEY)[1]


def test_a_zip_of_a_folder_is_read_without_the_folder(tmp_path):
    names, load = zip_files(io.BytesIO(zipped({"out/release.json": "{}", "out/a.txt": "Text"})))
    assert names == ["a.txt", "release.json"] and load("a.txt") == b"Text"
    (tmp_path / "ward").mkdir()
    (tmp_path / "ward" / "a.txt").write_text("Text")
    assert list(files_at(tmp_path)[0]) == ["ward/a.txt"]


def test_zips_that_are_too_large_or_have_a_name_twice_are_refused():
    with pytest.warns(UserWarning, match="Duplicate name"):
        packed = io.BytesIO(zipped([("a.txt", "Text")] * 2))
    with pytest.raises(ServiceError, match="two files of the same name"):
        zip_files(packed)
    with pytest.raises(ServiceError, match="too large for this page"):
        zip_files(packed, most=5)


@pytest.mark.parametrize("format", ["jsonl", "brat"])
def test_an_export_with_other_labels_is_verified_without_its_spans(certified, tmp_path, format):
    labels = labels_in_words(certified.project, mapped=["PATIENT=PER"], skipped=["CITY"])
    release = Release.objects.get(pk=certified.release.pk)
    export_release_to_path(release=release, out=tmp_path / "out", format=format, labels=labels)
    result, passed = run(certified.file, "--release", tmp_path / "out")
    states = {check["check"]: check["state"] for check in result["checks"]}
    assert passed and (states["texts"], states["spans"]) == ("passed", "not checked")


def test_changed_notes_and_extra_files_are_named_and_links_are_not_followed(certified, tmp_path):
    folder = exported(certified, tmp_path / "out")
    (folder / "caso-001.txt").write_text("Mario Rossi")
    (folder / "more").mkdir()
    (folder / "more" / ".keys").write_text("x")
    (folder / "away").symlink_to(tmp_path)
    result, passed = run(certified.file, "--release", folder)
    assert not passed and not result["verified"]
    names = {check["check"]: check.get("names") for check in result["checks"]}
    assert (names["texts"], names["extra"]) == (["caso-001.txt"], ["away", "more/.keys"])


def test_a_certificate_fails_that_has_expired_or_a_successor_or_whose_release_is_withdrawn(certified):
    with time_machine.travel(timezone.now() + timedelta(days=400)):
        result, passed = run(certified.file)
    assert not passed and "expired" in result["failed"]
    Certificate.objects.create(
        release=certified.release, number=2, key=SigningKey.objects.get(), sha256="0" * 64, json=b"{}", pdf=b"",
        note_count=3, signed_at=timezone.now(),
    )  # fmt: skip
    verdict = verify_certificate(bytes(certified.certificate.json))
    assert "superseded by certificate 2" in " ".join(check.message for check in verdict.checks)
    Release.objects.filter(pk=certified.release.pk).update(state=ReleaseState.WITHDRAWN)
    failed = {check["check"] for check in run(certified.file)[0]["checks"] if check["state"] == "failed"}
    assert failed == {"superseded", "withdrawn"}
