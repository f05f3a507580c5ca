"""Figures of agreement, disagreements and amendments through the API."""

from django.db.models import F

from annotations.agreement.services import figures as service
from annotations.models import AnnotationSet, Event
from tests import factories as make
from tests.worlds.programs import Program, fields_of, lines_of

NAME, AGE = (0, 11), (13, 15)
WARD = "/projects/covid"


def test_figures_by_unit_pair_label_and_note(read):
    found = read.rita.get(f"{WARD}/agreement?unit=entity").json()
    assert (found["notes"], found["annotators"], found["units"]) == (1, ["ann", "ben"], 3)
    [pair] = found["pairs"]
    assert (pair["a"], pair["b"], pair["spans"], pair["overlap"]["value"]) == ("ann", "ben", [2, 1], 2 / 3)
    assert {row["value"] for row in found["labels"]} == {"PATIENT", "AGE"}
    assert [row["matching"] for row in found["recall"]] == ["overlap", "exact"]
    assert [(row["round"], row["began"]) for row in found["rounds"]] == [(1, None)]
    assert found["left_out"] == {"not_blind": 0, "seeded": 0, "drafts": 0}
    [note] = read.rita.get(f"{WARD}/agreement/notes?unit=entity").json()["items"]
    assert (note["note"], note["name"], note["units"]) == (read.note.pk, read.note.name, 3)
    assert fields_of(read.rita.get(f"{WARD}/agreement?unit=entity&granularity=bio")) == ["granularity"]
    table = b"".join(read.rita.get(f"{WARD}/agreement.csv?unit=entity").streaming_content).decode().splitlines()
    assert (table[0], len(table)) == ('"note","start","end","ann","ben"', 4)
    assert Event.objects.get(verb="file.downloaded").data == {"agreement": "entity"}


def test_figures_by_note_are_read_in_parts_and_a_cursor_belongs_to_its_annotations(read, monkeypatch):
    monkeypatch.setattr(service, "PART", 1)
    for number, spans in enumerate([[(*NAME, "PATIENT")], []]):
        note = make.make_note(read.project, name=f"more-{number}")
        for person in (read.ann, read.ben):
            make.make_set(note, person, spans if person is read.ann else [(*NAME, "PATIENT")], submitted=True)
    address = f"{WARD}/agreement/notes?unit=token&limit=1"
    read.rita.get(address)
    named, asked = service.named_notes, []
    monkeypatch.setattr(service, "named_notes", lambda project, rows: asked.append(len(rows)) or named(project, rows))
    pages, cursor = [], ""
    for _ in range(3):
        page = read.rita.get(f"{address}&cursor={cursor}").json()
        pages, cursor = [*pages, *page["items"]], page["next"] or cursor
    assert asked == [2, 2, 1], "never the whole table"
    alphas = [row["alpha"] for row in pages]
    assert len({row["note"] for row in pages}) == 3 and alphas == sorted(alphas) and page["next"] is None
    AnnotationSet.objects.filter(pk=read.sets[0].pk).update(version=F("version") + 1)
    assert fields_of(read.rita.get(f"{address}&cursor={cursor}")) == ["cursor"]


def test_a_job_computes_the_figures_of_a_large_project(read, monkeypatch):
    monkeypatch.setattr(service, "AT_ONCE_ANNOTATION_SETS", 1)
    waiting = read.rita.get(f"{WARD}/agreement")
    assert (waiting.status_code, waiting.json()["code"]) == (409, "not-computed")
    job = read.rita.post(f"{WARD}/agreement/compute", {"unit": "token"})
    assert (job.status_code, job.json()["kind"]) == (202, "agreement")
    assert read.rita.post(f"{WARD}/agreement/compute", {}).json()["number"] == job.json()["number"]
    service.figures_of(project=read.project, unit=service.ComparedUnit.TOKEN)
    assert read.rita.get(f"{WARD}/agreement").status_code == 200


def test_disagreements_in_pages_with_their_causes(read):
    first = read.rita.get(f"{WARD}/disagreements?limit=1").json()
    [name] = first["items"]
    assert (name["start"], name["end"], name["kinds"], name["causes"]) == (*NAME, ["boundary"], [])
    assert name["sentence"]["tags"]["ann"][:2] == ["B-PATIENT", "I-PATIENT"]
    second = read.rita.get(f"{WARD}/disagreements?cursor={first['next']}").json()
    assert ([row["kinds"] for row in second["items"]], second["next"]) == ([["missed"]], None)
    assert len(lines_of(read.rita.get(f"{WARD}/disagreements", accept="application/x-ndjson"))) == 2

    one = f"{WARD}/notes/{read.note.pk}/disagreements/0/11"
    assert read.rita.post(f"{one}/causes", {"kind": "AM"}).json() == {"causes": ["AM"]}
    assert read.rita.get(one).json() == name | {"causes": ["AM"]}
    assert fields_of(read.rita.post(f"{one}/causes", {"kind": "X"})) == ["kind"]
    assert read.rita.post(f"{WARD}/notes/{read.note.pk}/disagreements/5/5000/causes", {"kind": "AM"}).status_code == 404
    for query, total in (
        ("cause=AM", 1), ("label=AGE", 1), ("pair=ann,ben", 2), ("round=2", 0), ("annotation_sets=all", 2),
    ):  # fmt: skip
        assert read.rita.get(f"{WARD}/disagreements/counts?{query}").json()["total"] == total, query
    assert read.rita.post(f"{one}/causes", {"kind": "AM", "present": False}).json() == {"causes": []}


def test_sentences_with_disagreements(read):
    [sentence] = read.rita.get(f"{WARD}/disagreements/sentences").json()["items"]
    assert sentence["sentence"]["tags"]["ben"][:2] == ["O", "B-PATIENT"]
    table = b"".join(read.rita.get(f"{WARD}/disagreements.csv?kind=missed").streaming_content).decode()
    assert len(table.splitlines()) == 2


def test_filters_that_do_not_fit(read):
    for query in ("label=NOWHERE", "pair=ann,nobody", "pair=ann", "kind=x"):
        assert fields_of(read.rita.get(f"{WARD}/disagreements?{query}")) == [query.partition("=")[0]]


def test_annotators_without_names(read):
    make.change(read.project, anonymous_adjudication=True)
    assert fields_of(read.rita.get(f"{WARD}/disagreements?pair=ann,ben")) == ["pair"]
    for path in ("disagreements", "disagreements/sentences", "agreement"):
        text = read.rita.get(f"{WARD}/{path}").content.decode()
        assert "Annotator " in text and '"ann"' not in text and '"ben"' not in text
    assert '"ann"' in read.mia_.get(f"{WARD}/disagreements").content.decode()


def test_an_amendment_begins_a_round(read):
    tag = read.mia_.get(f"{WARD}/guidelines").headers["ETag"]
    rule = {"text": "A surname alone is a name.", "note": read.note.pk, "start": 0, "end": 11}
    made = read.mia_.post(f"{WARD}/guidelines/amendments", rule, if_match=tag)
    assert (made.status_code, made.json()["number"], made.json()["note"]) == (201, 1, read.note.pk)
    assert read.mia_.get(f"{WARD}/guidelines").headers["ETag"] == made.headers["ETag"]
    late = read.mia_.post(f"{WARD}/guidelines/amendments", {"text": "Another"}, if_match=tag)
    assert (late.status_code, late.headers["ETag"]) == (412, made.headers["ETag"])
    [seen] = Program(read.ann).get(f"{WARD}/guidelines/amendments").json()["items"]
    assert (seen["text"], seen["note"], seen["start"]) == (rule["text"], None, None)
    for body, field in (({"text": ""}, "text"), (rule | {"end": 5000}, "start")):
        assert fields_of(read.mia_.post(f"{WARD}/guidelines/amendments", body, if_match="*")) == [field]
    assert AnnotationSet.objects.count() == 2
