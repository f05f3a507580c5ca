"""Archives that are damaged or made to harm: refused with file and line, and nothing is imported."""

import io
import json
import random

import pytest
from django.core.management import call_command

from annotations.core.services import ServiceError
from annotations.formats.files import archives as container
from annotations.models import Document, Label, Project, User
from annotations.ops.services.archives.reading import import_archive
from tests import factories as make
from tests.ops.archives.archived_world import archive_of, changed, full_project, rows_of
from tests.zips import unzipped, zipped

PEOPLE = ["anna", "bruno", "carla", "rita", "rosa", "mia"]


@pytest.fixture(scope="module")
def made(django_db_setup, django_db_blocker):
    """An archive is written from committed rows, which are deleted again."""
    with django_db_blocker.unblock():
        archive = archive_of(full_project().project)
        call_command("flush", interactive=False, verbosity=0)
    return archive


@pytest.fixture
def archive(db, made):
    for name in PEOPLE:
        make.make_user(name)
    return made


def refused(archive: bytes) -> str:
    before = [model.objects.count() for model in (Project, Document, User, Label)]
    with pytest.raises(ServiceError) as error:
        import_archive(file=io.BytesIO(archive), slug="copy")
    assert [model.objects.count() for model in (Project, Document, User, Label)] == before, "something was imported"
    assert "Nothing was imported" in str(error.value)
    assert "Mario" not in str(error.value)
    return str(error.value)


def with_row(archive: bytes, name: str, line: int, /, **values: object) -> bytes:
    """The archive with other values in one row, counted from 1; `...` removes a key."""
    rows = rows_of(archive, name)
    rows[line - 1].update(values)
    rows[line - 1] = {key: value for key, value in rows[line - 1].items() if value is not ...}
    return changed(archive, name, "".join(json.dumps(row) + "\n" for row in rows).encode())


def test_files_that_are_no_archive(archive):
    assert "not a ZIP" in refused(b"")
    assert "not a ZIP" in refused(archive[: len(archive) // 2])
    assert "no manifest.json" in refused(zipped([("a.txt", b"")]))
    for manifest in (b"[]", b"{", b'{"product": "else"}', b'{"a": NaN}', b"[" * 5000, b"\xff"):
        assert "manifest.json" in refused(changed(archive, "manifest.json", manifest))


def test_other_versions_are_refused(archive):
    manifest = json.loads(unzipped(archive)["manifest.json"])
    for version in (1, 3, "2", None, True):
        told = refused(changed(archive, "manifest.json", json.dumps(manifest | {"format_version": version}).encode()))
        assert told.startswith("manifest.json: The format version must be 2.")


def test_wrong_content_is_noticed_by_its_hash(archive):
    data = unzipped(archive)["comment.jsonl"]
    told = refused(changed(archive, "comment.jsonl", data.replace(b"Yes.", b"Nay."), honest=False))
    assert told.startswith("comment.jsonl: ") and "SHA-256" in told
    told = refused(changed(archive, "comment.jsonl", data + b"{}\n", honest=False))
    assert told.startswith("comment.jsonl: The file has")


def test_missing_foreign_and_doubled_files(archive):
    files = unzipped(archive)
    less = {name: data for name, data in files.items() if name != "flag.jsonl"}
    assert refused(zipped(less)).startswith("flag.jsonl: The file is missing in the ZIP")
    for name in ("../evil.jsonl", "/etc/passwd", "folder/", "a\\b", "C:evil", ".hidden"):
        assert "no folders and no paths" in refused(zipped([*files.items(), (name, b"")]))
    assert "not part of a project archive" in refused(zipped([*files.items(), ("more.jsonl", b"")]))
    with pytest.warns(UserWarning):
        doubled = zipped([*files.items(), ("flag.jsonl", files["flag.jsonl"])])
    assert refused(doubled).startswith("flag.jsonl: The ZIP has two files of this name")


def test_bombs_are_refused_before_they_grow(archive, monkeypatch):
    assert "zip bomb" in refused(changed(archive, "document.jsonl", b" " * (container.SMALL + 1)))
    monkeypatch.setattr(container, "LONGEST_LINE", 100)
    assert refused(archive).startswith("labelset.jsonl") or "longer" in refused(archive)
    monkeypatch.setattr("annotations.formats.files.zips.MOST_ENTRIES", 100)
    assert "too many files" in refused(zipped((f"{number}", b"") for number in range(101)))


ROWS = [
    ("document.jsonl", 2, {"text": "Another text"}, "“sha256” that doesn't match the text"),
    ("document.jsonl", 2, {"name": "a\u202eb"}, "name of a note that is not allowed"),
    ("document.jsonl", 2, {"name": 3}, "“name” must be a text"),
    ("document.jsonl", 2, {"name": "x" * 256}, "at most 255 characters"),
    ("document.jsonl", 2, {"created_at": "yesterday"}, "“created_at” must be a time"),
    ("document.jsonl", 2, {"created_at": "2026-01-01T00:00:00"}, "“created_at” must be a time"),
    ("document.jsonl", 2, {"text": ...}, "lacks “text”"),
    ("document.jsonl", 2, {"more": 1}, "unknown keys: more"),
    ("annotationset.jsonl", 3, {"document": 99}, "“document” must be the number of a row of document.jsonl"),
    ("annotationset.jsonl", 3, {"author": "run"}, "“author” must be the number of a row of author.jsonl"),
    ("annotationset.jsonl", 3, {"state": "lost"}, "“state” must be one of: draft, submitted, withdrawn"),
    ("annotationset.jsonl", 3, {"version": -1}, "“version” must be a whole number from 0"),
    ("annotationset.jsonl", 3, {"version": True}, "“version” must be a whole number"),
    ("span.jsonl", 3, {"annotation_set": [1]}, "“annotation_set” must be the number of a row"),
    ("span.jsonl", 3, {"start": 3, "end": 3}, "must have “start” before “end”"),
    ("span.jsonl", 3, {"start": 3, "end": 9999}, "within the note"),
    ("span.jsonl", 3, {"label": 999}, "“label” must be the number of a row of label.jsonl"),
    ("span.jsonl", 3, {"provenance": {"x": 1}}, "unknown key"),
    ("span.jsonl", 3, {"provenance": {"set": 0}}, "must be the number of a row"),
    ("span.jsonl", 1, {"provenance": {"suggestion": 30}}, "names a row about another note"),
    ("span.jsonl", 30, {"provenance": {"suggestion": 1}}, "names a row about another note"),
    ("span.jsonl", 3, {"confidence": "1"}, "must be a number"),
    *(
        ("span.jsonl", 3, {"attributes": bad}, "“attributes” is not v")
        for bad in ([], {}, "x", *({"a": value} for value in (False, 1, {}, "", "x\n", "x" * 61)), {"<b>": True})
    ),
    *(
        ("label.jsonl", 1, {"attributes": bad}, "“attributes” is not valid: ")
        for bad in (None, {}, [1], [{"name": "a", "x": 1}], [{"name": "a b"}], [{"name": "a", "values": ["|"]}])
    ),
    *(("span.jsonl", line, {"attributes": {"Role": "Anna Verdi 8812345"}}, "doesn't define") for line in (1, 2)),
    ("labelmapping.jsonl", 1, {"name": "a\u202eb"}, "“name” must be a name without hidden"),
    ("labelmapping.jsonl", 1, {"name": " "}, "“name” must be a name without hidden"),
    ("labelmapping.jsonl", 1, {"created_by": "nobody"}, "“created_by” names a person"),
    ("mappedlabel.jsonl", 1, {"mapping": 9}, "“mapping” must be the number of a row"),
    ("mappedlabel.jsonl", 1, {"label": None}, "“label” must be the number of a row"),
    ("mappedlabel.jsonl", 1, {"code": "a\tb"}, "“code” may contain only"),
    ("mappedlabel.jsonl", 1, {"code": "x" * 61}, "“code” must have at most 60"),
    ("mappedlabel.jsonl", 2, {"code": "name"}, "“code” that differs only in case"),
    ("people.jsonl", 1, {"name": ""}, "must have a user name"),
    ("people.jsonl", 1, {"name": "a b/c\u202e"}, "user name"),
    ("people.jsonl", 2, {"name": "anna"}, "listed twice"),
    ("people.jsonl", 1, {"member": {"role": "root"}}, "“role” must be one of"),
    ("label.jsonl", 1, {"category": 99}, "“category” must be the number of a row"),
    ("label.jsonl", 1, {"merged_into": 2}, "in a circle"),
    ("comment.jsonl", 2, {"answers": 3}, "can answer only an earlier comment"),
    ("comment.jsonl", 2, {"answers": 2}, "can answer only an earlier comment"),
    ("comment.jsonl", 2, {"start": 9999, "end": 10000}, "within the note"),
    ("comment.jsonl", 2, {"author": "nobody"}, "“author” names a person"),
    ("decision.jsonl", 1, {"suggestion": 9999}, "“suggestion” must be the number of a row of span.jsonl"),
    ("decision.jsonl", 1, {"suggestion": 1}, "“suggestion” names a row about another note"),
    ("decision.jsonl", 1, {"cause": 99}, "“cause” must be the number of a row"),
    ("handover.jsonl", 1, {"outcome": {}}, "“outcome” must have “suggestions”"),
    ("handover.jsonl", 1, {"outcome": {"suggestions": {"x": None}, "others": []}}, "“outcome” must be the number"),
    ("handover.jsonl", 1, {"kept": 3}, "“kept” must be an object"),
    ("goldversionnote.jsonl", 1, {"version": 7}, "“version” must be the number of a row"),
    ("goldversionnote.jsonl", 1, {"spans": [[0, 1]]}, "“spans” has a list of the wrong length"),
    ("goldversionnote.jsonl", 1, {"spans": [[0, 1, "AGE", None, None]]}, "“spans” is not valid"),
    ("goldversionnote.jsonl", 1, {"spans": [[0, 1, "AGE", None, {"a": 1}]]}, "“spans” is not valid"),
    ("goldversionnote.jsonl", 1, {"spans": [[0, 1, "AGE", None, {"a": True}, 1]]}, "“spans” has a list"),
    ("goldversionnote.jsonl", 1, {"spans": [[0, 9999, "AGE", None]]}, "“spans” must give spans within the note"),
    ("resolution.jsonl", 1, {"heard": [1]}, "“heard” must be an object"),
    ("bulkact.jsonl", 1, {"rule": {"kind": "label", "runs": [], "x": 1}}, "“rule” has an unknown key"),
    ("project.jsonl", 1, {"planted_share": 7}, "“planted_share” must be one of"),
    ("project.jsonl", 1, {"seed_from": 1}, "“seed_from” must be a run"),
]


def test_every_broken_row_is_named_with_its_file_and_line(archive):
    for name, line, values, message in ROWS:
        told = refused(with_row(archive, name, line, **values))
        assert message in told and told.startswith(name), (name, values, told)
        assert f", line {line}: " in told or "circle" in told, told


def test_doubled_rows_are_refused(archive):
    for name, keys in (
        ("document.jsonl", ["name"]),
        ("span.jsonl", ["annotation_set", "start", "end", "label"]),
        ("mappedlabel.jsonl", ["label"]),
    ):
        first = rows_of(archive, name)[0]
        assert "Two rows are the same" in refused(with_row(archive, name, 2, **{key: first[key] for key in keys}))


def test_a_frozen_version_must_have_its_content(archive):
    rows = rows_of(archive, "goldversionnote.jsonl")
    told = refused(with_row(archive, "goldversionnote.jsonl", 1, spans=rows[0]["spans"][1:]))
    assert "gold version 1 don't fit its content hash" in told


def test_broken_json_is_named_with_its_line(archive):
    for bad in (b"{", b"[]", b"3", b"\xff\xfe", b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": "\\ud800"}', b"[" * 9000):
        data = unzipped(archive)["flag.jsonl"].splitlines(keepends=True)
        told = refused(changed(archive, "flag.jsonl", data[0] + bad + b"\n"))
        assert told.startswith("flag.jsonl, line 2: "), told


def test_mutated_archives_are_refused_or_whole(archive):
    """Random damage to bytes of the ZIP, and to values of rows, never crashes and never imports a part."""
    chance = random.Random(19)
    for _ in range(20):
        damaged = bytearray(archive)
        for _ in range(chance.randint(1, 20)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        _refused_or_whole(bytes(damaged))
    names = [name for name in unzipped(archive) if name != "manifest.json"]
    for _ in range(40):
        name = chance.choice(names)
        rows = rows_of(archive, name)
        line = chance.randrange(len(rows))
        key = chance.choice(list(rows[line]))
        rows[line][key] = chance.choice([None, -1, 2**40, "", "x", [], {}, [None], {"a": None}, True, 0.5, [[[]]]])
        _refused_or_whole(changed(archive, name, "".join(json.dumps(row) + "\n" for row in rows).encode()))


def _refused_or_whole(archive: bytes) -> None:
    projects = Project.objects.count()
    try:
        _slug, imported = import_archive(file=io.BytesIO(archive), slug=f"copy-{projects}")
    except ServiceError:
        assert Project.objects.count() == projects
    else:
        assert Project.objects.count() == projects + 1 and imported["notes"] == 9
