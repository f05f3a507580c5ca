"""Score pages: the same figures as the command, errors in context, and empty states."""

import json
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.core.services import silent
from annotations.gold.services.making import freeze, make_gold
from annotations.models import Author, Job, Span
from annotations.review.services.finishing import finish_review
from annotations.scores.services import asking
from annotations.scores.services.scoring import run_score, score, score_request
from annotations.scores.views import scores as view
from tests import factories as make
from tests.scores.conftest import AGE, CITY, ROSSI, url
from tests.worlds.checks import check_page
from tests.worlds.commands import answered

SCORES = reverse("scores", args=["covid"])


def test_the_page_shows_what_the_command_prints(read, sign_in):
    freeze(project=read.project, actor=None)
    found = answered("score", "covid", "--gold", 1, "--author", "rules-1")
    response = sign_in(read.vic).get(url("score", read, 1))
    html = check_page(response)
    del found["errors_by_category"]
    assert (found.pop("masking_threshold"), found.pop("notes_learned_from")) == (None, 0)
    assert json.loads(json.dumps(response.context["table"])) == found
    for figure in (level["micro"]["f1"] for level in found["levels"]):
        assert f"{figure:.2f}" in html
    assert f"{found['meddocan']['leak']:.3f}" in html
    assert "In 1 of 1 notes (100%)" in html and "1 note with gold but without annotations by this author." in html
    # No city was predicted, so its precision is undefined and its recall is 0.
    assert "undefined" in html and "0.00" in html


def test_the_page_of_a_stored_score_counts_the_author_s_sets_once_and_reads_none(read, client):
    score(score_request(read.project, version=0, author_id=read.run.pk))
    with CaptureQueriesContext(connection) as made:
        assert client.get(url("score", read)).status_code == 200
    whole = f'"annotations_annotationset"."author_id" = {read.run.pk}'
    of_author = [each["sql"] for each in made if whole in each["sql"]]
    assert all("COUNT(" in sql for sql in of_author) and len([sql for sql in of_author if "SUM(" in sql]) == 1


def test_the_agreement_of_attributes_can_be_shown(read, client):
    Span.objects.filter(label__name="PATIENT", start=0).update(attributes={"Status": "past"})
    row = check_page(client.get(url("score", read))).split('<th scope="row">Status</th>')[1].split("</tr>")[0]
    assert [cell.split("<")[0] for cell in row.split('<td class="num">')[1:]] == ["1", "1", "100%"] * 2


def test_published_tables_name_their_systems_and_misprints(read, client):
    html = check_page(client.get(url("score", read)))
    # Beside a level, each figure has the corpus and the system.
    assert "0.8063 SIRM COVID-19 (Italian) <small>Bi-LSTM + CRF · FastText + Flair</small>" in html
    assert "0.9480 i2b2 2014 (English) <small>Bi-LSTM + CRF · Flair + GloVe · SGF = 32</small>" in html
    tables = html.split('id="published-title"')[1]
    row = tables.split("BERT base (IT) Cased · IT")[1].split("</tr>")[0]
    assert "[1]" in row and '<td class="num">0.8561</td>' in row
    assert "<li>[1] Misprint: table 4.11 has 0.7969" in tables.split(row)[1].split("</details>")[0]
    for source in ("Catelli 2021, table 4.2 (binary)", "Singh et al. 2025, table 3", "Xu et al. 2026, table 1"):
        assert f"<summary>{source}" in tables


def test_the_list_shows_who_can_be_scored(read, client):
    html = check_page(client.get(SCORES))
    assert "rules-1" in html and url("score", read) in html and "100%" in html
    with patch.object(view, "LIST_CHARACTERS", 0):
        assert "100%" not in check_page(client.get(SCORES + "?gold=current"))
    freeze(project=read.project, actor=None)
    assert url("score", read, 1) in check_page(client.get(SCORES))
    assert url("score", read) in check_page(client.get(SCORES + "?gold=current"))
    assert client.get(SCORES + "?gold=7").status_code == 404
    gold = Author.objects.get(kind="gold")
    other = make.make_author(read.other, kind="run", name="x")
    for page in (url("score", read, 9), url("score", read, author=gold), url("score", read, author=other)):
        assert client.get(page).status_code == 404


def test_filtered_errors(read, client):
    words = {"Torino", "Bianchi", "54 anni"}
    for query, shown in (
        ({"kind": "missed"}, {"Torino"}), ({"kind": "label"}, {"Bianchi"}), ({"kind": "boundary"}, {"54 anni"}),
        ({"kind": "spurious"}, set()), ({"kind": "nonsense"}, words), ({"label": "PATIENT"}, {"Bianchi"}),
        ({"gold": "DOCTOR"}, {"Bianchi"}), ({"gold": "DOCTOR", "predicted": "PATIENT"}, {"Bianchi"}),
        ({"predicted": "AGE"}, {"54 anni"}), ({"note": 99999999}, set()), ({"page": 7}, words),
        ({"label": "%01%3Cb%3E"}, set()),
    ):  # fmt: skip
        html = client.get(url("score_errors", read, **query)).content.decode()
        assert {word for word in words if f"<mark>{word}</mark>" in html} == shown, query


def test_the_rule_of_counting_is_chosen_on_the_page(read, client):
    substrings = url("score", read, counting="substring")
    plain = check_page(client.get(url("score", read)))
    assert f'href="{substrings}#rewritten-title"' in plain and "Published F1 by this rule" not in plain
    page = client.get(substrings)
    html = check_page(page)
    assert "Published F1 by this rule" in html and "gemma3 12b" in html and "0.88" in html
    assert page.context["counted"] == page.context["table"]["rewritten_substring"]
    assert '<input type="hidden" name="counting" value="substring">' in html
    assert client.get(url("score", read, counting="words")).status_code == 404


def test_a_long_score_with_choices_is_a_job(read, sign_in):
    client = sign_in(read.vic)
    choices = {"threshold": "0.8", "type": "label:AGE"}
    with patch.object(asking, "MOST_CHARACTERS", 10):
        html = check_page(client.get(url("score", read, **choices)))
        assert "Not computed yet" in html and 'name="type" value="label:AGE"' in html
        assert client.get(url("score_errors", read)).url == url("score", read)
    sent = {"version": 0, "author": read.run.pk, "token": "6f0c6d5e-0000-4000-8000-000000000002", **choices}
    start = reverse("job_start_score", args=["covid"])
    first = client.post(start, sent)
    assert first.status_code == 302 and client.post(start, sent).url == first.url
    for wrong in ({"author": 0}, {"threshold": "x"}, {"split": "x"}):
        assert client.post(start, sent | wrong).url == SCORES
    (job,) = Job.objects.all()
    result = run_score(SimpleNamespace(project_id=read.project.pk, params=job.params, progress=silent))
    assert (result["threshold"], result["types"]) == (0.8, ["label:AGE"])
    with patch.object(asking, "MOST_CHARACTERS", 10):
        assert "Not computed yet" not in check_page(client.get(url("score", read, **choices)))
        assert "Not computed yet" in check_page(client.get(url("score", read)))


@pytest.mark.parametrize(("how", "spans"), [("review", 1), ("directly", 2)])
def test_gold_from_the_run_itself_is_marked_in_the_list(read, client, how, spans):
    """A reviewer accepts what the run suggests in a note without gold; another note's gold is made elsewhere."""
    note = make.make_note(read.project, read.note.text)
    assert "too optimistic" not in check_page(client.get(SCORES))
    own = make.make_set(note, read.run, [ROSSI, CITY][:spans], submitted=True)
    if how == "review":
        finish_review(document=note, author=read.run, user=read.rev, rest=set(own.spans.values_list("pk", flat=True)))
    else:
        make_gold(document=note, annotation_set=own, actor=read.rev)
    said = f"{spans} of the {4 + spans} gold spans were copied from rules-1"
    html = check_page(client.get(SCORES))
    assert said in html and '<span class="tag warn">too optimistic</span>' in html
    assert said in check_page(client.get(url("score", read)))


# ── Few notes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def more_notes(world, number):
    """Add notes with gold and annotations of the run until the run has `number` notes."""
    gold = Author.objects.get(kind="gold")
    for n in range(world.run.annotation_sets.count(), number):
        note = make.make_note(world.project, world.note.text, f"more-{n}")
        make.make_set(note, gold, [ROSSI, AGE], submitted=True)
        make.make_set(note, world.run, [ROSSI] if n % 2 else [ROSSI, AGE], submitted=True)


def test_f1_on_few_notes_has_its_interval(read, client):
    assert "An interval over notes needs at least two notes." in check_page(client.get(url("score", read)))
    assert ">few notes<" in client.get(SCORES).content.decode()
    for there in (url("score", read), SCORES):
        assert '<span class="interval">' not in client.get(there).content.decode()
    more_notes(read, 19)
    page = client.get(url("score", read))
    few, html = page.context["table"]["few_notes"], check_page(page)
    assert 0 < few["low"] < page.context["first"]["micro"]["f1"] < few["high"] < 1
    shown = f"[{few['low']:.2f}, {few['high']:.2f}]"
    assert html.count(shown) == 2, "in the headline and in the table of levels"
    assert f"With so few notes, F1 by label may be anything from {few['low']:.2f} to {few['high']:.2f}." in html
    listed = check_page(client.get(SCORES))
    assert listed.count(shown) == listed.count(">few notes<") == 1
    assert answered("score", "covid", "--author", "rules-1")["few_notes"] == few
    more_notes(read, 20)
    for there in (url("score", read), SCORES):
        assert "few notes" not in check_page(client.get(there))
    assert client.get(url("score", read)).context["table"]["few_notes"] is None
