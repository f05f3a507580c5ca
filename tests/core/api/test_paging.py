"""Lists in pages, as NDJSON, and with ETags."""

import pytest

from tests.factories import make_note
from tests.worlds.programs import lines_of


@pytest.fixture
def notes(world) -> list[int]:
    return [world.note.pk, *(make_note(world.project, f"Note {n}.").pk for n in range(4))]


def test_pages(world, notes):
    found, cursor, sizes = [], "", []
    while cursor is not None:
        page = world.program.get(f"/projects/ward/notes?limit=2&cursor={cursor}").json()
        found += [item["id"] for item in page["items"]]
        sizes.append(len(page["items"]))
        cursor = page["next"]
    assert (found, sizes) == (notes, [2, 2, 1])
    assert world.program.get("/projects/ward/notes?limit=5").json()["next"] is None, "the page ends with the list"
    cursor = world.program.get("/projects/ward/notes?limit=1").json()["next"]
    assert world.program.get(f"/projects?cursor={cursor}").status_code == 422, "a cursor belongs to its list"


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=x", "cursor=1", "cursor=1:forged", "state=none"])
def test_wrong_parameters(world, query):
    answer = world.program.get(f"/projects/ward/notes?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, query.partition("=")[0])


def test_all_rows_as_lines(world, notes, monkeypatch):
    monkeypatch.setattr("annotations.core.api.paging.MOST", 2)
    lines = lines_of(world.program.get("/projects/ward/notes", accept="application/x-ndjson"))
    assert [line["id"] for line in lines] == notes
    assert lines == world.program.get("/projects/ward/notes").json()["items"]
    some = lines_of(world.program.get("/projects/ward/notes?limit=3", accept="application/x-ndjson"))
    assert [line["id"] for line in some] == notes[:3]


def test_an_answer_that_the_client_has_is_not_sent_again(world):
    first = world.program.get("/projects/ward/notes")
    again = world.program.get("/projects/ward/notes", if_none_match=first.headers["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    make_note(world.project, "Another note.")
    assert world.program.get("/projects/ward/notes", if_none_match=first.headers["ETag"]).status_code == 200
