"""Pages, routes and the command of pairs."""

import json

import pyarrow.parquet
import pytest
from django.urls import reverse

from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Document, Job, PublishedDecision
from tests.factories import make_member, make_set
from tests.pairs.decisions import invented
from tests.pairs.piles import court, pair, parquet, pile_of, zipped
from tests.worlds.checks import check_page
from tests.worlds.commands import answered, printed
from tests.worlds.pages import signed_in
from tests.worlds.programs import Program

PAGE = reverse("pairs", args=["court"])


@pytest.fixture
def project(db):
    return court()


@pytest.fixture
def mia(project):
    return make_member(project, "manager", "mia")


def twins():
    """A decision with two clear versions, and a pair whose published version lost most of its text."""
    one, other = invented(1, tokens=300), invented(2, tokens=300)
    half = other.published[: len(other.published) * 3 // 5]
    return {
        "a": one.clear, "b": one.clear.replace("servito", "prestato servizio"), "p": one.published, "c": other.clear,
        "q": half,
    }  # fmt: skip


def test_the_page_starts_a_job_shows_the_flagged_pairs_first_and_settles(project, mia):
    client = signed_in(mia)
    assert f'href="{PAGE}"' in check_page(client.get(reverse("import", args=["court"])))
    assert "No published decisions yet" in check_page(client.get(PAGE))
    answer = client.post(PAGE, {"file": zipped(twins()), "method": "diff", "window": 10, "threshold": 0.6})
    job = Job.objects.get()
    assert answer.status_code == 302 and answer["Location"] == reverse("job", args=["court", job.number])
    work(job.pk)
    check_page(client.get(answer["Location"]))
    good = invented(3, tokens=300)
    pair(project, {"d": good.clear, "s": good.published}, threshold=0.6)
    html = check_page(client.get(PAGE))
    rows = html.split('id="pairs-title"')[1]
    assert "data-flagged" in rows and rows.index(">q") < rows.index(">s"), "the flagged pair comes first"
    assert 'data-open="1"' in html and "1,384.12" in html and "7.59" in html
    assert "Published text" in html and reverse("note", args=["court", Document.objects.get(name="a").pk]) in html
    assert '<th scope="row">s' not in check_page(client.get(PAGE, {"state": "flagged"}))
    assert client.get(PAGE, {"state": "other"}).status_code == 404
    open_one = PublishedDecision.objects.get(name="p")
    settle = reverse("pair_settle", args=["court", open_one.pk])
    client.post(settle, {"note": "word"})
    assert PublishedDecision.objects.get(pk=open_one.pk).state == "ambiguous", "no choice is no answer"
    client.post(settle, {"note": Document.objects.get(name="a").pk})
    assert PublishedDecision.objects.get(pk=open_one.pk).document.name == "a"
    html = check_page(client.get(PAGE))
    assert 'data-open="1"' not in html and 'value="undo"' in html
    client.post(settle, {"note": "undo"})
    undone = PublishedDecision.objects.get(pk=open_one.pk)
    assert (undone.state, undone.document, undone.settled_by) == ("ambiguous", None, None)
    assert not AnnotationSet.objects.filter(document__name="a").exists() and undone.candidates.exists()
    client.post(settle, {"note": Document.objects.get(name="b").pk})
    assert PublishedDecision.objects.get(pk=open_one.pk).document.name == "b"


def test_errors_stand_beside_their_fields(project, mia):
    client = signed_in(mia)
    sent = {"method": "diff", "window": 10, "threshold": 0.95}
    assert client.post(PAGE, sent).status_code == 422
    for file, change in ((b"x", {}), (zipped({}).read(), {"window": 0}), (zipped({}).read(), {"threshold": 2})):
        upload = zipped({}).__class__(file)
        answer = client.post(PAGE, {"file": upload, **sent, **change})
        assert answer.status_code == 422 and "errorlist" in check_page(answer)
    assert not Job.objects.exists()


def test_the_routes(project, mia):
    program = Program(mia)
    upload = zipped(twins())
    upload.name = "pile.zip"
    assert program.upload("/projects/court/pairs", {"file": upload, "threshold": "0.6"}).status_code == 202
    work(Job.objects.get().pk)
    rows = {row["name"]: row for row in program.get("/projects/court/pairs").json()["items"]}
    assert (rows["q"]["state"], rows["p"]["state"], rows["q"]["spans"] > 0) == ("paired", "ambiguous", True)
    figures = program.get("/projects/court/pairs/statistics").json()
    assert (figures["decisions"], figures["pairs"], figures["ambiguous"], figures["flagged"]) == (2, 1, 1, 1)
    assert [one["tag"] for one in figures["tags"]] == ["O", "B-OMISSIS", "I-OMISSIS"]
    path = f"/projects/court/pairs/{rows['p']['id']}"
    candidates = program.get(f"{path}/candidates").json()
    assert [one["fits"] for one in candidates] == [True, True, False]
    assert program.post(f"{path}/settle", {"note": 10**9}).status_code == 422
    # This note belongs to the other decision.
    assert program.post(f"{path}/settle", {"note": Document.objects.get(name="c").pk}).status_code == 409
    settled = program.post(f"{path}/settle", {"note": candidates[0]["note"]}).json()
    assert (settled["state"], settled["settled_by"], settled["spans"]) == ("paired", "mia", 8)
    assert program.post(f"{path}/settle", {"note": None}).status_code == 409
    assert program.post(f"{path}/settle", {"note": None, "undo": True}).json()["state"] == "ambiguous"
    other = f"/projects/court/pairs/{rows['q']['id']}"
    assert program.post(f"{other}/settle", {"note": None, "undo": True}).status_code == 409, "nobody settled it"


@pytest.mark.parametrize("kind", ["folder", "zip", "parquet"])
def test_the_command_reads_a_folder_a_zip_and_parquet(project, tmp_path, kind):
    _made, texts = pile_of(2)
    path = tmp_path / "pile"
    if kind == "folder":
        path.mkdir()
        for name, text in texts.items():
            (path / f"{name}.txt").write_text(text, encoding="utf-8")
    else:
        path.write_bytes((zipped(texts) if kind == "zip" else parquet(texts)).read())
    found = answered("pair_published", "court", path, "--method", "diff", "--window", 10, "--threshold", 0.95)
    assert {key: found[key] for key in ("documents", "published", "candidates", "pairs", "spans", "author")} == {
        "documents": 4, "published": 2, "candidates": 2, "pairs": 2, "spans": 16, "author": "published-1",
    }  # fmt: skip


def test_rows_of_one_name_and_id_are_all_read(project, tmp_path):
    rows = [{"id": 1, "file_name": "a", "text": f"Sentenza numero {number} del tribunale."} for number in range(4)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "pile.parquet")
    answered("pair_published", "court", tmp_path / "pile.parquet")
    assert Document.objects.count() == 4


def test_the_set_is_exported_scored_and_reviewed_as_any_other(project, tmp_path):
    made, texts = pile_of(2)
    pair(project, texts)
    answered("export_documents", "court", tmp_path / "out", "--format", "brat", "--set", "run:published-1")
    lines = [
        line for file in (tmp_path / "out").rglob("*.ann") for line in file.read_text(encoding="utf-8").split("\n")
    ]
    assert sum(line.startswith("T") and "\tOMISSIS " in line for line in lines) == 16
    client = signed_in(make_member(project, "reviewer"))
    assert "published-1" in client.get(reverse("reviews", args=["court"]), follow=True).content.decode()
    for number, one in enumerate(made, 1):
        note = Document.objects.get(name=f"clear-{number}")
        make_set(note, "gold", [(*bounds, "OMISSIS") for bounds in one.hidden])
    freeze(project=project, actor=None)
    found = answered("score", "court", "--gold", 1, "--author", "run:published-1")
    assert isinstance(found, dict) and '"f1": 1.0' in json.dumps(found)


def test_the_command_tells_why_it_did_nothing(project, tmp_path):
    assert answered("pair_published", "court", tmp_path / "none") == "path"
    (tmp_path / "x.zip").write_bytes(b"x")
    assert answered("pair_published", "court", tmp_path / "x.zip") == "zip"
    assert answered("pair_published", "court", tmp_path, "--window", 0) == "window"
    assert "documents: 0" in printed("pair_published", "court", tmp_path)


def test_a_project_without_the_label_says_so(world, sign_in):
    answer = sign_in(world.mia).post(
        reverse("pairs", args=["covid"]),
        {"file": zipped({"a": "b"}), "method": "diff", "window": 10, "threshold": 0.95},
    )
    assert answer.status_code == 422 and "OMISSIS" in check_page(answer)
    assert "/pairs/" not in check_page(sign_in(world.mia).get(reverse("import", args=["covid"])))
