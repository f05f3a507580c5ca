"""Gold through the API: make, freeze, split, compare, count, withdraw."""

from types import SimpleNamespace

from tests.factories import make_member, make_note, make_project, make_set
from tests.held import made_once
from tests.worlds.programs import Program, lines_of

GOLD = "/projects/ward/gold"


def make_ward():
    project = make_project("ward")
    ann, rev = make_member(project, "annotator", "ann"), make_member(project, "reviewer", "rev")
    notes = [make_note(project, annotators=[ann], patient_id=f"P-{at}") for at in range(3)]
    sets = [make_set(note, ann, [(0, 11, "PATIENT")], submitted=True) for note in notes]
    return SimpleNamespace(project=project, notes=notes, sets=sets, ann=ann, program=Program(rev, scope="write"))


made, ward = made_once(make_ward)


def make(ward, at, **body):
    chosen = {"set": ward.sets[at].pk, "version": ward.sets[at].version}
    return ward.program.post(f"/projects/ward/notes/{ward.notes[at].pk}/gold", chosen | body)


def test_from_annotations_to_the_changes_between_versions(ward):
    api = ward.program
    assert [(one["name"], one["free"]) for one in api.get(GOLD).json()["sources"]] == [("ann", 3)]
    assert make(ward, 0).json()["spans"] == 1
    assert make(ward, 1, version=99).json()["code"] == "changed"
    assert make(ward, 1).status_code == 200
    first = api.post(f"{GOLD}/versions", {"reason": "A first look"})
    assert (first.status_code, first.json()["number"], first.json()["notes"]) == (201, 1, 2)
    assert api.post(f"{GOLD}/versions", {}).status_code == 200
    split = api.post(f"{GOLD}/versions/1/split", {"seed": "one"}).json()
    assert (split["seed"], sum(part["notes"] for part in split["split"]), split["in_two_splits"]) == ("one", 2, 0)
    assert api.get(f"{GOLD}/versions/1/statistics").json()["splits"]["total"]["spans"] == 2
    assert [row["id"] for row in api.get(f"{GOLD}/versions/1/notes").json()["items"]] == [
        note.pk for note in ward.notes[:2]
    ]

    gold = f"/projects/ward/notes/{ward.notes[0].pk}/gold"
    assert api.delete(gold).status_code == 428
    assert api.delete(gold, if_match='"gold-1-99"').status_code == 412
    assert api.delete(gold, if_match=api.get(gold).headers["ETag"]).status_code == 204
    assert api.post(f"{GOLD}/versions", {}).json()["number"] == 2
    changes = api.get(f"{GOLD}/versions/2/changes").json()
    assert (changes["notes"]["removed"], changes["removed"]) == (1, [[ward.notes[0].pk, 1]])
    assert [row["number"] for row in lines_of(api.get(f"{GOLD}/versions", accept="application/x-ndjson"))] == [2, 1]


def test_a_ready_made_split_by_name_pattern_and_folder(ward):
    names = ["dev/uno", "test/due", "tre"]
    for at, (note, name) in enumerate(zip(ward.notes, names, strict=True)):
        note.name = name
        note.save(update_fields=["name"])
        make(ward, at)
    ward.program.post(f"{GOLD}/versions", {})
    where = f"{GOLD}/versions/1/split"
    lines = "# made elsewhere\ndev/*,dev\nt*\ttrain\ntest/due,test\n"
    made = ward.program.post(where, {"lines": lines}).json()
    assert (made["seed"], {part["split"]: part["notes"] for part in made["split"]}) == (
        "ready-made", {"train": 1, "dev": 1, "test": 1}
    )  # fmt: skip
    assert ward.program.post(where, {"lines": lines}).json() == made
    rows = ward.program.get(f"{GOLD}/versions/1/notes").json()["items"]
    assert {row["name"]: row["split"] for row in rows} == {"dev/uno": "dev", "test/due": "test", "tre": "train"}
    assert ward.program.post(where, {"lines": "*,train", "seed": "mine"}).json()["seed"] == "mine"
    for wrong, why in (
        ("dev/*,dev", "2 of 3 notes have no split"),
        ("*,train\nquattro,dev", "Line 2: this version has no note “quattro”"),
        (" ", "required"),
    ):
        answer = ward.program.post(where, {"lines": wrong})
        assert answer.status_code == 422, answer.content
        (error,) = answer.json()["errors"]
        assert error["field"] == "lines" and why in error["reason"]
    for path, body in (
        ("versions", {"reason": "x" * 301}), ("versions/1/split", {"train": 0, "seed": "one"}),
        ("make", {"author": 2**40}),
    ):  # fmt: skip
        (error,) = ward.program.post(f"{GOLD}/{path}", body).json()["errors"]
        assert error["field"] == next(iter(body))


def test_annotators_with_hidden_names_are_no_source(ward):
    ward.project.anonymous_adjudication = True
    ward.project.save(update_fields=["anonymous_adjudication"])
    assert ward.program.get(GOLD).json()["sources"] == []
    assert make(ward, 0).status_code == 404
    assert ward.program.post(f"{GOLD}/make", {"author": ward.sets[0].author_id}).status_code == 403
