"""Pages for review by rule and by string: preview, result and undo; the decision log and the acceptance figures."""

import csv
import io
import json
import random
import uuid
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.events import FILE_DOWNLOADED
from annotations.jobs.runner import run as run_job
from annotations.models import BulkAct, Decision, Event, Job, Span, SuggestedString
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.labels import merge_labels
from annotations.review.selectors.suggested_strings import strings
from annotations.review.services import bulk as bulk_review
from annotations.review.services import deciding as review
from annotations.review.services.deciding import Request
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT

HOSTILE = "Sig. <script>alert(1)</script> & \u2028 Torino"


@pytest.fixture
def suggested(world: SimpleNamespace) -> SimpleNamespace:
    """Two runs over three notes. Both suggest the patient; the first also suggests the city, wrongly as a hospital."""
    world.runs = [make.make_author(world.project, kind="run", name=name) for name in ("rules-1", "crf-1")]
    world.notes = [make.make_note(world.project, TEXT, patient_id=f"p{n}") for n in range(3)]
    for note in world.notes:
        make.make_set(note, world.runs[0], [(0, 11, "PATIENT"), (44, 50, "HOSPITAL")], submitted=True)
        make.make_set(note, world.runs[1], [(0, 11, "PATIENT")], submitted=True)
    Span.objects.filter(annotation_set__author__in=world.runs, start=0).update(confidence=0.95, source="title")
    Span.objects.filter(annotation_set__author__in=world.runs, start=44).update(confidence=0.4, source="place")
    world.labels = {label.name: label.pk for label in world.project.label_set.labels.all()}
    world.string = SuggestedString.objects.get(author=world.runs[0], label_id=world.labels["HOSPITAL"])
    return world


def url(name: str, *args: object) -> str:
    return reverse(name, args=["covid", *args])


def plan(client, world, **data):
    known = {"kind": "threshold", "runs": [world.runs[0].pk], "least": "90", "agree": "2", "act": "accept"}
    return client.post(url("review_bulk_new"), known | data)


def decide(world, act, span, user, **options):
    request = Request(change_id=uuid.uuid4(), act=act, suggestion=span.pk, **options)
    annotation_set = span.annotation_set
    review.decide(document=annotation_set.document, author=annotation_set.author, user=user, request=request)


def spans(world, run=0):
    return Span.objects.filter(annotation_set__author=world.runs[run]).order_by("annotation_set__document", "start")


# ── By rule ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_ways_to_review_are_in_the_navigation_only_and_keep_the_chosen_runs(suggested, sign_in):
    client, run = sign_in(suggested.rev), suggested.runs[0].pk
    pages = ("review_strings", "review_bulk_new", "acceptance")
    for here in pages:
        html = check_page(client.get(f"{url(here)}?run={run}"))
        assert html.count(">By string<") == html.count(">In bulk<") == 1
        for other in pages:
            assert html.count(f'href="{url(other)}?run={run}"') == 1
        assert f'href="{url("reviews")}"' in html
    html = check_page(client.get(url("gold")))
    assert f"run={run}" not in html


def test_a_threshold_is_previewed_started_and_undone(suggested, sign_in):
    client = sign_in(suggested.rev)
    decide(suggested, Act.ACCEPT, spans(suggested)[0], suggested.mia)
    answer = plan(client, suggested)
    assert answer.status_code == 303
    page = client.get(answer.url)
    html = check_page(page)
    assert "Accept 2 suggestions" in html
    assert "no decisions in finished reviews" in html and "too few such decisions" in html
    precision = page.context["precision"].observed
    assert (page.context["count"], precision.right, precision.counted) == (2, 0, 0)
    assert Decision.objects.count() == 1, "nothing is decided yet"
    bulk = BulkAct.objects.get()
    for _ in range(2):
        assert client.post(url("bulk_start", bulk.pk)).url == url("review_bulk", bulk.pk)
    assert Decision.objects.filter(cause=bulk, reviewer=suggested.rev).count() == 2
    assert "Undo bulk act" in check_page(client.get(url("review_bulk", bulk.pk)))
    for _ in range(2):
        client.post(url("bulk_undo", bulk.pk))
    assert Decision.objects.count() == 1
    assert "Undone" in check_page(client.get(url("review_bulk", bulk.pk)))
    assert "Bulk acts" in check_page(client.get(url("review_bulk_new")))


def test_impossible_plans_are_refused(suggested, sign_in):
    client = sign_in(suggested.rev)
    for data in (
        {"runs": []}, {"least": ""}, {"least": "x"}, {"least": "101"}, {"kind": "agreed"}, {"kind": "dance"},
        {"act": "dance"}, {"label": "999999"}, {"least": "99"},
    ):  # fmt: skip
        answer = plan(client, suggested, **data)
        assert answer.status_code == 422 and answer.context["form"].errors, data
    assert not BulkAct.objects.exists()


def test_only_the_planner_starts_an_act(suggested, sign_in):
    plan(sign_in(suggested.rev), suggested)
    bulk = BulkAct.objects.get()
    other = sign_in(suggested.mia)
    assert "Only rev can start it" in check_page(other.get(url("review_bulk", bulk.pk)))
    other.post(url("bulk_start", bulk.pk))
    assert not Decision.objects.exists()


def test_a_large_act_is_a_job_and_so_is_its_undo(suggested, sign_in, monkeypatch):
    for module in ("annotations.review.services.starting", "annotations.review.views.bulk"):
        monkeypatch.setattr(f"{module}.AT_ONCE", 1)
    client = sign_in(suggested.rev)
    plan(client, suggested)
    bulk = BulkAct.objects.get()
    assert "A job decides this many" in check_page(client.get(url("review_bulk", bulk.pk)))
    assert client.get(url("bulk_job", bulk.pk)).status_code == 404
    for _ in range(2):
        answer = client.post(url("bulk_start", bulk.pk))
    job = Job.objects.get()
    assert answer.url == url("job", job.number)
    assert client.get(url("bulk_job", bulk.pk)).url == url("job", job.number)
    client.post(url("bulk_undo", bulk.pk))
    bulk.refresh_from_db()
    assert bulk.state == "working", "the job has not run yet"
    run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.done, job.result["decided"]) == ("done", 3, 3)
    assert "Show bulk act" in check_page(client.get(url("job", job.number)))
    client.post(url("bulk_undo", bulk.pk))
    undo = Job.objects.exclude(pk=job.pk).get()
    run_job(undo.pk)
    undo.refresh_from_db()
    assert (undo.state, undo.result["undone"]) == ("done", 3)
    assert "Undone" in check_page(client.get(url("job", undo.number)))
    assert not Decision.objects.exists()


# ── By string ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_strings_are_listed_by_open_suggestions_and_by_uncertainty(suggested, sign_in):
    client = sign_in(suggested.rev)
    page = client.get(url("review_strings"))
    check_page(page)
    assert [(row.text, row.open, row.count) for row, _ in page.context["rows"]] == [
        ("Mario Rossi", 6, 6),
        (TEXT[44:50], 3, 3),
    ]
    one = client.get(f"{url('review_strings')}?run={suggested.runs[0].pk}&label={suggested.labels['HOSPITAL']}")
    assert [(row.text, row.open) for row, _ in one.context["rows"]] == [(TEXT[44:50], 3)]
    for nonsense in ("?run=x&run=-1&label=y&order=z&page=0", "?page=" + "9" * 30, f"?run={10**18}"):
        assert client.get(url("review_strings") + nonsense).status_code == 200
    empty = client.get(url("review_strings") + f"?label={suggested.labels['AGE']}")
    assert "No open suggestions" in check_page(empty)


@pytest.mark.parametrize("order", ["open", "uncertainty"])
def test_the_first_strings_over_several_runs_are_the_first_of_all(world, order):
    """For random counts, compared with the sums over all rows; no string is lost or repeated between pages."""
    chance = random.Random(4)
    runs = [make.make_author(world.project, kind="run", name=f"run-{n}") for n in range(3)]
    label = make.label_of(world.project, "CITY").pk
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


def test_all_occurrences_of_a_string_are_decided_except_the_exceptions(suggested, sign_in):
    client = sign_in(suggested.rev)
    where = url("review_string", suggested.string.pk)
    page = client.get(where)
    html = check_page(page)
    assert "3 open suggestions" in html
    assert TEXT[44:50] not in where
    shown = [row.alias for row in page.context["rows"]]
    data = {"act": "accept", "to": suggested.labels["CITY"], "shown": shown, "tick": shown[1:]}
    answer = client.post(where, data)
    assert answer.status_code == 303
    page = client.get(answer.url)
    assert "Accept as CITY" in check_page(page)
    assert page.context["count"] == 2
    client.post(url("bulk_start", BulkAct.objects.get().pk))
    gold = Span.objects.filter(annotation_set__author__kind="gold")
    assert set(gold.values_list("annotation_set__document", "label__name")) == {
        (note.pk, "CITY") for note in suggested.notes[1:]
    }
    html = check_page(client.get(where))
    assert "1 open suggestion" in html
    assert "accepted by rev" in html
    suggested.string.refresh_from_db()
    assert (suggested.string.count, suggested.string.open) == (3, 1)


def test_impossible_acts_on_a_string_are_refused(suggested, sign_in):
    client = sign_in(suggested.rev)
    for data in ({}, {"act": "dance"}, {"act": "accept", "to": 10**9}):
        answer = client.post(url("review_string", suggested.string.pk), data, follow=True)
        assert answer.status_code == 200 and list(answer.context["messages"]), data
    assert not BulkAct.objects.exists()


def test_string_counts_follow_their_suggestions(suggested):
    """Erased notes and merged labels change the counts."""
    erase_patient(project=suggested.project, patient_id="p0", actor=None)
    suggested.string.refresh_from_db()
    assert (suggested.string.count, suggested.string.open) == (2, 2)
    assert Span.objects.filter(pk=suggested.string.sample).exists()
    merge_labels(
        source=make.label_of(suggested.project, "HOSPITAL"), target=make.label_of(suggested.project, "CITY"), actor=None
    )
    row = SuggestedString.objects.get(author=suggested.runs[0], label_id=suggested.labels["CITY"])
    assert (row.count, row.open, row.string_key) == (2, 2, suggested.string.string_key)
    for patient in ("p1", "p2"):
        erase_patient(project=suggested.project, patient_id=patient, actor=None)
    assert not SuggestedString.objects.exists()


def test_hostile_text_is_shown_as_text(world, sign_in):
    run = make.make_author(world.project, kind="run", name="<i>run</i>")
    note = make.make_note(world.project, HOSTILE, "<b>note</b>")
    make.make_set(note, run, [(5, 30, "PATIENT")], submitted=True)
    client = sign_in(world.rev)
    string = SuggestedString.objects.get()
    pages = [url("review_strings"), url("review_string", string.pk), url("review_bulk_new"), url("acceptance")]
    client.post(pages[1], {"act": "reject"})
    pages.append(url("review_bulk", BulkAct.objects.get().pk))
    for page in pages:
        html = check_page(client.get(page))
        assert not any(tag in html for tag in ("<script>alert", "<i>run", "<b>note"))


# ── Figures and the log ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def decided(suggested: SimpleNamespace) -> SimpleNamespace:
    """First note: patient accepted, then rejected by another person; city corrected. The other notes: in bulk."""
    patient, place, *_ = spans(suggested)
    decide(suggested, Act.ACCEPT, patient, suggested.rev)
    decide(suggested, Act.REJECT, patient, suggested.mia)
    decide(suggested, Act.CORRECT, place, suggested.rev, bounds=(44, 50, suggested.labels["CITY"]), quote=TEXT[44:50])
    suggested.bulk = bulk_review.plan_bulk(
        project=suggested.project, user=suggested.rev, act=BulkAct.Act.ACCEPT,
        rule=bulk_review.Rule("threshold", [suggested.runs[0].pk], least=0.9),
    )  # fmt: skip
    bulk_review.begin_bulk(bulk=suggested.bulk, user=suggested.rev)
    bulk_review.at_once(suggested.bulk, bulk_review.run_bulk)
    return suggested


def test_acceptance_counts_single_decisions(decided, sign_in):
    page = sign_in(decided.rev).get(url("acceptance"))
    html = check_page(page)
    figures = {
        title: [(name, row.rate.right, row.corrected, row.rejected, row.bulk) for name, row in rows]
        for title, rows in page.context["tables"]
    }
    assert figures["By label"] == [("PATIENT", 0, 0, 1, 2), ("HOSPITAL", 0, 1, 0, 0)]
    assert figures["By source"] == [("rules-1: title", 0, 0, 1, 2), ("rules-1: place", 0, 1, 0, 0)]
    assert figures["By confidence"] == [("0 to 50%", 0, 1, 0, 0), ("95 to 100%", 0, 0, 1, 2)]
    assert page.context["overruled"] == [("mia", "rev", 1, 1)]
    assert "Changed decisions of other reviewers" in html
    only = sign_in(decided.rev).get(f"{url('acceptance')}?run={decided.runs[1].pk}")
    assert "No decisions yet" in check_page(only)


def test_the_log_lists_the_decisions_in_both_formats(decided, sign_in):
    client = sign_in(decided.rev)
    answer = client.get(url("decisions_export", "jsonl"))
    rows = [json.loads(line) for line in b"".join(answer).decode().splitlines()]
    assert [(r["reviewer"], r["act"], r["before"], r["after"], r["over"]) for r in rows] == [
        ("rev", "accept", "open", "accepted", None),
        ("mia", "reject", "accepted", "rejected", "rev"),
        ("rev", "correct", "open", "accepted", None),
        ("rev", "accept", "open", "accepted", None),
        ("rev", "accept", "open", "accepted", None),
    ]
    assert {row["bulk"] for row in rows[3:]} == {str(decided.bulk.pk)}
    assert (rows[2]["suggested_label"], rows[2]["label"], rows[2]["gold_added"]) == (
        "HOSPITAL",
        "CITY",
        [[44, 50, "CITY"]],
    )
    assert (rows[0]["confidence"], rows[0]["source"], rows[0]["run"]) == (0.95, "title", "rules-1")
    answer = client.get(url("decisions_export", "csv"))
    text = b"".join(answer).decode()
    table = list(csv.DictReader(io.StringIO(text)))
    assert [row["event"] for row in table] == [str(row["event"]) for row in rows]
    assert "Rossi" not in text
    assert "attachment" in answer["Content-Disposition"]
    assert Event.objects.filter(verb=FILE_DOWNLOADED).count() == 2
    assert client.get(url("decisions_export", "xls")).status_code == 404


def test_the_log_can_be_written_by_a_command(decided, tmp_path):
    file = tmp_path / "log.csv"
    call_command("export_decisions", "covid", "--format", "csv", "--output", str(file))
    assert len(file.read_text().splitlines()) == 6
    out = io.StringIO()
    call_command("export_decisions", "covid", "--format", "jsonl", stdout=out)
    assert len([json.loads(line) for line in out.getvalue().splitlines()]) == 5
    with pytest.raises(CommandError, match="no project"):
        call_command("export_decisions", "nowhere")
    with pytest.raises(CommandError, match="Cannot write"):
        call_command("export_decisions", "covid", "--output", str(tmp_path / "no" / "log.csv"))


def test_a_name_that_is_a_spreadsheet_formula_is_defused(decided, sign_in):
    type(decided.notes[0]).objects.filter(pk=decided.notes[0].pk).update(name="=1+1;-2")
    text = b"".join(sign_in(decided.rev).get(url("decisions_export", "csv"))).decode()
    assert ",\"'=1+1;'-2\"," in text
    assert all(line.startswith('"') and line.endswith('"') for line in text.splitlines()), "every cell is quoted"


# ── Gold and drafts of reviews ───────────────────────────────────────────────────────────────────────────────────────


def test_a_span_in_the_draft_of_a_review_is_not_called_gold(suggested, sign_in):
    """Another run suggests a span that is only in the draft of an open review; finishing the review makes it gold."""
    decide(suggested, Act.ACCEPT, spans(suggested)[0], suggested.mia)
    client, (run, other) = sign_in(suggested.rev), suggested.runs
    string = SuggestedString.objects.get(author=other)
    page = f"{url('review_string', string.pk)}?run={other.pk}"
    state = url("review_state", other.pk, suggested.notes[0].pk)
    html = check_page(client.get(page))
    assert html.count("in a draft of a review") == 1 and "already in gold" not in html
    assert client.get(state).json()["gold_is_draft"] is True
    decide(suggested, Act.REJECT, spans(suggested)[1], suggested.mia)
    finish_review(document=suggested.notes[0], author=run, user=suggested.mia)
    html = check_page(client.get(page))
    assert html.count("already in gold") == 1 and "in a draft of a review" not in html
    assert client.get(state).json()["gold_is_draft"] is False
