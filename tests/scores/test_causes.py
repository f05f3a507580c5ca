"""Causes of errors: set from the list of errors, several on one error, found again in other scores, counted."""

import csv
import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.core.events import FILE_DOWNLOADED
from annotations.domain.scoring.causes import ErrorId
from annotations.gold.services.making import freeze
from annotations.models import ErrorCause, Event, Project
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.projects.services.labels import merge_labels
from annotations.scores.events import ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED
from annotations.scores.services.causes import causes_of_errors, change_error_cause
from annotations.scores.services.scoring import score, score_errors, score_request
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db

ROSSI, AGE, CITY, BIANCHI = (0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "CITY"), (61, 68, "DOCTOR")
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def read(world):
    """The run misses the city, has wrong bounds for the age, and labels the doctor as a patient."""
    world.gold = make.make_author(world.project, kind="gold", name="gold")
    world.run = make.make_author(world.project, kind="run", name="rules-1")
    world.gold_set = make.make_set(world.note, world.gold, [ROSSI, AGE, CITY, BIANCHI], submitted=True)
    world.run_set = make.make_set(world.note, world.run, [ROSSI, (13, 20, "AGE"), (61, 68, "PATIENT")], submitted=True)
    world.missed = ErrorId(world.note.pk, CITY, None)
    world.label = ErrorId(world.note.pk, BIANCHI, (61, 68, "PATIENT"))
    return world


def wanted(world, version=0):
    return score_request(world.project, version=version, author_id=world.run.pk)


def tag(world, error, kind, *, present=True, version=0):
    asked = wanted(world, version)
    return change_error_cause(
        wanted=asked, found=score(asked), error=str(error), kind=kind, present=present, user=world.rev
    )


def url(name, world, version=0, **query):
    where = reverse(name, args=[world.project.slug, version, world.run.pk])
    return where + ("?" + "&".join(f"{key}={value}" for key, value in query.items()) if query else "")


def said(*args):
    out = io.StringIO()
    call_command("score", *args, stdout=out)
    return out.getvalue()


# ── The list as CSV ──────────────────────────────────────────────────────────────────────────────────────────────────


def rows_of(response):
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_the_list_of_errors_can_be_downloaded_as_csv(read, sign_in):
    tag(read, read.label, "AM")
    tag(read, read.label, "AB")
    client = sign_in(read.rev)
    assert url("score_errors_export", read) in check_page(client.get(url("score_errors", read)))
    response = client.get(url("score_errors_export", read))
    assert response["Content-Disposition"].startswith(f'attachment; filename="{read.project.slug}-errors-')
    rows = rows_of(response)
    assert [row["type"] for row in rows] == ["boundary", "missed", "label"]
    assert rows[1]["gold_label"] == "CITY" and rows[1]["predicted_label"] == rows[1]["predicted_start"] == ""
    last = rows[2]
    assert (last["gold_start"], last["gold_end"], last["gold_label"], last["gold_text"]) == (
        "61", "68", "DOCTOR", "Bianchi",
    )  # fmt: skip
    assert (last["predicted_label"], last["category"], last["causes"]) == ("PATIENT", "C0", "AB AM")
    assert last["note"] == read.note.name and "Bianchi" in last["sentence"]
    (event,) = Event.objects.filter(verb=FILE_DOWNLOADED)
    assert event.data == {"errors": "csv"} and event.actor == read.rev


def test_the_csv_takes_the_filters_and_neutralizes_formulas(read, sign_in):
    client = sign_in(read.rev)
    note = make.make_note(read.project, "=HYPERLINK(1) Rossi", "formula")
    make.make_set(note, read.gold, [(0, 13, "PATIENT")], submitted=True)
    make.make_set(note, read.run, [], submitted=True)
    html = client.get(url("score_errors", read, kind="missed", page=1)).content.decode()
    assert url("score_errors_export", read, kind="missed") in html
    rows = rows_of(client.get(url("score_errors_export", read, kind="missed")))
    assert [row["gold_label"] for row in rows] == ["CITY", "PATIENT"]
    assert rows[1]["gold_text"] == "'=HYPERLINK(1)" and rows[1]["sentence"].startswith("'=")


def test_only_people_who_export_may_download_the_errors(read, sign_in):
    viewer = sign_in(make.make_member(read.project, "viewer", "vera"))
    assert "Download CSV" not in check_page(viewer.get(url("score_errors", read)))
    assert viewer.get(url("score_errors_export", read)).status_code == 403
    assert not Event.objects.filter(verb=FILE_DOWNLOADED).exists()


# ── The service ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_several_causes_on_one_error_as_in_table_4_9(world):
    """Catelli 2021, table 4.9: the last token of a date has the causes AB and AM."""
    note = make.make_note(world.project, "ESRD (FSGS) on HD Mon, We d, Fri s/p failed", "dates")
    gold, run = (make.make_author(world.project, kind=kind, name=kind) for kind in ("gold", "run"))
    make.make_set(note, gold, [(18, 32, "DATE")], submitted=True)
    make.make_set(note, run, [(18, 21, "DATE")], submitted=True)
    world.run, error = run, ErrorId(note.pk, (18, 32, "DATE"), (18, 21, "DATE"))
    assert tag(world, error, "AB") == {"AB"}
    assert tag(world, error, "AM") == {"AB", "AM"}
    assert tag(world, error, "AM") == {"AB", "AM"}, "once more changes nothing"
    assert causes_of_errors(wanted(world)) == {error: {"AB", "AM"}}
    assert tag(world, error, "AB", present=False) == {"AM"}
    assert tag(world, error, "AB", present=False) == {"AM"}
    events = Event.objects.filter(verb__in=[ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED]).order_by("pk")
    assert [event.verb for event in events] == [ERROR_CAUSE_ADDED, ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED]
    event = events[0]
    assert (event.actor, event.document_id, event.project_id) == (world.rev, note.pk, world.project.pk)
    assert event.data == {
        "author": run.pk, "labels_of": "", "gold": [18, 32, "DATE"], "predicted": [18, 21, "DATE"], "kind": "AB",
    }  # fmt: skip


@pytest.mark.parametrize("error, kind, code", [
    ("", "AB", "error"), ("x", "AB", "error"), ("9" * 5000, "AB", "error"), ("1:2:3", "AB", "error"),
    ("{note}:44-50-CITY:44-50-CITY", "AB", "error"), ("{note}:44-50-CITY:", "XX", "kind"),
    ("{note}:44-50-CITY:", "", "kind"),
])  # fmt: skip
def test_only_errors_of_this_score_get_causes(read, error, kind, code):
    with pytest.raises(ServiceError) as refused:
        tag(read, error.replace("{note}", str(read.note.pk)), kind)
    assert refused.value.code == code
    assert not ErrorCause.objects.exists()


def test_causes_survive_another_score_of_the_same_error(read):
    tag(read, read.missed, "S")
    tag(read, read.label, "AM")
    read.run_set.spans.create(start=31, end=41, label=make.label_of(read.project, "DATE"))
    read.run_set.version += 1
    read.run_set.save()
    errors = {ErrorId.of(row) for row in score_errors(wanted(read))}
    assert {error: kinds for error, kinds in causes_of_errors(wanted(read)).items() if error in errors} == {
        read.missed: {"S"}, read.label: {"AM"},
    }  # fmt: skip
    freeze(project=read.project, actor=None)
    assert tag(read, read.missed, "D", version=1) == {"S", "D"}, "the same error against a frozen version"


def test_causes_are_gone_with_the_error(read, sign_in):
    """The run finds the city now, and another label for the doctor is another error."""
    tag(read, read.missed, "S")
    tag(read, read.label, "AM")
    read.run_set.spans.create(start=44, end=50, label=make.label_of(read.project, "CITY"))
    read.run_set.spans.filter(start=61).update(label=make.label_of(read.project, "CITY"))
    client = sign_in(read.rev)
    html = check_page(client.get(url("score_errors", read)))
    assert 'name="removed"' not in html
    page = client.get(url("score", read))
    assert [n for n, _url in page.context["cause_total"]["cells"]] == [0, 0, 0, 0, 2]
    with pytest.raises(ServiceError):
        tag(read, read.missed, "S", present=False)


def test_another_author_s_errors_have_causes_of_their_own(read):
    tag(read, read.missed, "S")
    other = make.make_author(read.project, kind="run", name="rules-2")
    make.make_set(read.note, other, [ROSSI, AGE], submitted=True)
    read.run = other
    assert causes_of_errors(wanted(read)) == {}


@pytest.mark.both_databases
def test_causes_follow_a_merged_label(read):
    tag(read, read.label, "AM")
    labels = read.project.label_set.labels
    merge_labels(source=labels.get(code="DOCTOR"), target=labels.get(code="CITY"), actor=None)
    now = ErrorId(read.note.pk, (61, 68, "CITY"), (61, 68, "PATIENT"))
    assert causes_of_errors(wanted(read)) == {now: {"AM"}}
    assert tag(read, now, "AM", present=False) == set()
    assert not ErrorCause.objects.exists()


@pytest.mark.both_databases
@pytest.mark.parametrize("how", ["patient", "note"])
def test_erasing_reaches_causes(read, how):
    read.note.patient_id = "p1"
    read.note.save()
    tag(read, read.missed, "S")
    make.make_error_cause(read.run, read.notes[1], read.rev, gold=CITY)
    if how == "patient":
        erase_patient(project=read.project, patient_id="p1", actor=read.mia)
    else:
        delete_note(project=read.project, note=read.note.pk, actor=read.mia)
    assert ErrorCause.objects.get().document_id == read.notes[1].pk


# ── The list of errors ───────────────────────────────────────────────────────────────────────────────────────────────


def test_causes_are_set_from_the_list_of_errors(read, sign_in):
    client = sign_in(read.rev)
    html = check_page(client.get(url("score_errors", read)))
    assert html.count('class="causes"') == 3 and f'name="error" value="{read.missed}"' in html
    target = url("score_error_cause", read)
    for kind in ("D", "AB"):
        sent = {"error": str(read.missed), "added": kind}
        html = check_page(client.post(target, sent, **HTMX), fragment=True)
    for kind in ("AB", "D"):
        assert f'name="removed" value="{kind}" data-cause="{kind}" aria-pressed="true"' in html
    html = check_page(client.post(target, {"error": str(read.missed), "removed": "D"}, **HTMX), fragment=True)
    assert 'name="added" value="D" data-cause="D" aria-pressed="false"' in html
    assert ErrorCause.objects.get().kind == "AB"
    audit = check_page(sign_in(read.mia).get(reverse("audit", args=["covid"])))
    assert "added a cause to an error" in audit and "cause: Abbreviation" in audit and "gold: 44 50 CITY" in audit


def test_without_scripts_the_list_comes_back_with_its_filters(read, sign_in):
    client = sign_in(read.rev)
    sent = {"error": str(read.missed), "added": "S"}
    answer = client.post(url("score_error_cause", read, kind="missed", cause="none"), sent)
    assert answer.status_code == 302 and answer.url == url("score_errors", read, kind="missed", cause="none")
    answer = client.post(url("score_error_cause", read), {"error": "1:2:3", "added": "S"}, follow=True)
    assert "This error no longer exists in this score. Reload the page." in check_page(answer)
    html = check_page(
        client.post(url("score_error_cause", read), {"error": "1:2:3", "added": "S"}, **HTMX), fragment=True
    )
    assert 'role="alert"' in html and "no longer exists" in html


def test_viewers_see_causes_and_set_none(read, sign_in):
    tag(read, read.missed, "S")
    client = sign_in(read.vic)
    html = check_page(client.get(url("score_errors", read)))
    assert '<span class="tag">Scarcity</span>' in html and "data-cause" not in html and "errors.js" not in html


def test_causes_of_hidden_authors(read, sign_in):
    """In an anonymous project, reviewers score no annotator, so they set no cause of an annotator's error either."""
    Project.objects.update(anonymous_adjudication=True)
    read.run = make.make_set(read.note, read.ann, [ROSSI], submitted=True).author
    answer = sign_in(read.rev).post(url("score_error_cause", read), {"error": str(read.missed), "added": "D"})
    assert answer.status_code == 404 and not ErrorCause.objects.exists()


def test_errors_by_cause_and_category(read, sign_in):
    tag(read, read.missed, "S")
    tag(read, read.missed, "AM")
    client = sign_in(read.rev)
    for query, shown in (
        ({"cause": "S"}, {"Torino"}), ({"cause": "AM"}, {"Torino"}), ({"cause": "AB"}, set()),
        ({"cause": "none"}, {"Bianchi", "54 anni"}), ({"cause": "x"}, {"Torino", "Bianchi", "54 anni"}),
        ({"category": "C0"}, {"Bianchi"}), ({"category": "C2", "cause": "S"}, {"Torino"}),
        ({"category": "NOWHERE"}, set()),
    ):  # fmt: skip
        html = client.get(url("score_errors", read, **query)).content.decode()
        found = {word for word in ("Torino", "Bianchi", "54 anni") if f"<mark>{word}</mark>" in html}
        assert found == shown, query


# ── The score's page and the command ─────────────────────────────────────────────────────────────────────────────────


def test_the_table_of_causes_by_category(read, sign_in):
    tag(read, read.missed, "S")
    tag(read, read.missed, "AM")
    tag(read, read.label, "AM")
    client = sign_in(read.vic)
    page = client.get(url("score", read))
    html = check_page(page)
    assert "Causes of errors" in html
    rows = {row["name"]: row for row in [*page.context["cause_rows"], page.context["cause_total"]]}
    counts = {name: (row["all"][0], [n for n, _url in row["cells"]]) for name, row in rows.items()}
    # Abbreviation, ambiguity, debatable, scarcity, none.
    assert counts == {
        "NAME": (1, [0, 1, 0, 0, 0]),
        "AGE": (1, [0, 0, 0, 0, 1]),
        "LOCATION": (1, [0, 1, 0, 1, 0]),
        "": (3, [0, 2, 0, 1, 1]),
    }
    for row in rows.values():
        for n, link in [row["all"], *row["cells"]]:
            if n:
                assert client.get(link).content.decode().count("<mark>") == n, link


def test_charts_of_error_shares_and_tokens_per_span(read, sign_in):
    html = check_page(sign_in(read.vic).get(url("score", read)))
    assert "Share of the errors of exact spans in each category" in html
    # The doctor's name has the right category, though not the right label.
    assert "NAME: false positives 0% (0), false negatives 0% (0)" in html
    assert "AGE: false positives 100% (1), false negatives 50% (1)" in html
    assert "LOCATION: false positives 0% (0), false negatives 50% (1)" in html
    # Of the tokens, only the city is missed, and only the second word of the age is spurious.
    tokens = html.partition("Share of the errors of tokens in each category")[2]
    assert "AGE: false positives 100% (1), false negatives 0% (0)" in tokens
    assert "LOCATION: false positives 0% (0), false negatives 100% (1)" in tokens
    # Two names, of two tokens and of one.
    assert "NAME: tokens per span 1.50" in html


def test_no_errors_no_shares(world, sign_in):
    world.run = make.make_author(world.project, kind="run", name="rules-1")
    for author in (world.run, make.make_author(world.project, kind="gold", name="gold")):
        make.make_set(world.note, author, [ROSSI], submitted=True)
    html = check_page(sign_in(world.vic).get(url("score", world)))
    assert "NAME: false positives –, false negatives –" in html


def test_the_command_prints_the_table(read):
    tag(read, read.missed, "S")
    lines = said("covid", "--author", "rules-1").splitlines()
    assert (
        "Errors in C2: 1 · 0% of false positives · 50% of false negatives · causes: AB 0, AM 0, D 0, S 1, none 0"
    ) in lines
    assert "Errors in all categories: 3 · causes: AB 0, AM 0, D 0, S 1, none 2" in lines
    printed = json.loads(said("covid", "--author", "rules-1", "--json"))["errors_by_category"]
    assert printed["all"] == {"errors": 3, "causes": {"AB": 0, "AM": 0, "D": 0, "S": 1}, "without_cause": 2}
    rows = {row["category"]: row for row in printed["categories"]}
    assert rows["C3"]["entity"] == {"spurious": 1, "spurious_share": 1.0, "missed": 1, "missed_share": 0.5}
    assert rows["C0"]["tokens_per_span"] == 1.5


def test_the_page_takes_the_same_queries_for_any_number_of_causes(read, sign_in, django_assert_max_num_queries):
    client = sign_in(read.rev)
    client.get(url("score_errors", read))
    for kind in ("AB", "AM", "D", "S"):
        tag(read, read.missed, kind)
        tag(read, read.label, kind)
    with django_assert_max_num_queries(39):
        client.get(url("score", read))
    with django_assert_max_num_queries(39):
        client.get(url("score_errors", read))
