"""Scores with spaCy's tokens, which only workers and commands compute (Catelli 2021, section 3.1.2)."""

import pytest
from django.urls import reverse

from annotations.core.stored_figures import forget
from annotations.core.tokenizers import KINDS, TokenizerKind
from annotations.jobs.runner import run as work
from annotations.models import Document, Job, JobState
from annotations.scores.services import scoring
from annotations.scores.services.scoring import kept_score, score, score_request
from annotations.text.tokens import Token
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.commands import answered

TEXT = "Rossi, 47aa, 12.02.2020"


def by_white_space(language):
    """A tokenizer for tests: tokens are separated by white space."""

    def tokens(text):
        found, at = [], 0
        for word in text.split():
            at = text.index(word, at)
            found.append(Token(at, at + len(word)))
            at += len(word)
        return found

    return tokens


@pytest.fixture
def scored(world, monkeypatch):
    """Gold marks a name and a date, the run only the date."""
    monkeypatch.setitem(KINDS, "white", TokenizerKind("By white space", f"{__name__}.by_white_space", "white"))
    world.note = note = make.make_note(world.project, TEXT, "nota", language="it")
    gold = [(0, 5, "PATIENT"), (13, 23, "DATE")]
    make.make_set(note, make.make_author(world.project, kind="gold", name="gold"), gold, submitted=True)
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
    job = Job.objects.get()
    work(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE, job.error
    assert "tokenizer=white" in check_page(client.get(reverse("job", args=["covid", job.number])))
    html = check_page(client.get(f"{scored.url}?tokenizer=white"))
    assert "Tokens are those of white." in html and "Not computed yet" not in html
    assert client.get(f"{scored.errors}?tokenizer=white").status_code == 200


def test_errors_that_were_deleted_are_not_computed_by_the_page(scored, sign_in):
    wanted = asked(scored, "white")
    forget(scored.project, scoring.ERRORS, score(wanted).key)
    response = sign_in(scored.rev).get(f"{scored.errors}?tokenizer=white", follow=True)
    html = response.content.decode()
    assert "The errors were deleted to save space" in html and "Not computed yet" in html
    assert kept_score(wanted) is None


def test_the_command(scored):
    words = "score", "covid", "--author=run"
    assert token_recall(answered(*words, "--tokenizer=white")) == pytest.approx(1 / 2)
    pytest.importorskip("spacy")
    Document.objects.filter(name="nota").update(language="zz")
    assert answered(*words, "--tokenizer=spacy") == "tokenizer"
