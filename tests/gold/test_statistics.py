"""Corpus statistics of a gold version: the page, the job of large versions, and the command."""

import re
from unittest.mock import patch

import pytest
from django.urls import reverse

from annotations.gold import jobs
from annotations.gold.services import statistics
from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import split_version
from annotations.gold.services.statistics import kept_statistics, statistics_of, table_of
from annotations.models import Figures, GoldVersion, GoldVersionNote, Job
from annotations.ops.services.erasing import erase_patient
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.pages import make_world

# 14 tokens, of which the spans have 2, 1 and 5.
TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021."
NAME, AGE, DATE = (0, 11, "PATIENT"), (13, 15, "AGE"), (31, 41, "DATE")
PAGE = reverse("gold_statistics", args=["covid"])


def gold_note(project, name, spans, patient=""):
    note = make.make_note(project, TEXT, name, patient_id=patient)
    make.make_set(note, make.make_author(project, kind="gold", name="gold"), spans, submitted=True)
    return note


def make_version():
    """Three gold notes: two in train, one in test."""
    world = make_world()
    gold_note(world.project, "g1", [NAME, AGE, DATE], patient="p1")
    gold_note(world.project, "g2", [NAME])
    gold_note(world.project, "g3", [DATE])
    made, _ = freeze(project=world.project, actor=world.rev)
    split_version(version=made, seed="s", shares={"train": 60, "dev": 0, "test": 40}, actor=world.rev)
    GoldVersionNote.objects.filter(version=made).update(split="train")
    GoldVersionNote.objects.filter(version=made, document__name="g3").update(split="test")
    made.refresh_from_db()
    world.version = made
    return world


made, world = made_once(make_version)


@pytest.fixture
def version(world):
    return world.version


def test_the_figures_by_split_label_and_category(world, version):
    table = table_of(version, statistics_of(version))
    assert [(name, part["notes"], part["tokens"]) for name, part in table["splits"].items()] == [
        ("train", 2, 28), ("test", 1, 14), ("total", 3, 42)
    ]  # fmt: skip
    rows = {row["label"]: list(row["splits"].values()) for row in table["labels"]}
    spans = {name: [cell["spans"] for cell in cells] for name, cells in rows.items()}
    assert spans["PATIENT"] == [2, 0, 2] and spans["DATE"] == [1, 1, 2] and spans["DOCTOR"] == [0, 0, 0]
    (name,) = [row for row in table["categories"] if row["category"] == "NAME"]
    assert [cell["spans"] for cell in name["splits"].values()] == [2, 0, 2]
    assert [cell["spans_per_note"] for cell in rows["DATE"]] == [0.5, 1, pytest.approx(2 / 3)]
    assert [cell["tokens_per_span"] for cell in rows["DATE"]] == [5, 5, 5]
    assert [part["spans"] for part in table["splits"].values()] == [4, 1, 5]
    assert table["splits"]["total"]["tokens_per_span"] == (2 + 1 + 5 + 2 + 5) / 5


def test_the_page_shows_them_to_all_who_read_notes(world, version, vic, django_assert_max_num_queries):
    """Stored figures need few queries. BIO tags per note: Salierno et al. 2024, table 6."""
    response = vic.get(PAGE)
    html = check_page(response)
    # The answer comes first: how much gold there is, and how many labels have too little of it for a score.
    assert response.context["rare"] == response.context["labels"] == 3 and response.context["more"] == 0
    assert "3 notes with 5 spans of 3 labels" in html.partition("<details>")[0].partition("<main")[2]
    for title in ("Notes and means", "Spans per note", "Tokens per span"):
        assert title in html
    assert "Train" in html and "Test" in html and "Dev" not in html.split("<main")[1]
    assert "14.0" in html and "plot-series-1" in html
    row = html.split("Tokens with the tag I per note</th>")[1].split("</tr>")[0]
    assert re.findall(r">([0-9.]+)<", row) == ["3.00", "4.00", "3.33"]
    with django_assert_max_num_queries(20):
        vic.get(PAGE)


def test_other_versions(world, version, rev):
    gold_note(world.project, "g4", [AGE])
    freeze(project=world.project, actor=world.rev)
    html = check_page(rev.get(PAGE))
    assert "gold version 2" in html and "This version is not split." in html and "Train</th>" not in html
    assert "gold version 1" in check_page(rev.get(f"{PAGE}?version=1"))
    assert rev.get(f"{PAGE}?version=9").status_code == rev.get(f"{PAGE}?version=x").status_code == 404
    GoldVersion.objects.all().delete()
    html = check_page(rev.get(PAGE))
    assert "No version yet" in html and reverse("gold", args=["covid"]) in html
    assert answered("corpus_statistics", "covid") == "version"


def test_a_worker_counts_a_large_version(world, version, vic):
    with patch.object(statistics, "MOST_CHARACTERS", 10):
        assert "Not computed yet" in check_page(vic.get(PAGE)) and not Figures.objects.filter(kind="corpus").exists()
        url = reverse("statistics_start", args=["covid"])
        answers = [vic.post(url, {"version": 1, "token": "t"}) for _ in range(2)]
        job = Job.objects.get(kind="corpus")
        assert {answer.url for answer in answers} == {reverse("job", args=["covid", job.number])}
        claim = type("Claim", (), {"project_id": world.project.pk, "params": job.params, "progress": lambda *_: None})
        assert jobs.count(claim) == {"version": 1, "notes": 3}
        assert "Notes and means" in check_page(vic.get(PAGE))
        assert vic.post(url, {"version": 7}).status_code == 404


def test_the_figures_are_stored_until_notes_or_splits_change(world, version, sign_in):
    statistics_of(version)
    assert kept_statistics(version)["train"].notes == 2
    GoldVersionNote.objects.filter(version=version, document__name="g2").update(split="test")
    assert kept_statistics(version) is None
    assert statistics_of(version)["test"].notes == 2
    erase_patient(project=world.project, patient_id="p1", actor=world.mia)
    version.refresh_from_db()
    assert "train" not in statistics_of(version)
    assert "erased or deleted, and is not counted" in check_page(sign_in(world.rev).get(PAGE))
