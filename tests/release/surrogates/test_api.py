"""The index of surrogates through the API."""

import pytest

from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.redaction.released import Mention
from annotations.release.services.surrogates.making import NoteMentions, surrogates_for
from tests.factories import make_member, make_note, make_project
from tests.worlds.programs import Program

INDEX = "/projects/ward/surrogates"
TEXT = "Anna Bianchi e Marco Verdi; Anna Bianchi torna."


@pytest.fixture
def program(db):
    project = make_project("ward", language="it")
    note = make_note(project, TEXT, patient_id="P-1")
    mentions = [
        Mention(start, start + len(name), "PATIENT", Kind.NAME, name)
        for name, start in (("Anna Bianchi", 0), ("Marco Verdi", 15), ("Anna Bianchi", 28))
    ]
    surrogates_for(project=project, notes=[NoteMentions(note.pk, "P-1", "it", TEXT, mentions)])
    return Program(make_member(project, "manager", "mia"))


def test_edits_of_an_entity(program):
    items = program.get(INDEX).json()["items"]
    assert [(one["mentions"], one["whose"]) for one in items] == [(2, "P-1"), (1, "P-1")]
    (anna,) = program.post(f"{INDEX}/search", {"text": "Bianchi"}).json()
    one = f"{INDEX}/{anna['id']}"
    etag = program.get(one).headers["ETag"]
    assert program.post(f"{one}/change", {"act": "lock"}).status_code == 428
    locked = program.post(f"{one}/change", {"act": "lock"}, if_match=etag)
    assert locked.json()["locked"]
    assert program.post(f"{one}/change", {"act": "unlock"}, if_match=etag).status_code == 412
    program.post(f"{one}/change", {"act": "unlock"}, if_match=locked.headers["ETag"])
    replaced = program.post(f"{one}/change", {"act": "replace", "text": "Carla Fonti"}, if_match="*").json()
    assert (replaced["forms"][0]["surrogate"], replaced["edited_by"]) == ("Carla Fonti", "mia")
    refused = program.post(f"{one}/change", {"act": "replace", "text": "Anna Bianchi"}, if_match="*")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "text")

    mentions = program.get(f"{one}/mentions").json()["items"]
    assert [(row["start"], row["marked"]) for row in mentions] == [(0, "Anna Bianchi"), (28, "Anna Bianchi")]
    made = program.post(f"{one}/split", {"mentions": [mentions[1]["id"]]}, if_match="*").json()
    assert made["id"] != anna["id"] and made["mentions"] == 1
    both = [{"entity": row["id"], "version": row["version"]} for row in (program.get(one).json(), made)]
    assert program.post(f"{INDEX}/merge", {"entities": both}).json()["mentions"] == 2
    assert program.get(f"{INDEX}?state=edited").json()["items"][0]["mentions"] == 2
