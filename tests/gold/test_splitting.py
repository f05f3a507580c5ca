"""Splits of gold versions, differences between them, and exports by split."""

import json

import pytest

from annotations.core.services import ServiceError, silent
from annotations.core.stored_files import open_stored
from annotations.exchange.events import NOTES_EXPORTED
from annotations.exchange.services.exporting import export_to_path, run_export
from annotations.formats import FORMATS
from annotations.formats.base import LoadedFiles
from annotations.gold.events import GOLD_SPLIT
from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import patients_in_two_splits, split_table, split_version
from annotations.models import AnnotationSet, Document, Event, GoldVersionNote, Span, StoredFile
from annotations.ops.services.erasing import erase_patient
from tests import factories as make
from tests.held import made_once
from tests.worlds.commands import answered
from tests.zips import unzipped

SHARES = {"train": 60, "dev": 20, "test": 20}
TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino."


def gold_note(project, name, patient="", spans=((0, 11, "PATIENT"),)):
    note = make.make_note(project, TEXT, name, patient_id=patient)
    make.make_set(note, make.make_author(project, kind="gold", name="gold"), spans, submitted=True)
    return note


def frozen(project):
    return freeze(project=project, actor=None)[0]


def splits(version):
    return dict(version.notes.values_list("document__name", "split"))


def build_project():
    """Ten notes: five of patients with two or one, five without a patient id."""
    project = make.make_project("p")
    for number, patient in enumerate(["a", "a", "b", "b", "c", "", "", "", "", ""]):
        gold_note(project, f"n{number}", patient)
    return project


made, project = made_once(build_project)


@pytest.fixture
def version(project):
    return frozen(project)


def split(version, seed="s", **shares):
    return split_version(version=version, seed=seed, shares=shares or SHARES, actor=None)


def export(project, out, spec="gold:1", format="brat", **options):
    return export_to_path(project=project, out=out, format=format, set_spec=spec, **options)


def test_no_patient_is_in_two_splits_and_the_shares_are_met(version):
    """Splitting again writes nothing."""
    made, before = split(version), version.content_hash
    found = splits(version)
    assert found["n0"] == found["n1"] and found["n2"] == found["n3"]
    assert made.notes == {"train": 6, "dev": 2, "test": 2}
    assert sum(made.patients.values()) == 8
    assert patients_in_two_splits(version) == 0
    assert not split(version).made and splits(version) == found
    (event,) = Event.objects.filter(verb=GOLD_SPLIT)
    # A person may write anything as the seed, so the version stores it, but the event doesn't.
    assert "seed" not in event.data and event.data["notes"] == made.notes
    assert (make.reread(version).split_seed, version.split_shares, version.content_hash) == ("s", SHARES, before)
    table = split_table(version)
    assert [row["split"] for row in table] == ["train", "dev", "test"] and table[0]["share"] == 0.6
    assert sum(row["patients"] for row in table) == 8
    assert sum(row["without_patient"] for row in table) == 5
    assert sum(row["labels"].get("PATIENT", 0) for row in table) == 10


def test_another_seed_splits_again_and_the_same_seed_with_other_shares_is_an_error(version):
    split(version)
    with pytest.raises(ServiceError, match="Choose another seed"):
        split(version, train=50, test=50)
    assert split(version, "t", train=50, test=50).notes["dev"] == 0
    for seed in ("", "  ", "x" * 41, "a\nb"):
        with pytest.raises(ServiceError, match=r"The seed must have|contains U\+000A"):
            split(version, seed)
    with pytest.raises(ServiceError, match="add up to 100"):
        split(version, train=50)


def test_two_patients_that_become_one_get_the_stricter_split(project, version):
    split(version)
    found = splits(version)
    train, test = (next(n for n, split in found.items() if split == wanted) for wanted in ("train", "test"))
    Document.objects.filter(name__in=[train, test]).update(patient_id="one")
    assert patients_in_two_splits(version) == 1
    with pytest.raises(ServiceError, match="Split the version again"):
        export(project, None, split="folders")
    again = split(version)
    assert again.made and again.merged == 1
    found = splits(version)
    assert found[train] == found[test] == "test"
    assert patients_in_two_splits(version) == 0


def test_erasing_a_patient_keeps_the_split_right(project, version):
    split(version)
    before = splits(version)
    erase_patient(project=project, patient_id="a", actor=None)
    assert splits(version) == {name: split for name, split in before.items() if name not in ("n0", "n1")}
    table = {row["split"]: row for row in split_table(version)}
    assert sum(row["notes"] for row in table.values()) == 8
    assert sum(row["spans"] for row in table.values()) == 8
    assert not split(version).made


def test_every_format_is_exported_in_folders(project, version, tmp_path):
    split(version)
    folders = splits(version)
    for format in FORMATS:
        out = tmp_path / format
        report = export(project, out, format=format, split="folders")
        manifest = json.loads((out / "export.json").read_text())
        assert manifest["split"] == {"seed": "s", "shares": SHARES, "layout": "folders", "notes": folders}
        files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
        if any(file.endswith(".txt") for file in files):
            assert {f"{folder}/{name}.txt" for name, folder in folders.items()} <= files, format
        reader, loaded = FORMATS[format], LoadedFiles(lambda name, out=out: (out / name).read_bytes())
        groups, _strays = reader.group(sorted(files))
        labels = {"PATIENT": "PATIENT", "DATE": "DATE"}
        notes = [note for group in groups for note in reader.read_many(group, loaded, labels)]
        assert {note.name.rpartition("/")[2] for note in notes} == set(folders) and len(notes) == 10, format
        assert all(any(f"/{folder}" in f"/{file}" for file in files) for folder in folders.values()), format
        assert report["notes"] == 10 and "notes" not in report["split"]
    (event, *_) = Event.objects.filter(verb=NOTES_EXPORTED)
    assert "n0" not in json.dumps(event.data)


def test_one_split_and_all_splits(project, version, tmp_path):
    for spec, part, says in (
        ("gold", "dev", "is not split"), ("gold:1", "valid", "no split “valid”"), ("gold:1", "dev", "is not split"),
    ):  # fmt: skip
        with pytest.raises(ServiceError, match=says):
            export(project, tmp_path / "x", spec, split=part)
    split(version)
    mine = {name for name, split in splits(version).items() if split == "test"}
    export(project, tmp_path / "test", split="test")
    assert {path.stem for path in (tmp_path / "test").glob("*.ann")} == mine
    assert set(json.loads((tmp_path / "test" / "export.json").read_text())["split"]["notes"]) == mine
    export(project, tmp_path / "all")
    manifest = json.loads((tmp_path / "all" / "export.json").read_text())
    assert manifest["split"]["layout"] == "together" and manifest["split"]["notes"] == splits(version)
    known = {"project_id": project.pk, "set_spec": "gold:1", "format": "brat", "actor_id": None, "progress": silent}
    result = run_export(**known, split="dev")
    stored = StoredFile.objects.get(pk=result["file_id"])
    assert (result["notes"], stored.name) == (2, "p-gold-1-dev-brat.zip")
    assert len([name for name in unzipped(open_stored(stored)) if name.endswith(".ann")]) == 2


def two_versions(project):
    first = frozen(project)
    n0, n1, n2, n3 = (AnnotationSet.objects.get(document__name=f"n{number}") for number in range(4))
    Span.objects.filter(annotation_set=n0).update(label=make.label_of(project, "DOCTOR"))
    Span.objects.filter(annotation_set=n1).update(end=5)
    Span.objects.filter(annotation_set=n2).delete()
    make.make_span(n2, 44, 50, "CITY")
    Span.objects.filter(annotation_set=n3).update(start=6, end=12, label=make.label_of(project, "DOCTOR"))
    AnnotationSet.objects.get(document__name="n9").delete()
    gold_note(project, "new", spans=[(0, 5, "PATIENT"), (44, 50, "CITY")])
    return first, frozen(project)


def test_the_commands(project):
    two_versions(project)
    found = answered("diff_gold", "p", 1, 2)
    assert found["added"] == [{"note": "new", "spans": 2}]
    assert {change["note"] for change in found["changes"]} == {"n0", "n1", "n2", "n3"}
    assert "Mario" not in json.dumps(found)
    made = answered("split_gold", "p", 2, "--seed", "s")
    assert made["new"] and sum(made["notes"].values()) == 10
    assert not answered("split_gold", "p", 2, "--seed", "s")["new"]
    assert GoldVersionNote.objects.filter(version__number=2, split="").count() == 0
    for words in (("split_gold", "p", 7, "--seed", "s"), ("diff_gold", "p", 1, 99999999999999)):
        assert answered(*words) == "version"
