"""Models by language strategy: the same notes for all, from which no model and no earlier stage learned."""

import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.models import Document
from annotations.scores.services.scoring import kept_score, score, score_request
from models_runtime.models import Run, TrainedModel
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.strategies import make_ward

pytestmark = [pytest.mark.queue, pytest.mark.django_db]


@pytest.fixture
def ward(no_redis):
    return make_ward()


def command(name, *words):
    out = io.StringIO()
    call_command(name, "ward", *words, stdout=out)
    return out.getvalue()


def test_the_command_compares_on_notes_that_no_model_learned_from(ward):
    said = json.loads(command("compare_strategies", "--gold", "1", "--language", "it", "--json"))
    assert said["notes"] == 2
    rows = {row["strategy"]: row for row in said["rows"]}
    assert list(rows) == ["MIX", "EN", "EN→IT"]
    assert rows["EN→IT"]["entity_subcategory"] == rows["EN→IT"]["token_binary"] == 1.0
    assert "entity_subcategory" in rows["EN→IT"]["best"]
    assert rows["EN"]["entity_subcategory"] == pytest.approx(2 / 3)
    assert json.loads(command("compare_strategies", "--gold", "1", "--json"))["notes"] == 3
    assert "EN→IT" in command("compare_strategies", "--gold", "1")
    for wrong, message in ((("1", "--language", "de"), "no notes in “de”"), (("7",), "no gold version 7")):
        with pytest.raises(Exception, match=message):
            command("compare_strategies", "--gold", *wrong)


def test_the_page_shows_the_strategies_beside_the_published_ones(ward, client):
    client.force_login(make.make_member(ward, "viewer", "vic"))
    page = reverse("strategies", args=["ward"])
    html = check_page(client.get(page, {"gold": 1, "language": "it"}))
    assert "F1 on 2 notes" in html
    assert '<option value="it" selected>' in html
    assert "EN→IT" in html
    assert "table 4.17" in html
    assert client.get(page, {"language": "de"}).status_code == client.get(page, {"gold": 9}).status_code == 404
    other = make.make_project("empty")
    client.force_login(make.make_member(other, "viewer", "val"))
    assert "No strategies to compare yet" in check_page(client.get(reverse("strategies", args=["empty"])))


def test_scores_and_comparisons_in_one_language_are_stored_separately(ward, client):
    wanted = [score_request(ward, version=1, author="run-two", language=code) for code in ("", "it", "en")]
    assert [score(one).table["notes"] for one in wanted] == [6, 4, 2]
    assert [kept_score(one).table["language"] for one in wanted] == [None, "it", "en"]
    with pytest.raises(ServiceError, match="Its languages: en, it"):
        score_request(ward, version=1, author="run-two", language="de")
    assert (
        json.loads(command("score", "--gold", "1", "--author", "run-two", "--language", "it", "--json"))["notes"] == 4
    )
    said = command("compare_runs", "--gold", "1", "--runs", "run-one,run-two", "--language", "en")
    assert said.startswith("2 notes in en, compared")

    client.force_login(make.make_member(ward, "viewer", "vic"))
    html = check_page(client.get(reverse("scores", args=["ward"]), {"gold": 1, "language": "it"}))
    assert "?language=it" in html
    ids = [one.author_id for one in Run.objects.filter(project=ward)]
    html = check_page(client.get(reverse("score", args=["ward", 1, ids[0]]), {"language": "it"}))
    assert "4 notes, scored" in html
    query = {"gold": 1, "a": ids[:2], "language": "en"}
    assert "the 2 notes" in check_page(client.get(reverse("runs_compare", args=["ward"]), query))


def test_a_training_refuses_a_starting_model_that_has_seen_its_hold_out(ward):
    asked = {"project": ward, "gold": 1, "actor": None, "backend": "bilstm", "language": "it"}
    TrainedModel.objects.filter(name="all").update(card={"held_out_notes": [], "labels": ["PATIENT"]})
    with pytest.raises(ServiceError, match="“all” learned from"):
        start_training(**asked, key="a", base="all")
    TrainedModel.objects.filter(name="one").update(card={"labels": ["MOON"]})
    with pytest.raises(ServiceError, match="labels that this project doesn't have: MOON"):
        start_training(**asked, key="b", base="one")
    with pytest.raises(ServiceError, match="no ready model of this type"):
        start_training(**asked | {"backend": "crf"}, key="c", base="one")
    with pytest.raises(ServiceError, match="Choose one of: all, one, two"):
        start_training(**asked, key="d", base="three")
    everything = {"held_out_notes": list(Document.objects.values_list("pk", flat=True)), "labels": ["PATIENT"]}
    TrainedModel.objects.update(card=everything)
    assert start_training(**asked, key="e", base="two").params["base"] == "two"
