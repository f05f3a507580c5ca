"""Archives that are damaged or made to harm: refused with file and line, and nothing is imported."""

import io
import json
import random

import pytest
from django.core.management import call_command

from annotations.core.errors import ServiceError
from annotations.formats.files import archives as container
from annotations.models import Document, Label, Project, User
from annotations.ops.services.archives.looking import look_into
from annotations.ops.services.archives.reading import import_archive
from tests import factories as make
from tests.ops.archives.archived_world import archive_of, changed, files_of, full_project, rows_of, zipped

pytestmark = pytest.mark.django_db
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
    after = [model.objects.count() for model in (Project, Document, User, Label)]
    assert after == before, "something was imported"
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
    manifest = json.loads(files_of(archive)["manifest.json"])
    for version in (2, 0, "1", None, True):
        told = refused(changed(archive, "manifest.json", json.dumps(manifest | {"format_version": version}).encode()))
        assert told.startswith("manifest.json: The format version must be 1.")


def test_wrong_content_is_noticed_by_its_hash(archive):
    data = files_of(archive)["comments.jsonl"]
    told = refused(changed(archive, "comments.jsonl", data.replace(b"Yes.", b"Nay."), honest=False))
    assert told.startswith("comments.jsonl: ") and "SHA-256" in told
    told = refused(changed(archive, "comments.jsonl", data + b"{}\n", honest=False))
    assert told.startswith("comments.jsonl: The file has")


def test_missing_foreign_and_doubled_files(archive):
    files = files_of(archive)
    less = {name: data for name, data in files.items() if name != "flags.jsonl"}
    assert refused(zipped(less.items())).startswith("flags.jsonl: The file is missing in the ZIP")
    for name in ("../evil.jsonl", "/etc/passwd", "folder/", "a\\b", "C:evil", ".hidden"):
        assert "no folders and no paths" in refused(zipped([*files.items(), (name, b"")]))
    assert "no part of a project archive" in refused(zipped([*files.items(), ("more.jsonl", b"")]))
    with pytest.warns(UserWarning):
        doubled = zipped([*files.items(), ("flags.jsonl", files["flags.jsonl"])])
    assert refused(doubled).startswith("flags.jsonl: The ZIP has two files of this name")


def test_bombs_are_refused_before_they_grow(archive, monkeypatch):
    assert "zip bomb" in refused(changed(archive, "notes.jsonl", b" " * (container.SMALL + 1)))
    monkeypatch.setattr(container, "LONGEST_LINE", 100)
    assert refused(archive).startswith("label_set.jsonl") or "longer" in refused(archive)
    monkeypatch.setattr("annotations.formats.files.zips.MOST_ENTRIES", 100)
    assert "too many files" in refused(zipped((f"{number}", b"") for number in range(101)))


ROWS = [
    ("notes.jsonl", 2, {"text": "Another text"}, "“sha256” doesn't fit the text"),
    ("notes.jsonl", 2, {"name": "whole"}, "Two rows are the same"),
    ("notes.jsonl", 2, {"name": "a\u202eb"}, "name of the note is not allowed"),
    ("notes.jsonl", 2, {"name": 3}, "“name” must be a text"),
    ("notes.jsonl", 2, {"name": "x" * 256}, "at most 255 characters"),
    ("notes.jsonl", 2, {"created_at": "yesterday"}, "“created_at” must be a time"),
    ("notes.jsonl", 2, {"created_at": "2026-01-01T00:00:00"}, "“created_at” must be a time"),
    ("notes.jsonl", 2, {"text": ...}, "lacks “text”"),
    ("notes.jsonl", 2, {"more": 1}, "unknown keys: more"),
    ("sets.jsonl", 3, {"note": "nowhere"}, "“note” names a note that is not in notes.jsonl"),
    ("sets.jsonl", 3, {"author": ["run", "nobody"]}, "“author” names an author"),
    ("sets.jsonl", 3, {"author": "run"}, "“author” names an author"),
    ("sets.jsonl", 3, {"state": "lost"}, "“state” must be one of: draft, submitted, withdrawn"),
    ("sets.jsonl", 3, {"version": -1}, "“version” must be a whole number from 0"),
    ("sets.jsonl", 3, {"version": True}, "“version” must be a whole number"),
    ("sets.jsonl", 3, {"spans": {}}, "“spans” must be a list"),
    ("sets.jsonl", 3, {"spans": [[0, 1, "AGE"]]}, "Each span must be an object"),
    ("sets.jsonl", 3, {"spans": [{"start": 3, "end": 3, "label": "AGE"}]}, "empty or not within the note"),
    ("sets.jsonl", 3, {"spans": [{"start": 3, "end": 9999, "label": "AGE"}]}, "must be within the note"),
    ("sets.jsonl", 3, {"spans": [{"start": 3, "end": 4, "label": "NONE"}]}, "“label” names a label"),
    ("sets.jsonl", 3, {"spans": [{"start": 3, "end": 4, "label": "AGE"}] * 2}, "Two rows are the same"),
    ("sets.jsonl", 3, {"spans": [{"start": 0, "end": 4, "label": "AGE", "provenance": {"x": 1}}]}, "unknown key"),
    ("sets.jsonl", 3, {"spans": [{"start": 0, "end": 4, "label": "AGE", "confidence": "1"}]}, "must be a number"),
    *(
        (
            "sets.jsonl",
            3,
            {"spans": [{"start": 0, "end": 4, "label": "AGE", "attributes": bad}]},
            "“attributes” is not v",
        )
        for bad in ([], {}, "x", *({"a": value} for value in (False, 1, {}, "", "x\n", "x" * 61)), {"<b>": True})
    ),
    *(
        ("labels.jsonl", 1, {"attributes": bad}, "“attributes” is not valid: ")
        for bad in (None, {}, [1], [{"name": "a", "x": 1}], [{"name": "a b"}], [{"name": "a", "values": ["|"]}])
    ),
    *(
        (
            "sets.jsonl",
            3,
            {"spans": [{"start": 0, "end": 4, "label": label, "attributes": {"Role": "Anna Verdi 8812345"}}]},
            "doesn't define",
        )
        for label in ("AGE", "PATIENT")
    ),
    ("label_mappings.jsonl", 1, {"name": "a\u202eb"}, "“name” must be a name without hidden"),
    ("label_mappings.jsonl", 1, {"name": " "}, "“name” must be a name without hidden"),
    ("label_mappings.jsonl", 1, {"created_by": "nobody"}, "“created_by” names a person"),
    ("mapped_labels.jsonl", 1, {"mapping": "none"}, "“mapping” names a label mapping"),
    ("mapped_labels.jsonl", 1, {"label": "none"}, "“label” names a label"),
    ("mapped_labels.jsonl", 1, {"code": "a\tb"}, "“code” may contain only"),
    ("mapped_labels.jsonl", 1, {"code": "x" * 61}, "“code” must have at most 60"),
    ("mapped_labels.jsonl", 2, {"code": "name"}, "“code” differs only in case"),
    ("mapped_labels.jsonl", 1, {"label": "AGE"}, "Two rows are the same"),
    ("people.jsonl", 1, {"name": ""}, "must have a user name"),
    ("people.jsonl", 1, {"name": "a b/c\u202e"}, "user name"),
    ("people.jsonl", 2, {"name": "anna"}, "listed twice"),
    ("people.jsonl", 1, {"member": {"role": "root"}}, "“role” must be one of"),
    ("labels.jsonl", 1, {"category": "none"}, "“category” names a category"),
    ("labels.jsonl", 1, {"merged_into": "none"}, "names a label that is not in labels.jsonl"),
    ("labels.jsonl", 1, {"merged_into": "DOCTOR"}, "in a circle"),
    ("comments.jsonl", 2, {"answers": 3}, "can answer only an earlier one"),
    ("comments.jsonl", 2, {"answers": 2}, "can answer only an earlier one"),
    ("comments.jsonl", 2, {"start": 9999, "end": 10000}, "must be within the note"),
    ("comments.jsonl", 2, {"author": "nobody"}, "“author” names a person"),
    ("decisions.jsonl", 1, {"suggestion": ["run", "rules-1", 1, 2, "AGE"]}, "“suggestion” names a span"),
    ("decisions.jsonl", 1, {"bulk": 99}, "“bulk” gives the number of an act"),
    ("second_reviews.jsonl", 1, {"outcome": {}}, "“outcome” must have suggestions"),
    ("second_reviews.jsonl", 1, {"kept": 3}, "“kept” must be null"),
    ("gold_version_notes.jsonl", 1, {"version": 7}, "“version” names a gold version"),
    ("gold_version_notes.jsonl", 1, {"spans": [[0, 1]]}, "“spans” must list spans"),
    ("gold_version_notes.jsonl", 1, {"spans": [[0, 1, "AGE", None, None]]}, "“spans” is not valid"),
    ("gold_version_notes.jsonl", 1, {"spans": [[0, 1, "AGE", None, {"a": 1}]]}, "“spans” is not valid"),
    ("gold_version_notes.jsonl", 1, {"spans": [[0, 1, "AGE", None, {"a": True}, 1]]}, "“spans” must list spans"),
    ("adjudication_decisions.jsonl", 1, {"heard": [1]}, "“heard” must list pairs"),
    ("bulk_acts.jsonl", 1, {"rule": {"runs": [], "x": 1}}, "“rule” has an unknown key"),
    ("project.jsonl", 1, {"planted_share": 7}, "“planted_share” must be one of"),
    ("project.jsonl", 1, {"seed_from": ["gold", "gold"]}, "“seed_from” must be a run"),
]


def test_every_broken_row_is_named_with_its_file_and_line(archive):
    for name, line, values, message in ROWS:
        told = refused(with_row(archive, name, line, **values))
        assert message in told and told.startswith(name), (name, values, told)
        assert f", line {line}: " in told or "circle" in told or "Two rows" in told, told


def test_a_frozen_version_must_have_its_content(archive):
    rows = rows_of(archive, "gold_version_notes.jsonl")
    told = refused(with_row(archive, "gold_version_notes.jsonl", 1, spans=rows[0]["spans"][1:]))
    assert "gold version 1 don't fit its content hash" in told


def test_broken_json_is_named_with_its_line(archive):
    for bad in (b"{", b"[]", b"3", b"\xff\xfe", b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": "\\ud800"}', b"[" * 9000):
        data = files_of(archive)["flags.jsonl"].splitlines(keepends=True)
        told = refused(changed(archive, "flags.jsonl", data[0] + bad + b"\n"))
        assert told.startswith("flags.jsonl, line 2: "), told


def test_mutated_archives_are_refused_or_whole(archive):
    """Random damage to bytes of the ZIP, and to values of rows, never crashes and never imports a part."""
    chance = random.Random(19)
    for _ in range(20):
        damaged = bytearray(archive)
        for _ in range(chance.randint(1, 20)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        _refused_or_whole(bytes(damaged))
    names = [name for name in files_of(archive) if name != "manifest.json"]
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
        imported = import_archive(file=io.BytesIO(archive), slug=f"copy-{projects}")
    except ServiceError:
        assert Project.objects.count() == projects
    else:
        assert Project.objects.count() == projects + 1 and imported.notes == 9


def test_the_preview_refuses_what_is_no_archive(archive):
    found = look_into(io.BytesIO(archive))
    assert (found.slug, found.counts["notes"], [each.account for each in found.people]) == ("covid", 9, PEOPLE)
    with pytest.raises(ServiceError):
        look_into(io.BytesIO(b"PK"))
