"""The two-person rule on the pages: the setting, both reviews, the differences, the figures, the list of notes."""

import csv
import re
import uuid
from html import unescape
from types import SimpleNamespace

import pytest
from django.urls import reverse

from annotations.models import Decision, Review
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.commands import answered, failed
from tests.worlds.reviewing import body, gold_of, send


def url(world, name, *args):
    return reverse(name, args=["covid", *args])


@pytest.fixture
def two(suggested: SimpleNamespace, sign_in: type) -> SimpleNamespace:
    """Two reviewers, rev and mia, in a project that requires a blind second review."""
    type(suggested.project).objects.update(second_review="blind")
    suggested.clients = {"rev": sign_in(suggested.rev), "mia": sign_in(suggested.mia)}
    return suggested


def first_review(world):
    """The first reviewer accepts both suggestions and finishes."""
    for suggestion in (world.name, world.place):
        assert decide(world, "rev", "accept", suggestion).status == 200
    assert post(world, "rev", "review_finish", stage="first").json["next"]


def post(world, who, name, **data):
    person = getattr(world, who)
    address = url(world, name, world.run.pk, world.note.pk)
    return send(world.clients[who], address, {"person": person.pk, "change_id": str(uuid.uuid4())} | data)


def decide(world, who, act, suggestion):
    data = body(world, act, user=getattr(world, who), suggestion=suggestion.pk)
    return send(world.clients[who], url(world, "review_decide", world.run.pk, world.note.pk), data)


def page(world, who):
    return world.clients[who].get(url(world, "review", world.run.pk, world.note.pk))


def test_the_setting_and_the_waiting_notes(two):
    rev, mia = two.clients["rev"], two.clients["mia"]
    assert "is waiting for a second reviewer" not in check_page(mia.get(url(two, "project_settings")))
    first_review(two)
    assert "1 note is waiting for a second reviewer." in check_page(mia.get(url(two, "project_settings")))
    assert "1 waiting for you" in check_page(mia.get(url(two, "runs")))
    assert "1 waiting for another reviewer" in check_page(rev.get(url(two, "runs")))
    assert "needs a second reviewer" in check_page(rev.get(url(two, "review_next", two.run.pk)))
    assert mia.get(url(two, "review_next", two.run.pk)).url.startswith(url(two, "review", two.run.pk, two.note.pk))
    string = make.SuggestedString.objects.get(author=two.run, label_id=two.labels["PATIENT"])
    for client, count in ((rev, 0), (mia, 1)):  # handed over by rev
        shown = client.get(url(two, "review_string", string.pk))
        check_page(shown)
        assert shown.context["open"] == count


# ── The list of notes ─────────────────────────────────────────────────────────────────────────────────────────────────

LINE = re.compile(
    r'<li><a href="([^"]+)" data-keeps( aria-current="page")? class="is-(\w+)">.*?<span class="name" title="(.*?)">'
)


def more_notes(world, *names):
    """More notes that the run has processed."""
    notes = [make.make_note(world.project, "Torna il 12/03/2021.", name) for name in names]
    for note in notes:
        make.make_set(note, world.run, [(9, 19, "DATE")], submitted=True)
    return notes


def address(world, note):
    return reverse("review", args=["covid", world.run.pk, note.pk])


def lines(world, who, note=None, query=""):
    html = check_page(world.clients[who].get(address(world, note or world.note) + query))
    return [(unescape(href), bool(here), stage, unescape(name)) for href, here, stage, name in LINE.findall(html)], html


def stages(world, who):
    return [stage for _, _, stage, _ in lines(world, who)[0]]


def test_every_note_shows_its_stage(two):
    more_notes(two, "caso <b>due</b>")
    found, html = lines(two, "rev", query="?order=label&text=Rossi")
    assert [(here, stage, name) for _, here, stage, name in found] == [
        (True, "open", two.note.name),
        (False, "open", "caso <b>due</b>"),
    ]
    assert all(href.endswith("/?order=label") for href, *_ in found), (
        "links keep the filters, but not the searched text"
    )
    assert "0 of 2 reviewed" in html
    decide(two, "rev", "accept", two.name)
    assert stages(two, "rev") == ["begun", "open"]
    decide(two, "rev", "accept", two.place)
    post(two, "rev", "review_finish", stage="first")
    assert stages(two, "rev") == ["waiting", "open"]
    assert stages(two, "mia") == ["second", "open"]
    for suggestion in (two.name, two.place):
        decide(two, "mia", "accept", suggestion)
    post(two, "mia", "review_finish", stage="second")
    assert stages(two, "mia") == stages(two, "rev") == ["done", "open"]


# The commands that review by a file, and reopen finished reviews: what is written, decided and refused


COLUMNS = ("note", "start", "end", "label", "decision", "new_start", "new_end", "new_label")


def review(path, *words, by="rev", run=answered):
    return run("review", "covid", "rules-1", path, *words, "--by", by)


def decided(path, note, *rows):
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        out.writerows([note.name, *row] for row in rows)


def test_suggestions_are_written_decided_and_finished(suggested, tmp_path):
    file = tmp_path / "open.csv"
    assert review(file, "--write")["open"] == 2
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["start"], row["end"], row["label"], row["decision"]) for row in rows] == [
        ("0", "11", "PATIENT", ""),
        ("44", "50", "HOSPITAL", ""),
    ]
    assert not any(word in file.read_text() for word in ("Mario", "Torino"))
    assert review(file)["decided"] == 0, "rows without a decision are left out"

    decided(
        file, suggested.note, (0, 11, "PATIENT", "accept"), (44, 50, "HOSPITAL", "correct", "", "", "CITY"),
        (13, 20, "AGE", "add"),
    )  # fmt: skip
    assert review(file, "--finish") == {"decided": 3, "finished": [suggested.note.name], "refused": []}
    assert gold_of(suggested.note) == [(0, 11, "PATIENT"), (13, 20, "AGE"), (44, 50, "CITY")]
    assert Review.objects.get().finished_by == suggested.rev


def test_reject_and_remove(suggested, tmp_path):
    file = tmp_path / "rows.csv"
    decided(file, suggested.note, (0, 11, "PATIENT", "reject"), (13, 20, "AGE", "add"), (13, 20, "AGE", "remove"))
    assert review(file)["decided"] == 3
    assert gold_of(suggested.note) == []
    assert Decision.objects.get().verdict == "rejected"


def test_refused_rows_are_named_and_the_others_count(suggested, tmp_path):
    file = tmp_path / "rows.csv"
    decided(
        file, suggested.note, (0, 10, "PATIENT", "accept"), (0, 11, "PATIENT", "undo"), (0, 11, "X", "accept"),
        (0, 4000, "AGE", "add"), (44, 50, "HOSPITAL", "accept"),
    )  # fmt: skip
    assert review(file, by="ann") == "access"
    result = review(file, "--finish", run=failed)
    assert result["decided"] == 1 and result["finished"] == []
    found = [(each["line"], each["code"]) for each in result["refused"]]
    assert found[:3] == [(2, "row"), (3, "row"), (4, "label")] and found[4] == (None, "open")
