"""Causes of errors: set from the list of errors, several on one error, found again in other scores, counted."""

import csv
import io

import pytest
from django.urls import reverse

from annotations.core.services import FILE_DOWNLOADED, ServiceError
from annotations.gold.services.making import freeze
from annotations.models import ErrorCause, Event, Project
from annotations.projects.services.labels import merge_labels
from annotations.scores.events import ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED
from annotations.scores.rules.causes import ErrorId
from annotations.scores.services.errors import causes_of_errors, change_error_cause
from annotations.scores.services.scoring import score, score_errors, score_request
from tests import factories as make
from tests.scores.conftest import AGE, ROSSI, url
from tests.worlds.checks import batch, check_page
from tests.worlds.commands import answered


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
    page = client.get(url("score", read))
    assert [n for n, _url in page.context["cause_total"]["cells"]] == [0, 0, 0, 0, 2]
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
