"""Comparisons of runs: figures, the best marked, the spans behind the counts, and errors."""

import io
import json
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotations.core.events import NOTE_READ
from annotations.gold.services.making import freeze, make_gold
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import Author, Document, Event, Job
from annotations.scores.services.scoring import score, score_request
from models_runtime.comparing import services as comparing
from models_runtime.models import Run
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db]
TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
ROSSI, AGE, DATE, CITY, DOCTOR = (
    (0, 11, "PATIENT"), (13, 15, "AGE"), (31, 41, "DATE"), (44, 50, "CITY"), (61, 68, "DOCTOR"),
)  # fmt: skip


@pytest.fixture
def read(no_redis):
    """Gold on three notes; two runs and ann annotated the first two, one run also the third. Version 1 is frozen."""
    project = make.make_project("ward")
    gold = make.make_author(project, kind="gold", name="gold")
    ann = make.make_member(project, user="ann")
    wide, narrow = (make.make_author(project, kind="run", name=name) for name in ("wide", "narrow"))
    notes = [make.make_note(project, TEXT, f"caso-{n}", patient_id=f"p{n}", language="it") for n in (1, 2, 3)]
    for note in notes:
        make.make_set(note, gold, [ROSSI, AGE, CITY, DOCTOR], submitted=True)
        make.make_set(note, wide, [ROSSI, DATE, (44, 46, "CITY")], submitted=True)
    for note in notes[:2]:
        make.make_set(note, narrow, [ROSSI, AGE], submitted=True)
        make.make_set(note, ann, [ROSSI, AGE], submitted=True)
    freeze(project=project, actor=None)
    job = Job.objects.create(
        project=project, kind="run", key="r", state="done", done=2, total=2,
        started_at=timezone.now() - timedelta(seconds=4), finished_at=timezone.now(),
    )  # fmt: skip
    Run.objects.create(project=project, author=narrow, backend="rules", job=job, revision="1")
    return project


@pytest.fixture
def viewer(read, client):
    client.force_login(make.make_member(read, "viewer", "vic"))
    return client


def url(name, project, *names, gold=1, **more):
    ids = [Author.objects.get(project=project, name=one).pk for one in names]
    pairs = [f"gold={gold}", *(f"a={pk}" for pk in ids), *(f"{key}={value}" for key, value in more.items())]
    return reverse(name, args=["ward"]) + "?" + "&".join(pairs)


def command(*words):
    out = io.StringIO()
    call_command("compare_runs", "ward", *words, stdout=out)
    return out.getvalue()


def test_the_command_has_the_figures_of_the_scores_on_common_notes(read):
    said = json.loads(command("--gold", "1", "--runs", "narrow,wide", "--json"))
    assert (said["notes"], said["gold"]) == (2, "1")
    narrow, wide = said["runs"]
    alone = score(score_request(read, version=1, author="narrow")).table
    assert narrow["strict_f1"] == alone["levels"][0]["micro"]["f1"]
    assert narrow["overlap_recall"] == alone["overlap"]["entity"]["recall"]
    assert narrow["leak"] == alone["meddocan"]["leak"]
    assert narrow["tolerant_recall"] == alone["tolerant"]["any_label"]["recall"] == 0.5
    assert narrow["all_or_nothing_tolerant"] == alone["all_or_nothing"]["tolerant_any"]["share"]
    assert (narrow["strict_precision"], narrow["strict_recall"]) == (1, 0.5)
    assert narrow["character_recall"] == pytest.approx(13 / 26)
    assert wide["character_precision"] == pytest.approx(13 / 23)
    assert narrow["notes_per_second"] == pytest.approx(0.5, abs=0.01) and wide["notes_per_second"] is None
    assert (narrow["labels"]["AGE"], wide["labels"]["AGE"]) == (1, 0)
    assert (said["missed_by_all"], said["untouched"]) == (4, 2)
    assert (narrow["found_only_here"], wide["found_only_here"]) == (2, 0)
    assert said["best"]["strict_f1"] == said["best"]["leak"] == ["narrow"]
    assert said["best"]["seconds"] == said["best"]["notes_with_miss"] == []


def test_the_output_of_the_command(read):
    said = command("--gold", "1", "--runs", "run:narrow, wide, annotator:ann")
    assert "2 notes, compared with gold 1" in said and "1.0000*" in said
    assert "Gold spans missed by all: 4, of which marked by none: 2" in said


def test_errors_say_what_is_wrong(read):
    for words, reason in (
        (("--runs", "narrow"), "Choose 2 to 6"),
        (("--runs", "narrow,narrow"), "not 1"),
        (("--runs", "narrow,nobody"), "Available: .*run:wide"),
        (("--runs", "narrow,wide", "--gold", "9"), "Frozen versions: 1"),
        (("--runs", "narrow,wide", "--gold", "1", "--split", "dev"), "not split into train, dev and test"),
    ):
        with pytest.raises(CommandError, match=reason):
            command(*words)


def test_no_note_in_common(read):
    other = make.make_author(read, kind="run", name="other")
    make.make_set(make.make_note(read, TEXT), other, [ROSSI], submitted=True)
    with pytest.raises(CommandError, match="No note with this gold"):
        command("--runs", "narrow,other", "--gold", "1")


def test_one_split(read):
    split_version(version=read.gold_versions.get(), seed="s", shares={"train": 67, "dev": 33}, actor=None)
    both = [json.loads(command("--runs", "narrow,wide", "--gold", "1", "--split", s, "--json")) for s in ("train",)]
    assert [one["split"] for one in both] == ["train"] and both[0]["notes"] < 3


def test_the_page_marks_the_best_and_links_to_the_spans(read, viewer):
    plain = reverse("runs_compare", args=["ward"])
    html = check_page(viewer.get(plain))
    assert "Choose 2 to 6" in html and "ann" in html and "best:" not in html
    assert plain in check_page(viewer.get(reverse("runs", args=["ward"])))
    assert plain in check_page(viewer.get(reverse("scores", args=["ward"])))
    response = viewer.get(url("runs_compare", read, "narrow", "wide"))
    html = check_page(response)
    assert "Figures on the 2 notes that all have annotated" in html and "All authors miss 4." in html
    assert "MultiBPEmb + Flair multi fast · EN-IT" in html.split("Published figures")[1]
    assert '<span class="sr-only">best:</span> 1.0000' in html and "0.5" in html
    links = [response.context["untouched_url"], response.context["missed_url"], response.context["only"][0][2]]
    for link, word in zip(links, ("Bianchi", "Torino", "54"), strict=True):
        shown = check_page(viewer.get(link))
        assert f"<mark>{word}</mark>" in shown and "2 gold spans" in shown
    assert "no span" in viewer.get(links[0]).content.decode()
    assert "No gold spans" in check_page(viewer.get(response.context["only"][1][2]))
    read_notes = Event.objects.filter(verb=NOTE_READ, data={"what": "comparison"})
    assert read_notes.count() == 2 * 4
    assert viewer.get(url("compare_spans", read, "narrow", "wide", kind="nonsense")).status_code == 404


def test_wrong_choices_show_errors(read, viewer):
    html = check_page(viewer.get(url("runs_compare", read, "narrow")))
    assert "hoose 2 to 6 authors to compare, not 1" in html
    assert viewer.get(url("runs_compare", read, "narrow", "wide", gold=7)).status_code == 404
    html = check_page(viewer.get(reverse("runs_compare", args=["ward"]) + "?a=99999999&gold=1"))
    assert "author has no annotations" in html
    for wrong in ("a=x", f"a={'9' * 5000}", "a=-1"):
        answer = viewer.get(f"{reverse('runs_compare', args=['ward'])}?{wrong}&gold=1")
        assert answer.context["form"]["a"].errors == ["Select rows from the list only."]
        assert "The comparison was not made." in check_page(answer)
    answer = viewer.post(reverse("compare_start", args=["ward"]), {"a": "x", "gold": "1"}, follow=True)
    assert "Annotation sets: Select rows from the list only." in check_page(answer)
    assert viewer.get(url("compare_spans", read, "narrow")).status_code == 302


def test_nothing_to_compare_says_what_to_do(client, db):
    project = make.make_project("empty")
    client.force_login(make.make_member(project, "viewer", "vic"))
    assert "Nothing to compare yet" in check_page(client.get(reverse("runs_compare", args=["empty"])))


def test_many_notes_are_a_job(read, viewer):
    with patch.object(comparing, "MOST_CHARACTERS", 10):
        html = check_page(viewer.get(url("runs_compare", read, "narrow", "wide")))
        assert "Not computed yet" in html
        places = viewer.get(url("compare_spans", read, "narrow", "wide", kind="missed"))
        assert places.url == url("runs_compare", read, "narrow", "wide")
        ids = [Author.objects.get(project=read, name=name).pk for name in ("narrow", "wide")]
        form = {"gold": 1, "a": ids, "token": "t"}
        page = viewer.post(reverse("compare_start", args=["ward"]), form).url
        assert viewer.post(reverse("compare_start", args=["ward"]), form).url == page
        work(Job.objects.get(kind="compare").pk)
        html = check_page(viewer.get(page))
        assert "Compared narrow, wide on 2 notes" in html
        assert "2 notes" in check_page(viewer.get(url("runs_compare", read, "narrow", "wide")))


def test_changed_annotations_make_new_figures(read):
    before = json.loads(command("--runs", "narrow,wide", "--gold", "1", "--json"))
    author = Author.objects.get(project=read, name="narrow")
    make.make_span(author.annotation_sets.first(), *CITY)
    after = json.loads(command("--runs", "narrow,wide", "--gold", "1", "--json"))
    assert after["runs"][0]["strict_recall"] > before["runs"][0]["strict_recall"]


def test_annotators_stay_unnamed_where_adjudication_is_anonymous(read, client):
    read.anonymous_adjudication = True
    read.save()
    client.force_login(make.make_member(read, "reviewer", "rev"))
    html = check_page(client.get(reverse("runs_compare", args=["ward"])))
    assert "only managers can see" in html and ">ann" not in html
    assert client.get(url("runs_compare", read, "narrow", "ann")).status_code == 404
    assert client.get(url("compare_spans", read, "narrow", "ann", kind="missed")).status_code == 404
    ids = [Author.objects.get(project=read, name=name).pk for name in ("narrow", "ann")]
    form = {"gold": 1, "a": ids, "token": "t"}
    assert client.post(reverse("compare_start", args=["ward"]), form).status_code == 404
    job = Job.objects.create(project=read, kind="compare", key="c", params={"authors": ids})
    assert client.get(reverse("job", args=["ward", job.number])).status_code == 404


def test_gold_that_came_from_a_run_is_marked(read, viewer):
    """Gold of one compared note is taken from one of the two runs."""
    assert "too optimistic" not in check_page(viewer.get(url("runs_compare", read, "narrow", "wide", gold=0)))
    note = Document.objects.get(project=read, name="caso-1")
    narrow = Author.objects.get(project=read, name="narrow")
    make_gold(document=note, annotation_set=narrow.annotation_sets.get(document=note), actor=None, replace=True)
    html = check_page(viewer.get(url("runs_compare", read, "narrow", "wide", gold=0)))
    assert "2 of the 6 gold spans were copied from narrow, so its figures are too optimistic." in html
    assert "copied from wide" not in html
    assert "too optimistic" not in check_page(viewer.get(url("runs_compare", read, "narrow", "wide", gold=1)))
    assert "2 gold spans were copied from narrow" in command("--runs", "narrow,wide")
    runs = json.loads(command("--runs", "narrow,wide", "--json"))["runs"]
    assert [run["own_gold_spans"] for run in runs] == [2, 0]


# ── Few notes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_f1_on_few_notes_has_its_interval(read, viewer):
    gold, narrow, wide = (Author.objects.get(name=name) for name in ("gold", "narrow", "wide"))
    for n in range(17):
        note = make.make_note(read, TEXT, f"more-{n}")
        make.make_set(note, gold, [ROSSI, AGE], submitted=True)
        make.make_set(note, wide, [ROSSI, AGE] if n % 3 else [ROSSI], submitted=True)
        make.make_set(note, narrow, [ROSSI] if n % 2 else [DATE], submitted=True)
    here = url("runs_compare", read, "narrow", "wide", gold=0)
    html = check_page(viewer.get(here))
    said = json.loads(command("--runs", "narrow,wide", "--json"))
    printed = command("--runs", "narrow,wide")
    assert said["notes"] == 19
    for run in said["runs"]:
        few = run["few_notes"]
        assert 0 < few["low"] < run["strict_f1"] < few["high"] < 1
        assert html.count(f"[{few['low']:.3f}, {few['high']:.3f}]") == 1
        interval = f"95% interval {few['low']:.4f} to {few['high']:.4f}"
        assert f"Few notes. F1 of exact spans and labels of {run['run']}: {interval}" in printed
    assert html.count(">few notes<") == 2, "beside the figures and beside F1 by label"
    assert html.count("On fewer than 20 notes, the F1 of exact spans has a 95% interval") == 1
    last = make.make_note(read, TEXT, "last")
    for author in (gold, narrow, wide):
        make.make_set(last, author, [ROSSI], submitted=True)
    html = check_page(viewer.get(here))
    assert "few notes" not in html and "95% interval" not in html
    said = json.loads(command("--runs", "narrow,wide", "--json"))
    assert [run["few_notes"] for run in said["runs"]] == [None, None]
    assert "Few notes" not in command("--runs", "narrow,wide")
