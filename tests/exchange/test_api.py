"""Exports, and imports in steps, through the API."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotations.models import Document, Job
from tests.factories import make_member, make_note, make_project, make_set
from tests.worlds.programs import Program
from tests.worlds.queue import worked
from tests.zips import unzipped

WARD = "/projects/ward"


@pytest.fixture
def program(db, no_redis):
    project = make_project("ward", anonymous_adjudication=True)
    note = make_note(project, name="visit-1")
    make_set(note, "gold", [(0, 11, "PATIENT")])
    make_set(note, make_member(project, "annotator", "ann"), [(0, 11, "PATIENT")], submitted=True)
    made = Program(make_member(project, "manager", "mia"))
    made.reviewer = Program(make_member(project, "reviewer", "rev"), scope="write")
    return made


def result_of(answer):
    assert answer.status_code == 202, answer.content
    return worked(Job.objects.get(project__slug="ward", number=answer.json()["number"])).result


def test_from_the_choices_to_the_exported_file(program):
    choices = program.get(f"{WARD}/exports/choices").json()
    assert choices["sets"] == ["gold", "annotator:ann"] and "conll" in choices["formats"]
    wanted = {"set": "gold", "format": "brat", "map_labels": {"PATIENT": "NAME"}}
    preview = program.post(f"{WARD}/exports/preview", wanted).json()
    assert preview["written"] == [{"code": "NAME", "spans": 1, "labels": {"PATIENT": 1}}]
    result = result_of(program.post(f"{WARD}/exports", wanted))
    (file,) = program.get(f"{WARD}/files").json()
    assert file["id"] == result["file_id"]
    content = b"".join(program.get(f"{WARD}/files/{file['id']}").streaming_content)
    assert len(content) == file["size"]
    assert unzipped(content)["visit-1.ann"].startswith(b"T1\tNAME 0 11")


def test_reviewers_export_no_annotations_whose_authors_they_may_not_know(program):
    reviewer = program.reviewer
    assert reviewer.get(f"{WARD}/exports/choices").json()["sets"] == ["gold"]
    assert reviewer.post(f"{WARD}/exports", {"set": "annotator:ann", "format": "brat"}).status_code == 403
    unknown = reviewer.post(f"{WARD}/exports", {"set": "run:none", "format": "brat"})
    assert unknown.json()["errors"][0]["field"] == "set" and "ann" not in unknown.json()["errors"][0]["reason"].split()


def test_fields_of_an_export_that_are_not_valid_are_named(program):
    def fields(**body):
        answer = program.post(f"{WARD}/exports", {"set": "gold", "format": "brat"} | body)
        return [error["field"] for error in answer.json()["errors"]]

    assert fields(format="odt") == ["format"]
    assert fields(split="train") == ["split"]
    assert fields(mapping="none") == ["mapping"]
    assert fields(map_labels={"NOBODY": "X"}) == ["map_labels"]
    upload = {"files": SimpleUploadedFile("a.txt", b"Anna"), "format": "odt"}
    (error,) = program.upload(f"{WARD}/imports", upload).json()["errors"]
    assert error["field"] == "format" and "auto, brat, conll" in error["reason"]


def test_clean_up_rules_are_left_out_by_both_routes(program):
    def text_of(name, path):
        page = SimpleUploadedFile(f"{name}.html", f"<p>{name} of&shy;fice</p>".encode())
        found = program.upload(f"{WARD}/{path}", {"files": page, "no_cleanup": ["soft-hyphens"]})
        result_of(found if path == "imports" else program.post(f"{WARD}/imports/{found.json()['id']}/start"))
        return Document.objects.get(name=name).text

    for name, path in (("a", "imports"), ("b", "imports/staged")):
        assert "\u00ad" in text_of(name, path)


def test_an_import_in_steps(program):
    files = [
        SimpleUploadedFile("visit-2.txt", b"Rosa Neri, Brandizzo."),
        SimpleUploadedFile("visit-2.ann", b"T1\tPATIENT 0 9\tRosa Neri\nT2\tVILLAGE 11 20\tBrandizzo\n"),
    ]
    staged = program.upload(f"{WARD}/imports/staged", {"files": files, "annotations": "gold"})
    assert staged.status_code == 201
    one, found = f"{WARD}/imports/{staged.json()['id']}", staged.json()
    assert (found["format"], found["state"], found["preview"]["notes"]) == ("brat", "staged", 1)
    assert [label["name"] for label in found["unknown_labels"]] == ["VILLAGE"]
    assert program.post(f"{one}/start").json()["code"] == "open-labels"
    assert program.patch(one, {"labels": {"VILLAGE": "map:NOTHING"}}).json()["errors"][0]["field"] == "labels.VILLAGE"
    changed = program.patch(one, {"labels": {"VILLAGE": "map:CITY"}, "all_or_nothing": True}).json()
    assert (changed["all_or_nothing"], changed["unknown_labels"][0]["chosen"]) == (True, "map")
    result_of(program.post(f"{one}/start"))
    report = program.get(one).json()
    assert (report["state"], report["report"]["spans"], report["preview"]) == ("done", 2, None)
    assert Document.objects.filter(name="visit-2").exists()
    assert program.delete(one).json()["code"] == "begun"
    assert [row["state"] for row in program.get(f"{WARD}/imports").json()["items"]] == ["done"]
