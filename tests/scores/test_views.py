"""Score pages: the same figures as the command, errors in context, and empty states."""

import csv
import io
import json
import re
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.core.services import FILE_DOWNLOADED, ServiceError, silent
from annotations.gold.services.making import freeze, make_gold
from annotations.models import Author, Document, ErrorCause, Event, Job, Project, Span
from annotations.projects.services.labels import merge_labels
from annotations.review.services.finishing import finish_review
from annotations.scores import selectors
from annotations.scores.events import ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED
from annotations.scores.rules.causes import ErrorId
from annotations.scores.services import asking
from annotations.scores.services.errors import causes_of_errors, change_error_cause
from annotations.scores.services.scoring import notes_of, run_score, score, score_errors, score_request
from annotations.scores.views import scores as view
from tests import factories as make
from tests.scores.conftest import AGE, CITY, ROSSI, page_that_reads_no_notes, url
from tests.worlds.checks import batch, check_page
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
    whole = re.compile(rf'"annotations_annotationset"."author_id" (= {read.run.pk}|IN \({read.run.pk}\b)')
    of_author = [each["sql"] for each in made if whole.search(each["sql"])]
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


def test_the_page_of_a_long_score_counts_without_reading_the_notes(read, client):
    make.make_set(make.make_note(read.project, "Ada"), read.run, [(0, 3, "PATIENT")], submitted=True)
    make.make_set(read.notes[1], read.run, [ROSSI])
    freeze(project=read.project, actor=None)
    with patch.object(asking, "MOST_CHARACTERS", 10):
        page = page_that_reads_no_notes(client, url("score", read, 1))
    excluded = page.context["left_out"]
    assert page.context["late"] and page.context["notes"] == 1
    assert (excluded.drafts, excluded.unread, excluded.no_gold) == (1, 0, 1)
    table = score(score_request(read.project, version=1, author_id=read.run.pk)).table
    assert (table["notes"], table["left_out"]) == (1, {"drafts": 1, "unread": 0, "no_gold": 1})


@pytest.mark.parametrize("most", [1, 2, 3])
def test_characters_are_counted_until_they_are_too_many(read, most):
    for n in range(3):
        make.make_set(make.make_note(read.project, "x" * 10**n), read.run, [], submitted=True)
        make.make_set(Document.objects.latest("pk"), "gold", [])
    notes = notes_of(score_request(read.project, version=0, author_id=read.run.pk))
    whole = sum(len(note.text) for note in Document.objects.filter(pk__in=notes.notes))
    with patch.object(selectors, "LENGTHS", most):
        assert selectors.characters(notes, whole) == whole
        assert selectors.characters(notes, 5) == sum(
            len(note.text) for note in Document.objects.filter(pk__in=notes.notes[:most])
        )


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


# Causes of errors: set from the list of errors, several on one error, found again in other scores, counted.


def wanted(world, version=0):
    return score_request(world.project, version=version, author_id=world.run.pk)


def tag(world, error, kind, *, present=True, version=0):
    asked = wanted(world, version)
    return change_error_cause(
        wanted=asked, found=score(asked), error=str(error), kind=kind, present=present, user=world.rev
    )


# ── The list as CSV ──────────────────────────────────────────────────────────────────────────────────────────────────


def rows_of(response):
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_the_list_of_errors_can_be_downloaded_as_csv(read, client):
    tag(read, read.label, "AM")
    tag(read, read.label, "AB")
    assert url("score_errors_export", read) in check_page(client.get(url("score_errors", read)))
    response = client.get(url("score_errors_export", read))
    assert response["Content-Disposition"].startswith(f'attachment; filename="{read.project.slug}-errors-')
    rows = rows_of(response)
    assert [row["type"] for row in rows] == ["boundary", "missed", "label"]
    assert rows[1]["gold_label"] == "CITY" and rows[1]["predicted_label"] == rows[1]["predicted_start"] == ""
    last = rows[2]
    gold = last["gold_start"], last["gold_end"], last["gold_label"], last["gold_text"]
    assert gold == ("61", "68", "DOCTOR", "Bianchi")
    assert (last["predicted_label"], last["category"], last["causes"]) == ("PATIENT", "C0", "AB AM")
    assert last["note"] == read.note.name and "Bianchi" in last["sentence"]
    (event,) = Event.objects.filter(verb=FILE_DOWNLOADED)
    assert event.data == {"errors": "csv"} and event.actor == read.rev


def test_the_csv_takes_the_filters_and_neutralizes_formulas(read, client):
    note = make.make_note(read.project, "=HYPERLINK(1) Rossi", "formula")
    make.make_set(note, "gold", [(0, 13, "PATIENT")])
    make.make_set(note, read.run, [], submitted=True)
    html = client.get(url("score_errors", read, kind="missed", page=1)).content.decode()
    assert url("score_errors_export", read, kind="missed") in html
    rows = rows_of(client.get(url("score_errors_export", read, kind="missed")))
    assert [row["gold_label"] for row in rows] == ["CITY", "PATIENT"]
    assert rows[1]["gold_text"] == "'=HYPERLINK(1)" and rows[1]["sentence"].startswith("'=")


# ── The service ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_several_causes_on_one_error_as_in_table_4_9(read):
    """Catelli 2021, table 4.9: the last token of a date has the causes AB and AM."""
    note = make.make_note(read.project, "ESRD (FSGS) on HD Mon, We d, Fri s/p failed", "dates")
    make.make_set(note, "gold", [(18, 32, "DATE")])
    make.make_set(note, read.run, [(18, 21, "DATE")], submitted=True)
    error = ErrorId(note.pk, (18, 32, "DATE"), (18, 21, "DATE"))
    assert tag(read, error, "AB") == {"AB"}
    for _ in range(2):
        assert tag(read, error, "AM") == {"AB", "AM"}, "once more changes nothing"
    assert causes_of_errors(wanted(read)) == {error: {"AB", "AM"}}
    for _ in range(2):
        assert tag(read, error, "AB", present=False) == {"AM"}
    events = Event.objects.filter(verb__in=[ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED]).order_by("pk")
    assert [event.verb for event in events] == [ERROR_CAUSE_ADDED, ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED]
    event = events[0]
    assert (event.actor, event.document_id, event.project_id) == (read.rev, note.pk, read.project.pk)
    assert event.data == {
        "author": read.run.pk, "labels_of": "", "gold": [18, 32, "DATE"], "predicted": [18, 21, "DATE"], "kind": "AB"
    }  # fmt: skip


def test_only_errors_of_this_score_get_causes(read):
    """Another author's errors have causes of their own."""
    city = f"{read.note.pk}:44-50-CITY:"
    for error, kind, code in (
        ("", "AB", "error"), ("x", "AB", "error"), ("9" * 5000, "AB", "error"), ("1:2:3", "AB", "error"),
        (f"{city}44-50-CITY", "AB", "error"), (city, "XX", "kind"), (city, "", "kind"),
    ):  # fmt: skip
        with pytest.raises(ServiceError) as refused:
            tag(read, error, kind)
        assert refused.value.code == code
    assert not ErrorCause.objects.exists()
    tag(read, read.missed, "S")
    read.run = make.make_author(read.project, kind="run", name="rules-2")
    make.make_set(read.note, read.run, [ROSSI, AGE], submitted=True)
    assert causes_of_errors(wanted(read)) == {}


def test_causes_survive_another_score_of_the_same_error(read):
    tag(read, read.missed, "S")
    tag(read, read.label, "AM")
    read.run_set.spans.create(start=31, end=41, label=make.label_of(read.project, "DATE"))
    read.run_set.version += 1
    read.run_set.save()
    errors = {ErrorId.of(row) for row in score_errors(wanted(read))}
    assert {error: kinds for error, kinds in causes_of_errors(wanted(read)).items() if error in errors} == {
        read.missed: {"S"}, read.label: {"AM"}
    }  # fmt: skip
    freeze(project=read.project, actor=None)
    assert tag(read, read.missed, "D", version=1) == {"S", "D"}, "the same error against a frozen version"


def test_causes_are_gone_with_the_error(read, client):
    """The run finds the city now, and another label for the doctor is another error."""
    tag(read, read.missed, "S")
    tag(read, read.label, "AM")
    read.run_set.spans.create(start=44, end=50, label=make.label_of(read.project, "CITY"))
    read.run_set.spans.filter(start=61).update(label=make.label_of(read.project, "CITY"))
    read.run_set.version += 1
    read.run_set.save()
    assert 'name="removed"' not in check_page(client.get(url("score_errors", read)))
    assert [n for n, _url in client.get(url("score", read)).context["cause_total"]["cells"]] == [0, 0, 0, 0, 2]
    with pytest.raises(ServiceError):
        tag(read, read.missed, "S", present=False)


@pytest.mark.both_databases
def test_causes_follow_a_merged_label(read):
    tag(read, read.label, "AM")
    labels = read.project.label_set.labels
    merge_labels(source=labels.get(code="DOCTOR"), target=labels.get(code="CITY"), actor=None)
    now = ErrorId(read.note.pk, (61, 68, "CITY"), (61, 68, "PATIENT"))
    assert causes_of_errors(wanted(read)) == {now: {"AM"}}
    assert tag(read, now, "AM", present=False) == set()
    assert not ErrorCause.objects.exists()


# ── The list of errors ───────────────────────────────────────────────────────────────────────────────────────────────


def test_causes_are_set_from_the_list_of_errors(read, client, sign_in):
    target, error = url("score_error_cause", read), str(read.missed)
    html = check_page(client.get(url("score_errors", read)))
    assert html.count('class="causes"') == 3 and f'name="at" value="{error}"' in html
    html = batch(client, target, {"at": error, "added": "D"}, {"at": error, "added": "AB"})["parts"][f"causes-{error}"]
    for kind in ("AB", "D"):
        assert f'name="removed" value="{kind}" data-cause="{kind}" aria-pressed="true"' in html
    html = batch(client, target, {"at": error, "removed": "D"})["parts"][f"causes-{error}"]
    assert 'name="added" value="D" data-cause="D" aria-pressed="false"' in html
    assert ErrorCause.objects.get().kind == "AB"
    audit = check_page(sign_in(read.mia).get(reverse("audit", args=["covid"])))
    assert "cause: Abbreviation" in audit and "gold: 44 50 CITY" in audit
    html = check_page(sign_in(read.vic).get(url("score_errors", read)))
    assert '<span class="tag">Abbreviation</span>' in html and "data-cause" not in html, "a viewer sets none"
    # Without scripts, the list comes back with its filters.
    query = {"kind": "missed", "cause": "none"}
    answer = client.post(url("score_error_cause", read, **query), {"at": error, "added": "S"})
    assert answer.status_code == 302 and answer.url == url("score_errors", read, **query)
    wrong = {"at": "1:2:3", "added": "S"}
    assert "no longer exists" in check_page(client.post(target, wrong, follow=True))
    done = batch(client, target, wrong, {"at": error, "added": "AM"})
    assert [one and one["error"] for one in done["outcomes"]] == ["error", None] and len(done["parts"]) == 1


def test_causes_of_hidden_authors(read, sign_in):
    """In an anonymous project, reviewers score no annotator, so they set no cause of an annotator's error either."""
    Project.objects.update(anonymous_adjudication=True)
    read.run = make.make_set(read.note, read.ann, [ROSSI], submitted=True).author
    answer = sign_in(read.rev).post(url("score_error_cause", read), {"at": str(read.missed), "added": "D"})
    assert answer.status_code == 404 and not ErrorCause.objects.exists()


# ── The score's page and the command ─────────────────────────────────────────────────────────────────────────────────


def test_the_table_of_causes_by_category(read, client):
    """On the page and by the command."""
    for error, kind in ((read.missed, "S"), (read.missed, "AM"), (read.label, "AM")):
        tag(read, error, kind)
    page = client.get(url("score", read))
    check_page(page)
    rows = {row["name"]: row for row in [*page.context["cause_rows"], page.context["cause_total"]]}
    counts = {name: (row["all"][0], [n for n, _url in row["cells"]]) for name, row in rows.items()}
    # Abbreviation, ambiguity, debatable, scarcity, none.
    assert counts == {
        "NAME": (1, [0, 1, 0, 0, 0]), "AGE": (1, [0, 0, 0, 0, 1]), "LOCATION": (1, [0, 1, 0, 1, 0]),
        "": (3, [0, 2, 0, 1, 1]),
    }  # fmt: skip
    for n, link in [cell for row in rows.values() for cell in (row["all"], *row["cells"]) if cell[0]]:
        assert client.get(link).content.decode().count("<mark>") == n, link

    found = answered("score", "covid", "--author", "rules-1")["errors_by_category"]
    assert found["all"] == {"errors": 3, "causes": {"AB": 0, "AM": 2, "D": 0, "S": 1}, "without_cause": 1}
    by_category = {row["category"]: row for row in found["categories"]}
    assert by_category["C3"]["entity"] == {"spurious": 1, "spurious_share": 1.0, "missed": 1, "missed_share": 0.5}
    assert by_category["C0"]["tokens_per_span"] == 1.5
