"""The command `release`: what it writes, what it holds back, and that no identifier is left."""

import hashlib
import json

import pytest
from django.core.management import CommandError

from annotations.domain.folding import words
from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import Loaded
from annotations.domain.hashing import gold_hash, text_sha256
from annotations.domain.redaction.shipped import SHIPPED
from annotations.models import Document, Event, Release, Span
from tests.release.conftest import NOTES, add_note, marked, new_project, release_command, texts_in


def test_the_command_masks_and_reports(ward, tmp_path):
    out = tmp_path / "out"
    result = release_command("ward", "--set", "gold", "--policy", "mask", "--out", out, "--purpose", "Research")
    assert (result["notes"], result["leaks"], result["held_back"]) == (4, 0, 0)
    assert (result["release"], result["policy"], result["spans"]) == (1, "mask:1", 25)
    texts = texts_in(out)
    assert texts["en-2"].startswith("[PATIENT] came back on [DATE], MRN [MEDICALRECORD].")
    release = Release.objects.get()
    assert (release.state, release.note_count, release.purpose) == ("prepared", 4, "Research")
    assert release.content_hash == result["content_hash"]
    verbs = list(Event.objects.order_by("id").values_list("verb", flat=True))
    assert verbs[-3:] == ["policy.saved", "release.started", "release.exported"]


@pytest.mark.parametrize("slug", SHIPPED)
def test_no_labeled_string_survives(ward, tmp_path, slug):
    """Except for what the policy keeps or generalizes to."""
    before = dict(Document.objects.values_list("name", "sha256"))
    result = release_command(
        "ward", "--set", "gold", "--policy", slug, "--out", tmp_path / "out", "--decide", "replace"
    )
    assert (result["notes"], result["leaks"], result["held_back"]) == (4, 0, 0)
    policy = Release.objects.get().policy
    texts = texts_in(tmp_path / "out")
    replacing = {"mask", "remove", "hash", "shift", "surrogate"}
    for name, _language, patient, _text in NOTES:
        of_patient = [text for _name, _language, other, text in NOTES if other == patient]
        strings = {
            (plain[start:end], label)
            for plain, spans in map(marked, of_patient)
            for start, end, label in spans
            if policy.rules[label]["action"] in replacing
        }
        left = " ".join(words(texts[name]))
        for string, label in strings:
            assert f" {' '.join(words(string))} " not in f" {left} ", (slug, name, label)
    assert dict(Document.objects.values_list("name", "sha256")) == before
    assert all(text_sha256(note.text) == note.sha256 for note in Document.objects.all())


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"text", "csv"}))
def test_moved_offsets_can_be_read_back(ward, tmp_path, format):
    """The spans of the released files quote the replacements."""
    release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out", "--format", format)
    out = tmp_path / "out"
    names = [path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()]
    reader, files = FORMATS[format], Loaded(lambda name: (out / name).read_bytes())
    groups, _problems = reader.group(name for name in names if name != "release.json")
    notes = [note for group in groups for note in reader.read_many(group, files, LABELS)]
    assert len(notes) == 4
    for note in notes:
        _name, _language, _patient, text = next(row for row in NOTES if row[0] == note.name)
        assert [(span.label, note.text[span.start : span.end]) for span in sorted(note.spans)] == [
            (label, f"[{label}]") for _start, _end, label in marked(text)[1]
        ]


LABELS = {label: label for *_row, text in NOTES for _start, _end, label in marked(text)[1]}


def test_json_lines_and_csv(ward, tmp_path):
    release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "lines", "--format", "jsonl")
    rows = [json.loads(line) for line in (tmp_path / "lines" / "notes.jsonl").read_text("utf-8").splitlines()]
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)
    for row in rows:
        assert all(row["text"][span["start"] : span["end"]] == span["text"] for span in row["spans"])
        assert row["spans"]
    hashed = gold_hash(
        (row["name"], text_sha256(row["text"]), [(s["start"], s["end"], s["label"]) for s in row["spans"]])
        for row in rows
    )
    assert hashed == Release.objects.get().content_hash
    release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "tables", "--format", "csv")
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"notes.csv", "spans.csv", "release.json"}
    assert '"en-2","[PATIENT] came back on' in (tmp_path / "tables" / "notes.csv").read_text("utf-8-sig")


def test_the_manifest_lists_every_file_and_nothing_of_the_originals(ward, tmp_path):
    out = tmp_path / "out"
    result = release_command(
        "ward", "--set", "gold", "--policy", "mask", "--out", out, "--format", "brat", "--recipient", "Adam Wilson"
    )
    manifest = json.loads((out / "release.json").read_bytes())
    assert manifest["content_hash"] == result["content_hash"]
    assert (manifest["release"], manifest["notes"], manifest["policy"]) == (1, 4, {"slug": "mask", "version": 1})
    files = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.name != "release.json"}
    assert {row["name"] for row in manifest["files"]} == set(files)
    for row in manifest["files"]:
        data = files[row["name"]].read_bytes()
        assert (row["bytes"], row["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    whole = (out / "release.json").read_text("utf-8")
    assert "Wilson" not in whole and "P-00" not in whole and "Ward" not in whole and "ward" not in whole


def test_a_zip_is_the_same_each_time(ward, tmp_path):
    for name in ("a", "b"):
        release_command("ward", "--set", "gold", "--policy", "remove", "--out", tmp_path / f"{name}.zip")
    first, second = ((tmp_path / f"{name}.zip").read_bytes() for name in ("a", "b"))
    assert len(first) == len(second) and first[:200] == second[:200]


def test_notes_with_findings_are_held_back(ward, tmp_path):
    add_note(ward.project, "en-3", "«Nora Quimby|PATIENT» is well. Quimby was told.\n", language="en")
    result = release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "held")
    assert (result["notes"], result["leaks"], result["held_back"]) == (4, 1, 1)
    assert "en-3" not in texts_in(tmp_path / "held")
    replaced = release_command(
        "ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "replaced", "--decide", "replace"
    )
    assert (replaced["notes"], replaced["leaks"], replaced["findings"]["replaced"]) == (5, 0, 1)
    assert texts_in(tmp_path / "replaced")["en-3"] == "[PATIENT] is well. [PATIENT] was told.\n"
    allowed = release_command(
        "ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "allowed", "--decide", "allow"
    )
    assert (allowed["notes"], allowed["findings"]["allowed"]) == (5, 1)
    assert texts_in(tmp_path / "allowed")["en-3"] == "[PATIENT] is well. Quimby was told.\n"


def test_strings_of_the_patients_other_notes_are_found(ward, tmp_path):
    add_note(
        ward.project, "en-4", "Spoke with «Helen|DOCTOR». Millbrook clinic.\n", language="en", patient_id="P-00417"
    )
    result = release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out")
    assert (result["leaks"], result["held_back"]) == (1, 1)


def test_a_name_with_an_identifier_becomes_neutral(ward, tmp_path):
    add_note(ward.project, "P-05550/quimby-1", "«Nora Quimby|PATIENT» is well.\n", language="en", patient_id="P-05550")
    held = release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "held")
    assert held["held_back"] == 1
    result = release_command(
        "ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out", "--decide", "replace"
    )
    assert (result["notes"], result["held_back"]) == (5, 0)
    (neutral,) = set(texts_in(tmp_path / "out")) - {row[0] for row in NOTES}
    assert neutral.startswith("note-") and neutral[5:].isdigit()
    assert "uimby" not in (tmp_path / "out" / "release.json").read_text("utf-8")


def test_a_union_joins_overlapping_spans(ward, tmp_path):
    from tests import factories as make

    run = make.make_author(ward.project, kind="run", name="rules-1")
    plain = ward.notes["en-2"].text
    at = plain.index("came back")
    made = make.make_set(ward.notes["en-2"], run, submitted=True)
    labels = {label.code: label for label in ward.project.label_set.labels.all()}
    Span.objects.create(annotation_set=made, start=8, end=at + 4, label=labels["DOCTOR"], string_key=1)
    result = release_command(
        "ward", "--set", "union:run:rules-1+gold", "--policy", "mask", "--out", tmp_path / "out", "--decide", "allow"
    )
    assert result["notes"] == 4
    assert texts_in(tmp_path / "out")["en-2"].startswith("[PATIENT] back on [DATE]")


def test_a_frozen_version_of_gold(ward, tmp_path):
    from annotations.gold.services.making import freeze

    freeze(project=ward.project, actor=ward.manager)
    Span.objects.all().delete()
    result = release_command("ward", "--set", "gold:1", "--policy", "mask", "--out", tmp_path / "out")
    assert (result["notes"], result["spans"]) == (4, 25)
    assert Release.objects.get().gold_version.number == 1


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["--set", "gold:9", "--policy", "mask"], "version"),
        (["--set", "run:none", "--policy", "mask"], "set"),
        (["--set", "union:gold", "--policy", "mask"], "set"),
        (["--set", "gold", "--policy", "nothing"], "policy"),
        (["--set", "gold", "--policy", "mask:7"], "policy"),
        (["--set", "gold", "--policy", "mask:x"], "policy"),
    ],
)
def test_what_the_command_refuses(ward, tmp_path, capsys, arguments, code):
    with pytest.raises(CommandError):
        release_command("ward", *arguments, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists() and not Release.objects.exists()


def test_a_full_folder_is_refused_before_the_work(ward, tmp_path):
    (tmp_path / "there").write_text("x")
    with pytest.raises(CommandError, match="not an empty folder"):
        release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path)
    assert not Release.objects.exists()


def test_an_unmapped_label_is_named(db, no_redis, tmp_path):
    project = new_project("own")
    label = project.label_set.labels.first()
    label.pk, label.code, label.name, label.hotkey = None, "SHIP", "Ship", ""
    label.save()
    add_note(project, "n", "The «Aurora|SHIP» sank.\n")
    with pytest.raises(CommandError, match="SHIP"):
        release_command("own", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out")
