"""Labels, categories, guidelines, assignments and the audit log through the API."""

import pytest

from annotations.core.services import sentences
from annotations.models import Assignment, Label, LabelSet, Project, Span
from annotations.projects.forms.settings import SettingsForm
from tests.factories import label_of, make_member, make_note, make_project, make_set, reread
from tests.worlds.programs import Program

WARD = "/projects/ward"
STATUS = {"name": "Status", "values": ["current", "past"]}


@pytest.fixture
def project(db) -> Project:
    return make_project("ward")


@pytest.fixture
def program(project) -> Program:
    return Program(make_member(project, "manager", "mia"))


def errors_of(answer) -> dict[str, str]:
    assert answer.status_code == 422
    return {error["field"]: error["reason"] for error in answer.json()["errors"]}


def test_a_project_gets_the_short_name_that_is_asked_for(program):
    new = {"name": "Ward of March", "label_set": "meddocan"}
    assert program.post("/projects", new | {"slug": "w-03"}).json()["slug"] == "w-03"
    assert program.post("/projects", new).json()["slug"] == "ward-of-march"
    assert "w-03" in errors_of(program.post("/projects", new | {"slug": "w-03"}))["slug"]
    assert list(errors_of(program.post("/projects", new | {"slug": "Not/this"}))) == ["slug"]


def test_every_setting_is_read_and_changed(program, project):
    assert set(program.get(f"{WARD}/settings").json()) == set(SettingsForm.base_fields)
    assert program.patch(f"{WARD}/settings", {"second_factor": True}).json()["second_factor"] is True
    assert reread(project).second_factor


# ── Labels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_label_from_its_category_to_its_merge(program, project):
    category = program.post(f"{WARD}/categories", {"name": "Place"})
    assert (category.status_code, category.json()["code"], category.json()["position"]) == (201, "Place", 4)
    made = program.post(f"{WARD}/labels", {"name": "Ward", "category": "Place", "attributes": [STATUS]})
    assert made.status_code == 201
    one = f"{WARD}/labels/{made.json()['id']}"
    note = make_note(project)
    make_set(note, program.token.user, [(0, 5, "Ward"), (0, 5, "CITY"), (6, 11, "Ward")])

    read = program.get(one)
    assert (read.json()["attributes"], read.json()["category"]) == ([STATUS], "Place")
    renamed = program.patch(one, {"name": "Hospital ward"}, if_match=read.headers["ETag"])
    assert (renamed.json()["name"], renamed.json()["code"]) == ("Hospital ward", "Ward")
    assert renamed.json()["attributes"] == [STATUS]
    late = program.patch(one, {"name": "Other"}, if_match=read.headers["ETag"])
    assert (late.status_code, late.headers["ETag"]) == (412, renamed.headers["ETag"])

    counts = {"source": "Ward", "target": "CITY", "spans": 2, "notes": 1, "already_there": 1}
    assert program.get(f"{one}/merge?into=CITY").json() == counts | {"frozen_versions": 0}
    assert program.get(f"{one}/uses").json() == {"uses": ["Spans: 2, in notes: 1"]}
    assert program.delete(one).json()["code"] == "used"
    assert program.post(f"{one}/merge", {"into": "CITY"}).json() == counts
    assert sorted(Span.objects.values_list("start", "label__code")) == [(0, "CITY"), (6, "CITY")]
    assert program.get(one).json()["merged_into"] == "CITY"
    city = f"{WARD}/labels/{label_of(project, 'CITY').pk}/move"
    assert [program.post(city, {"position": at}).json()["code"] for at in (99, 0)] == ["CITY"] * 2
    assert set(errors_of(program.post(city, {"position": -1}))) == {"position"}
    assert errors_of(program.post(f"{one}/merge", {"into": "AGE"})) == {"into": "This label was already merged."}
    assert program.patch(one, {"name": "Again"}, if_match="*").json()["code"] == "merged"


def test_spans_are_counted_for_managers_only(program, project):
    make_set(make_note(project), program.token.user, [(0, 5, "CITY")])

    def counts(asked: Program) -> set[int | None]:
        return {row["spans"] for row in asked.get(f"{WARD}/labels").json()["items"]}

    assert counts(program) == {0, 1} and counts(Program(make_member(project, "annotator"))) == {None}


def test_what_is_wrong_with_a_label(program):
    right = {"name": "Ward", "category": "C2"}
    for field, value in (("name", "CITY"), ("category", "nowhere"), ("hotkey", "d")):
        assert set(errors_of(program.post(f"{WARD}/labels", right | {field: value}))) == {field}
    twice = {"name": "Ward", "category": "C2", "attributes": [STATUS, STATUS]}
    assert "occurs twice" in errors_of(program.post(f"{WARD}/labels", twice))["attributes"]
    assert not Label.objects.filter(name="Ward").exists()


def test_categories_in_their_order(program, project):
    place = label_of(project, "CITY").category
    one = f"{WARD}/categories/{place.pk}"
    read = program.get(one)
    changed = program.patch(one, {"name": "Place"}, if_match=read.headers["ETag"])
    assert (changed.json()["name"], changed.json()["hue"]) == ("Place", place.hue)
    assert program.patch(one, {"hue": 1}, if_match=read.headers["ETag"]).status_code == 412
    assert program.patch(one, {"hue": 1}).status_code == 428
    assert set(errors_of(program.patch(one, {"name": "DATE"}, if_match="*"))) == {"name"}
    assert program.post(f"{one}/move", {"position": 0}).json()["position"] == 0
    names = LabelSet.objects.get(project=project).categories.values_list("name", flat=True)
    assert list(names) == ["Place", "NAME", "DATE", "AGE"] and program.delete(one).json()["code"] == "used"
    empty = program.post(f"{WARD}/categories", {"name": "Empty"}).json()["id"]
    assert program.delete(f"{WARD}/categories/{empty}").status_code == 204


# ── Guidelines, assignments, audit log ───────────────────────────────────────────────────────────────────────────────


def test_guidelines_keep_a_newer_version(program):
    first = program.get(f"{WARD}/guidelines")
    written = program.patch(f"{WARD}/guidelines", {"text": "# Names"}, if_match=first.headers["ETag"])
    assert (written.json()["text"], written.json()["version"]) == ("# Names", 1)
    late = program.patch(f"{WARD}/guidelines", {"text": "# Dates"}, if_match=first.headers["ETag"])
    assert (late.status_code, late.headers["ETag"]) == (412, written.headers["ETag"])
    assert set(errors_of(program.patch(f"{WARD}/guidelines", {"text": "x" * 200_001}, if_match="*"))) == {"text"}


def test_notes_are_assigned_released_and_taken_back(program, project):
    ada = make_member(project, "annotator", "ada")
    note = make_note(project, name="visit")
    body = {"annotator": "ada", "names": ["visit"]}
    assert program.post(f"{WARD}/assignments", body).json() == {"assigned": 1}
    [row] = program.get(f"{WARD}/assignments").json()["items"]
    assert (row["note"], row["username"], row["state"]) == (note.pk, "ada", "open")
    Assignment.objects.update(state="released")
    assert Program(ada).post(f"{WARD}/assignments/take-back").json() == {"assigned": 1}
    make_note(project)
    assert program.post(f"{WARD}/assignments/fill").json() == {"assigned": 1}
    assert program.post(f"{WARD}/assignments/pilot").json()["code"] == "nobody", "a pilot needs two annotators"
    make_member(project, "annotator", "bob")
    assert program.post(f"{WARD}/assignments/pilot").json() == {"assigned": 0}, "notes are assigned already"
    Assignment.objects.all().delete()
    assert program.post(f"{WARD}/assignments/pilot").json() == {"assigned": 2}
    assert Assignment.objects.count() == 4
    assert "visit2" in errors_of(program.post(f"{WARD}/assignments", body | {"names": ["visit2"]}))["names"]
    assert set(errors_of(program.post(f"{WARD}/assignments", body | {"annotator": "mia"}))) == {"annotator"}


def test_the_audit_log_by_act_and_person(program, project):
    program.post(f"{WARD}/categories", {"name": "Place"})
    program.post(f"{WARD}/categories", {"name": "Time"})
    added = {"verb": "category.added", "who": "mia", "what": sentences()["category.added"]}
    first = program.get(f"{WARD}/audit?verb=category.added&limit=1").json()
    assert [added | {"details": "category: Time"}] == [
        {key: row[key] for key in (*added, "details")} for row in first["items"]
    ]
    second = program.get(f"{WARD}/audit?verb=category.added&cursor={first['next']}").json()
    assert ([row["details"] for row in second["items"]], second["next"]) == (["category: Place"], None)
    assert program.get(f"{WARD}/audit?command_line=true").json()["items"] == []
    assert len(program.get(f"{WARD}/audit?person=mia").json()["items"]) >= 2
    assert set(errors_of(program.get(f"{WARD}/audit?person=nobody"))) == {"person"}
    assert set(errors_of(program.get(f"{WARD}/audit?verb=nothing"))) == {"verb"}
