"""Figures by pass of a run: on the page, as a chart with its figures as text, and printed by the command."""

import pytest
from django.db.models import F
from django.urls import reverse

from annotations.core.stored_figures import forget
from annotations.core.tokenizers import KINDS, TokenizerKind
from annotations.models import Document, Job, JobState, LabelSet, Span
from annotations.scores.services import scoring
from annotations.scores.services.scoring import kept_score, score, score_request
from tests import factories as make
from tests.formats.test_quotes import by_white_space as at_white_space
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.queue import worked

ROSSI, AGE, CITY = (0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "CITY")


@pytest.fixture
def passes(world):
    """A run in three passes: Rossi in the first, the first note's age in the second, a wrong hospital in the third."""
    run = make.make_author(world.project, kind="run", name="llm-1")
    for number, note in enumerate(world.notes[:2]):
        make.make_set(note, "gold", [ROSSI, AGE, CITY])
        made = make.make_set(note, run, [ROSSI] if number else [ROSSI, AGE, (52, 56, "HOSPITAL")], submitted=True)
        for start, source in ((0, "small it2 pass 1"), (13, "small it2 pass 2"), (52, "small it2 pass 3")):
            Span.objects.filter(annotation_set=made, start=start).update(source=source)
    world.run = run
    return world


def table(*options):
    return answered("score", "covid", "--author", "llm-1", *options)


def card(passes, client, title):
    """The part of the page with this title."""
    html = check_page(client.get(reverse("score", args=["covid", 0, passes.run.pk])))
    return html.split(f'id="{title}"')[1].split("</section>")[0] if f'id="{title}"' in html else ""


def test_the_command_prints_recall_precision_and_all_or_nothing_recall_after_each_pass(passes):
    rows = table()["by_pass"]
    assert [row["passes"] for row in rows] == [1, 2, 3]
    assert [(row["exact"]["precision"], row["exact"]["recall"]) for row in rows] == [
        (1, pytest.approx(2 / 6)), (1, pytest.approx(3 / 6)), (pytest.approx(3 / 4), pytest.approx(3 / 6)),
    ]  # fmt: skip
    tolerant = [row["tolerant"]["same_category"] for row in rows]
    assert [rates["right"] for rates in tolerant] == [2, 3, 3] and [rates["gold"] for rates in tolerant] == [6, 6, 6]
    assert [row["categories"]["C3"]["tolerant_category"]["share"] for row in rows] == [0, 0.5, 0.5]
    pooled = [row["all_or_nothing_pooled"]["categories"]["tolerant_category"] for row in rows]
    assert [(one["all_found"], one["notes"]) for one in pooled] == [(2, 6), (3, 6), (3, 6)]
    # The last row is the score of all suggestions.
    whole = table()
    assert rows[-1]["exact"] == whole["levels"][0]["micro"] and rows[-1]["tolerant"] == whole["tolerant"]
    assert [(rates["precision"], rates["recall"]) for rates in tolerant[:2]] == [(1, pytest.approx(1 / 3)), (1, 0.5)]


def test_figures_by_pass_follow_the_labels_of_another_set(passes):
    """A mapping to another label set keeps the pass of each suggestion; it has no hospitals."""
    LabelSet.objects.update(key="i2b2-2014")
    assert [row["exact"]["predicted"] for row in table("--into", "hipaa-18")["by_pass"]] == [2, 3, 3]


def test_the_page_draws_all_or_nothing_recall_by_pass_and_writes_its_figures(passes, sign_in):
    def say(source):
        Span.objects.filter(annotation_set__author=passes.run).update(source=source)
        passes.run.annotation_sets.update(version=F("version") + 1)

    client = sign_in(passes.vic)
    shown = card(passes, client, "passes-title")
    assert "The figures after each of the 3 passes of this run." in shown
    chart = shown.split("<svg")[1].split("</svg>")[0]
    assert 'aria-label="All-or-nothing recall by pass: NAME 1.00, 1.00, 1.00;' in chart
    assert "AGE 0.00, 0.50, 0.50" in chart and "All 0.33, 0.50, 0.50" in chart and "All 0.50</text>" in chart
    ages = shown.split('<th scope="row">AGE</th>')[1].split("</tr>")[0]
    assert [cell.split("<")[0] for cell in ages.split('<td class="num">')[1:]] == ["2", "0.00", "0.50", "0.50"]
    assert "0.67" in card(passes, client, "tolerant-title")
    say("small it2 pass 1")
    shown = card(passes, client, "passes-title")
    assert "All suggestions of this run are from its first pass." in shown and "<svg" not in shown
    say("rule person")
    assert table()["by_pass"] == [] and card(passes, client, "passes-title") == ""


def test_rates_of_text_and_position_by_label_and_category(passes):
    found = table()
    rates = {row["label"]: row["tolerant"] for row in found["labels"]}
    assert (rates["AGE"]["precision"], rates["AGE"]["recall"]) == (1, 0.5)
    assert (rates["HOSPITAL"]["predicted"], rates["HOSPITAL"]["right"], rates["HOSPITAL"]["gold"]) == (1, 0, 0)
    by_category = {row["category"]: row["tolerant"] for row in found["categories"]}
    assert by_category["C0"]["f1"] == 1 and (by_category["C2"]["predicted"], by_category["C2"]["gold"]) == (1, 2)
    assert found["tolerant"]["same_category"]["right"] == 3


# Scores with spaCy's tokens, which only workers and commands compute (Catelli 2021, section 3.1.2)


TEXT = "Rossi, 47aa, 12.02.2020"


def by_white_space(language):
    """A tokenizer for tests: tokens are separated by white space."""
    return at_white_space


@pytest.fixture
def scored(world, monkeypatch):
    """Gold marks a name and a date, the run only the date."""
    monkeypatch.setitem(KINDS, "white", TokenizerKind("By white space", f"{__name__}.by_white_space", "white"))
    world.note = note = make.make_note(world.project, TEXT, "nota", language="it")
    gold = [(0, 5, "PATIENT"), (13, 23, "DATE")]
    make.make_set(note, "gold", gold)
    world.run = make.make_author(world.project, kind="run", name="run")
    make.make_set(note, world.run, gold[1:], submitted=True)
    world.url = reverse("score", args=["covid", 0, world.run.pk])
    world.errors = reverse("score_errors", args=["covid", 0, world.run.pk])
    return world


def token_recall(table):
    (level,) = [one for one in table["levels"] if (one["unit"], one["granularity"]) == ("token", "binary")]
    return level["micro"]["recall"]


def asked(world, tokenizer):
    return score_request(world.project, version=0, author="run", tokenizer=tokenizer)


@pytest.mark.parametrize("tokenizer", ["white", "spacy"])
def test_figures_on_tokens_follow_the_tokenizer(scored, tokenizer):
    """By the default rule, the date has five tokens. By the others, it has one."""
    if tokenizer == "spacy":
        pytest.importorskip("spacy")
    for asked_for, recall in (("", 5 / 6), (tokenizer, 1 / 2), ("", 5 / 6)):  # stored apart
        table = score(asked(scored, asked_for)).table
        assert token_recall(table) == pytest.approx(recall) and (table["tokenizer"] or "") == asked_for


def test_the_page_leaves_it_to_a_worker(scored, sign_in, monkeypatch):
    client = sign_in(scored.rev)
    html = check_page(client.get(scored.url))
    assert '<option value="white">By white space</option>' in html
    with monkeypatch.context() as patched:
        patched.setattr(scoring, "Tokenizers", None)  # the web process needs no tokenizer
        html = check_page(client.get(f"{scored.url}?tokenizer=white"))
        assert "Not computed yet" in html and 'name="tokenizer" value="white"' in html
        assert client.get(f"{scored.errors}?tokenizer=white").url == f"{scored.url}?tokenizer=white"
    start = {"version": 0, "author": scored.run.pk, "tokenizer": "white"}
    assert client.post(reverse("job_start_score", args=["covid"]), start).status_code == 302
    job = worked(Job.objects.get())
    assert job.state == JobState.DONE, job.error
    assert "tokenizer=white" in check_page(client.get(reverse("job", args=["covid", job.number])))
    html = check_page(client.get(f"{scored.url}?tokenizer=white"))
    assert "Tokens are those of white." in html and "Not computed yet" not in html
    assert client.get(f"{scored.errors}?tokenizer=white").status_code == 200


def test_errors_that_were_deleted_are_not_computed_by_the_page(scored, sign_in):
    wanted = asked(scored, "white")
    forget(scored.project, scoring.ERRORS, score(wanted).key)
    html = sign_in(scored.rev).get(f"{scored.errors}?tokenizer=white", follow=True).content.decode()
    assert "The errors were deleted to save space" in html and "Not computed yet" in html
    assert kept_score(wanted) is None


def test_the_command(scored):
    words = "score", "covid", "--author=run"
    assert token_recall(answered(*words, "--tokenizer=white")) == pytest.approx(1 / 2)
    pytest.importorskip("spacy")
    Document.objects.filter(name="nota").update(language="zz")
    assert answered(*words, "--tokenizer=spacy") == "tokenizer"
