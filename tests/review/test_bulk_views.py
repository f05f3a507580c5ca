"""Pages for review by rule and by string: preview, result and undo; the decision log and the acceptance figures."""

import csv
import io
import json
import random
import uuid
from types import SimpleNamespace

import pytest
from django.http import HttpResponse
from django.urls import reverse

from annotations.core.services import FILE_DOWNLOADED
from annotations.jobs.runner import run as run_job
from annotations.models import BulkAct, Decision, Event, Job, Span, SuggestedString
from annotations.review.selectors.decision_log import OverruledCounts
from annotations.review.selectors.suggested_strings import strings
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.pages import TEXT, url
from tests.worlds.reviewing import bulk_page, gold_of, plan, review, start, suggested_world


def make_suggested() -> SimpleNamespace:
    """Two runs over three notes. Both suggest the patient; the first also suggests the city, wrongly as a hospital."""
    world = suggested_world(3, rules_1=[(0, 11, "PATIENT"), (44, 50, "HOSPITAL")], crf_1=[(0, 11, "PATIENT")])
    world.spans.filter(start=0).update(source="title")
    world.spans.filter(start=44).update(confidence=0.4, source="place")
    world.string = SuggestedString.objects.get(author=world.run, label_id=world.labels["HOSPITAL"])
    return world


made, suggested = made_once(make_suggested)


def spans(world, run=0):
    return Span.objects.filter(annotation_set__author=world.runs[run]).order_by("annotation_set__document", "start")


# ── By rule ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_threshold_is_previewed_started_and_undone(suggested):
    client = suggested.client
    review(suggested.notes[0], suggested.runs[0], suggested.mia, Act.ACCEPT, spans(suggested)[0])
    bulk = plan(suggested)
    page = client.get(url("review_bulk", bulk.pk))
    precision = page.context["precision"].observed
    assert (page.context["count"], precision.right, precision.counted) == (2, 0, 0)
    assert Decision.objects.count() == 1, "nothing is decided yet"
    for _ in range(2):
        assert client.post(url("bulk_start", bulk.pk)).url == url("review_bulk", bulk.pk)
    assert Decision.objects.filter(cause=bulk, reviewer=suggested.rev).count() == 2
    assert url("bulk_undo", bulk.pk) in bulk_page(suggested, bulk)
    for _ in range(2):
        start(suggested, bulk, "bulk_undo")
    assert Decision.objects.count() == 1
    assert "Undone" in bulk_page(suggested, bulk)
    assert url("review_bulk", bulk.pk) in check_page(client.get(url("review_bulk_new")))


def test_impossible_plans_and_acts_on_a_string_are_refused(suggested):
    client = suggested.client
    known = {"kind": "threshold", "runs": [suggested.runs[0].pk], "least": "90", "agree": "2", "act": "accept"}
    for data in (
        {"runs": []}, {"least": ""}, {"least": "x"}, {"least": "101"}, {"kind": "agreed"}, {"kind": "dance"},
        {"act": "dance"}, {"label": "999999"}, {"least": "99"},
    ):  # fmt: skip
        answer = client.post(url("review_bulk_new"), known | data)
        assert answer.status_code == 422 and answer.context["form"].errors, data
    for data in ({}, {"act": "dance"}, {"act": "accept", "to": 10**9}):
        answer = client.post(url("review_string", suggested.string.pk), data, follow=True)
        assert answer.status_code == 200 and list(answer.context["messages"]), data
    assert not BulkAct.objects.exists()


def test_a_large_act_is_a_job_and_so_is_its_undo(suggested, monkeypatch):
    for module in ("annotations.review.services.bulk", "annotations.review.views.bulk"):
        monkeypatch.setattr(f"{module}.AT_ONCE", 1)
    client, bulk = suggested.client, plan(suggested)
    assert client.get(url("bulk_job", bulk.pk)).status_code == 404
    for _ in range(2):
        answer = client.post(url("bulk_start", bulk.pk))
    job = Job.objects.get()
    assert answer.url == client.get(url("bulk_job", bulk.pk)).url == url("job", job.number)
    assert start(suggested, bulk, "bulk_undo").state == "working", "the job has not run yet"
    run_job(job.pk)
    assert (make.reread(job).state, job.done, job.result["decided"]) == ("done", 3, 3)
    assert url("review_bulk", bulk.pk) in check_page(client.get(url("job", job.number)))
    client.post(url("bulk_undo", bulk.pk))
    undo = Job.objects.exclude(pk=job.pk).get()
    run_job(undo.pk)
    assert (make.reread(undo).state, undo.result["undone"]) == ("done", 3)
    assert not Decision.objects.exists()


# ── By string ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ["open", "uncertainty"])
def test_the_first_strings_over_several_runs_are_the_first_of_all(suggested, order):
    """For random counts, compared with the sums over all rows; no string is lost or repeated between pages."""
    chance = random.Random(4)
    runs = [make.make_author(suggested.project, kind="run", name=f"run-{n}") for n in range(3)]
    label = make.label_of(suggested.project, "CITY").pk
    sums: dict[int, list[float]] = {}
    for run in runs:
        for key in chance.sample(range(400), 250):
            count, doubt = int(300 * chance.random() ** 4), round(chance.random(), 2)
            SuggestedString.objects.create(
                author=run, string_key=key, label_id=label, count=count, open=count, uncertainty=doubt, sample=key
            )
            if count:
                found = sums.setdefault(key, [0, 0])
                found[0], found[1] = found[0] + count, max(found[1], doubt)
    best = sorted((figures[order == "uncertainty"] for figures in sums.values()), reverse=True)
    listed, more, number = [], True, 0
    while more:
        number += 1
        page = strings([run.pk for run in runs], order=order, number=number)
        listed, more = listed + page.rows, page.more
    assert len({row.pk for row in listed}) == len(listed) == len(sums)
    keys = dict(SuggestedString.objects.values_list("pk", "string_key"))
    assert [sums[keys[row.pk]][order == "uncertainty"] for row in listed] == best


def test_all_occurrences_of_a_string_are_decided_except_the_exceptions(suggested):
    client, where = suggested.client, url("review_string", suggested.string.pk)
    page = client.get(where)
    check_page(page)
    shown = [row.alias for row in page.context["rows"]]
    data = {"act": "accept", "to": suggested.labels["CITY"], "shown": shown, "tick": shown[1:]}
    page = client.get(client.post(where, data).url)
    assert "Accept as CITY" in check_page(page) and page.context["bulk"].decided == 2
    assert [gold_of(note) for note in suggested.notes] == [[], [(44, 50, "CITY")], [(44, 50, "CITY")]]
    page = client.get(where)
    assert "accepted by rev" in check_page(page) and page.context["open"] == 1
    assert (make.reread(suggested.string).count, suggested.string.open) == (3, 1)


# ── Figures and the log ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def decided(suggested: SimpleNamespace) -> SimpleNamespace:
    """First note: patient accepted, then rejected by another person; city corrected. The other notes: in bulk."""
    patient, place, *_ = spans(suggested)
    note, run, city = suggested.notes[0], suggested.runs[0], (44, 50, suggested.labels["CITY"])
    review(note, run, suggested.rev, Act.ACCEPT, patient)
    review(note, run, suggested.mia, Act.REJECT, patient)
    review(note, run, suggested.rev, Act.CORRECT, place, bounds=city, quote=TEXT[44:50])
    suggested.bulk = start(suggested, plan(suggested))
    return suggested


def test_acceptance_counts_single_decisions(decided):
    page = decided.client.get(url("acceptance"))
    check_page(page)
    figures = {
        title: [(name, row.right, row.corrected, row.rejected, row.bulk) for name, row in rows]
        for title, rows in page.context["tables"]
    }
    assert figures["By label"] == [("PATIENT", 0, 0, 1, 2), ("HOSPITAL", 0, 1, 0, 0)]
    assert figures["By source"] == [("rules-1: title", 0, 0, 1, 2), ("rules-1: place", 0, 1, 0, 0)]
    assert figures["By confidence"] == [("0 to 50%", 0, 1, 0, 0), ("95 to 100%", 0, 0, 1, 2)]
    assert page.context["overruled"] == [OverruledCounts("mia", "rev", 1, 1)]
    assert "No decisions yet" in check_page(decided.client.get(f"{url('acceptance')}?run={decided.runs[1].pk}"))


def test_the_log_lists_the_decisions_in_both_formats(decided):
    """In CSV, every cell is quoted, and a name that is a formula of spreadsheets is defused."""
    type(decided.notes[0]).objects.filter(pk=decided.notes[0].pk).update(name="=1+1;-2")
    answer = decided.client.get(url("decisions_export", "jsonl"))
    rows = [json.loads(line) for line in b"".join(answer).decode().splitlines()]
    assert [(r["reviewer"], r["act"], r["before"], r["after"], r["over"]) for r in rows] == [
        ("rev", "accept", "open", "accepted", None), ("mia", "reject", "accepted", "rejected", "rev"),
        ("rev", "correct", "open", "accepted", None), ("rev", "accept", "open", "accepted", None),
        ("rev", "accept", "open", "accepted", None),
    ]  # fmt: skip
    assert {row["bulk"] for row in rows[3:]} == {str(decided.bulk.pk)}
    corrected = rows[2]["suggested_label"], rows[2]["label"], rows[2]["gold_added"]
    assert corrected == ("HOSPITAL", "CITY", [[44, 50, "CITY"]])
    assert (rows[0]["confidence"], rows[0]["source"], rows[0]["run"]) == (0.95, "title", "rules-1")
    text = b"".join(decided.client.get(url("decisions_export", "csv"))).decode()
    assert [row["event"] for row in csv.DictReader(io.StringIO(text))] == [str(row["event"]) for row in rows]
    assert "Rossi" not in text and ",\"'=1+1;'-2\"," in text
    assert all(line.startswith('"') and line.endswith('"') for line in text.splitlines())
    assert Event.objects.filter(verb=FILE_DOWNLOADED).count() == 2
    assert decided.client.get(url("decisions_export", "xls")).status_code == 404


# ── Gold and drafts of reviews ───────────────────────────────────────────────────────────────────────────────────────


def test_a_span_in_the_draft_of_a_review_is_not_called_gold(suggested):
    """Another run suggests a span that is only in the draft of an open review; finishing the review makes it gold."""
    client, (run, other), note = suggested.client, suggested.runs, suggested.notes[0]
    page = f"{url('review_string', SuggestedString.objects.get(author=other).pk)}?run={other.pk}"
    found = []
    for act, span in ((Act.ACCEPT, spans(suggested)[0]), (Act.REJECT, spans(suggested)[1])):
        review(note, run, suggested.mia, act, span)
        if act == Act.REJECT:
            finish_review(document=note, author=run, user=suggested.mia)
        html = check_page(client.get(page))
        draft = client.get(url("review_state", other.pk, note.pk)).json()["gold_is_draft"]
        found.append((html.count("in a draft of a review"), html.count("already in gold"), draft))
    assert found == [(1, 0, True), (0, 1, False)]


# ── The command ──────────────────────────────────────────────────────────────────────────────────────────────────────


def run(*words, by="rev"):
    return answered("review_bulk", "covid", *words, "--by", by)


def test_suggestions_are_counted_accepted_and_undone(suggested, no_redis):
    assert run("--agree", 2, "--label", "PATIENT", "--preview")["preview"]["open"] == 6
    assert run("--least", 0, "--source", "place", "--preview")["preview"]["open"] == 3
    found = run("rules-1", "--least", 90, "--preview")
    assert (found["state"], found["preview"]["decided"], found["preview"]["skipped"]) == ("planned", 3, 0)
    assert not BulkAct.objects.exists()
    done = run("rules-1", "--least", 90)
    assert (done["state"], done["act"], done["user"], done["decided"]) == ("done", "accept", "rev", 3)
    assert [gold_of(note) for note in suggested.notes] == [[(0, 11, "PATIENT")]] * 3
    assert run("--list")["acts"] == [done]
    undone = run("--undo", done["id"])
    assert (undone["state"], undone["undone"], undone["kept"]) == ("undone", 3, 0)
    assert not any(map(gold_of, suggested.notes)) and not Decision.objects.exists()
    assert [event.actor for event in Event.objects.filter(verb__startswith="review.bulk")] == [suggested.rev] * 2


def test_the_suggestions_of_a_string(suggested, no_redis):
    rows = {row["text"]: row for row in run("--strings")["strings"]}
    assert (rows["Torino"]["label"], rows["Torino"]["open"]) == ("HOSPITAL", 3)
    assert [row["text"] for row in run("--strings", "--label", "PATIENT")["strings"]] == ["Mario Rossi"]

    done = run("--string", rows["Torino"]["id"], "--as", "CITY")
    assert (done["rule"]["kind"], done["decided"]) == ("string", 3)
    assert [gold_of(note) for note in suggested.notes] == [[(44, 50, "CITY")]] * 3


def test_what_is_refused(suggested, no_redis):
    for words, code in (
        (("none", "--least", 90), "set"), (("rules-1", "--least", 101), "invalid"), (("--string", 10**20), "string"),
        (("--string", 1, "--as", "CITY", "--reject"), "options"), (("--undo", "nothing"), "bulk"),
    ):  # fmt: skip
        assert run(*words) == code
    assert not BulkAct.objects.exists() and not Decision.objects.exists()


def test_strings_are_decided_in_their_list_once_for_each_id(suggested):
    def decide(*changes):
        data = {
            "person": suggested.rev.pk,
            "changes": [{"change_id": str(uuid.uuid4())} | change for change in changes],
        }
        answer = suggested.client.post(
            reverse("review_strings_decide", args=["covid"]), data, content_type="application/json"
        )
        assert answer.status_code == 200
        for html in answer.json()["parts"].values():
            check_page(HttpResponse(html), fragment=True)
        return answer.json()

    string = SuggestedString.objects.order_by("pk").first()
    accept = {"string": str(string.pk), "answer": "accept", "change_id": str(uuid.uuid4())}
    answer = decide(accept, {"string": "x", "answer": "accept"}, {"string": str(string.pk), "answer": "undo"})
    assert [outcome and outcome["error"] for outcome in answer["outcomes"]] == [None, "malformed", "malformed"]
    assert "accepted" in answer["parts"][f"s{string.pk}"]
    made = Decision.objects.count()
    decide(accept)
    assert Decision.objects.count() == made == BulkAct.objects.get().decided > 0
    answer = decide({"string": str(string.pk), "answer": "undo", "of": accept["change_id"]})
    assert not Decision.objects.exists() and 'value="accept"' in answer["parts"][f"s{string.pk}"]
    assert suggested.client.get(
        reverse("review_strings", args=["covid"]), headers={"Accept": "application/json"}
    ).json()["csrf"]
