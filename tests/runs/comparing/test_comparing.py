"""Comparisons of runs and of language strategies: figures, the best marked, the spans behind the counts, and errors."""

import io
import json
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.core.management import CommandError
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from annotations.core.services import NOTE_READ, ServiceError
from annotations.core.stored_files import store_file
from annotations.gold.services.making import freeze, make_gold
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import Author, Document, Event, Job, Project, Review, Span, StoredFileKind
from annotations.scores.services import side_by_side as services
from annotations.scores.services.scoring import score, score_request
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services import comparing
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.scores.conftest import page_that_reads_no_notes
from tests.worlds.checks import check_page
from tests.worlds.commands import answered, printed
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db
TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
ROSSI, AGE, DATE, CITY, DOCTOR = (
    (0, 11, "PATIENT"), (13, 15, "AGE"), (31, 41, "DATE"), (44, 50, "CITY"), (61, 68, "DOCTOR"),
)  # fmt: skip


def make_ward() -> Project:
    """Models of the language strategies EN, MIX and EN→IT, and their runs.

    Four Italian and two English notes have gold; the models learned from half of them and ran on all.
    """
    project = make.make_project("ward")
    notes = [
        make.make_note(project, TEXT, f"{code}-{n}", patient_id=f"{code}{n}", language=code)
        for code, count in (("it", 4), ("en", 2))
        for n in range(count)
    ]
    for note in notes:
        make.make_set(note, "gold", [ROSSI, AGE])
    version, _ = freeze(project=project, actor=None)
    held_out = [notes[at].pk for at in (2, 3, 5)]

    def model(name: str, spans: list[tuple[int, int, str]], **params: object) -> TrainedModel:
        card = {"held_out_notes": held_out, "labels": ["PATIENT"], "language": params.get("language", "")}
        stored = store_file(
            project=project, kind=StoredFileKind.MODEL, name="m.zip", content=io.BytesIO(name.encode()), actor=None
        )
        row = TrainedModel.objects.create(
            project=project, name=name, backend="bilstm", state="ready", params=params, card=card,
            gold_version=version, stored_file=stored,
        )  # fmt: skip
        author = make.make_author(project, kind="run", name=f"run-{name}")
        for note in notes:
            make.make_set(note, author, spans, submitted=True)
        Run.objects.create(project=project, author=author, backend=f"model:{row.pk}", model=row)
        return row

    first = model("one", [AGE], language="en")
    model("all", [AGE])
    model("two", [ROSSI, AGE], language="it", base_model=first.pk)
    return project


@pytest.fixture
def read(no_redis):
    """Gold on three notes; two runs and ann annotated the first two, one run also the third. Version 1 is frozen."""
    project = make.make_project("ward")
    ann = make.make_member(project, user="ann")
    wide, narrow = (make.make_author(project, kind="run", name=name) for name in ("wide", "narrow"))
    notes = [make.make_note(project, TEXT, f"caso-{n}", patient_id=f"p{n}", language="it") for n in (1, 2, 3)]
    for note in notes:
        make.make_set(note, "gold", [ROSSI, AGE, CITY, DOCTOR])
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


def command(*words, runs="narrow,wide"):
    return printed("compare_runs", "ward", "--runs", runs, *words)


def figures(*words, **options):
    return json.loads(command(*words, "--json", **options))


def test_the_command_has_the_figures_of_the_scores_on_common_notes(read):
    said = figures("--gold", "1")
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
    # Changed annotations make new figures, and one split has fewer notes.
    make.make_span(Author.objects.get(name="narrow").annotation_sets.first(), *CITY)
    assert figures("--gold", "1")["runs"][0]["strict_recall"] > narrow["strict_recall"]
    split_version(version=read.gold_versions.get(), seed="s", shares={"train": 67, "dev": 33}, actor=None)
    train = figures("--gold", "1", "--split", "train")
    assert train["split"] == "train" and train["notes"] < 3
    plain = command("--gold", "1", runs="run:narrow, wide, annotator:ann")
    assert "notes: 2" in plain and "missed_by_all: " in plain


def test_errors_say_what_is_wrong(read):
    make.make_set(make.make_note(read, TEXT), "run:other", [ROSSI], submitted=True)
    for runs, words, reason in (
        ("narrow", (), "Choose 2 to 6"), ("narrow,narrow", (), "not 1"), ("narrow,nobody", (), "Available: .*run:wide"),
        ("narrow,wide", ("--gold", "9"), "Frozen versions: 1"),
        ("narrow,wide", ("--gold", "1", "--split", "dev"), "not split into train, dev and test"),
        ("narrow,other", ("--gold", "1"), "No note with this gold"),
    ):  # fmt: skip
        with pytest.raises(CommandError, match=reason):
            command(*words, runs=runs)


def test_the_page_marks_the_best_and_links_to_the_spans(read, viewer):
    plain = reverse("runs_compare", args=["ward"])
    for page in (plain, reverse("runs", args=["ward"]), reverse("scores", args=["ward"])):
        assert plain in check_page(viewer.get(page))
    response = viewer.get(url("runs_compare", read, "narrow", "wide"))
    html = check_page(response)
    first = html.split('id="answer-title"')[1].split("</section>")[0]
    assert "Best: narrow, F1 0.67 by label" in first and first.index(">narrow") < first.index(">wide")
    assert "All authors miss 4." in html and html.partition("best:</span>")[2].split()[0].startswith("1.00")
    assert "MultiBPEmb + Flair multi fast · EN-IT" in html.split("Published figures")[1]
    links = [response.context["untouched_url"], response.context["missed_url"], response.context["only"][0][2]]
    for link, word in zip(links, ("Bianchi", "Torino", "54"), strict=True):
        shown = check_page(viewer.get(link))
        assert f"<mark>{word}</mark>" in shown and "2 gold spans" in shown
    assert "No gold spans" in check_page(viewer.get(response.context["only"][1][2]))
    assert Event.objects.filter(verb=NOTE_READ, data={"what": "comparison"}).count() == 2 * 3
    assert viewer.get(url("compare_spans", read, "narrow", "wide", kind="nonsense")).status_code == 404


def test_models_lie_on_a_plane_by_threshold(read, viewer, monkeypatch):
    """The newest runs are compared by themselves. Decisions and leaks follow their confidences; people have none."""
    wide = Author.objects.get(project=read, name="wide")
    html = check_page(viewer.get(reverse("runs_compare", args=["ward"])))
    assert "None of these runs has confidences" in html
    Span.objects.filter(annotation_set__author=wide, label__code="DATE").update(confidence=0.4)
    wide.annotation_sets.update(version=F("version") + 1)
    response = viewer.get(url("runs_compare", read, "narrow", "wide", "ann", at=50))
    html = check_page(response)
    step = response.context["plane"]["steps"][10]
    # Two notes with four gold spans each: each run masks one name whole, narrow also an age.
    found = {row["name"]: (row["point"]["decisions"], row["point"]["leaks"]) for row in step["rows"]}
    assert found == {"narrow": (200.0, 200.0), "wide": (200.0, 300.0)}
    assert html.count('<tbody data-step="50">') == 1 and '<tbody data-step="45" hidden>' in html
    assert figures("--gold", "1")["runs"][1]["review"][8]["decisions"] == 300.0
    assert viewer.get(url("runs_compare", read, "narrow", "wide", at=51)).status_code == 404
    # Notes from which a model learned can give no fair figures.
    notes = frozenset(Document.objects.values_list("pk", flat=True))
    monkeypatch.setattr(services, "notes_learned_from", lambda author: [notes])
    wide.annotation_sets.update(version=F("version") + 1)
    assert "would be too optimistic" in check_page(viewer.get(url("runs_compare", read, "narrow", "wide")))


def test_many_notes_are_a_job(read, viewer):
    authors = [Author.objects.get(project=read, name=name).pk for name in ("narrow", "wide")]
    with patch.object(comparing, "MOST_CHARACTERS", 10):
        here = url("runs_compare", read, "narrow", "wide")
        late = page_that_reads_no_notes(viewer, here)
        assert "Not computed yet" in check_page(late) and late.context["notes"] == 2
        assert viewer.get(url("compare_spans", read, "narrow", "wide", kind="missed")).url == here
        form = (reverse("compare_start", args=["ward"]), {"gold": 1, "a": authors, "token": "t"})
        (page,) = {viewer.post(*form).url for _ in range(2)}
        work(Job.objects.get(kind="compare").pk)
        assert "Compared narrow, wide on 2 notes" in check_page(viewer.get(page))
        assert "2 notes" in check_page(viewer.get(here))


def test_figures_are_not_stored_for_annotations_that_change_while_they_are_computed(read):
    wanted = services.comparison_request(read, version=1, names=["narrow", "wide"])

    def change(done, total):
        Author.objects.get(name="narrow").annotation_sets.update(version=9)

    services.side_by_side(wanted, progress=change)
    assert services.kept_table(wanted, services.common_notes(wanted)) is None


def test_gold_that_came_from_a_run_is_marked(read, viewer):
    """Gold of one compared note is taken from one of the two runs."""
    narrow = Author.objects.get(project=read, name="narrow")
    note = Document.objects.get(project=read, name="caso-1")
    make_gold(document=note, annotation_set=narrow.annotation_sets.get(document=note), actor=None, replace=True)
    html = check_page(viewer.get(url("runs_compare", read, "narrow", "wide", gold=0)))
    assert "2 of the 6 gold spans were copied from narrow" in html and "copied from wide" not in html
    assert "too optimistic" not in check_page(viewer.get(url("runs_compare", read, "narrow", "wide", gold=1)))

    assert [run["own_gold_spans"] for run in figures()["runs"]] == [2, 0]


# ── Few notes ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def ward(no_redis):
    return make_ward()


def test_strategies_are_compared_on_notes_that_no_model_learned_from(ward):
    program, path = Program(make.make_member(ward, "viewer", "val")), "/projects/ward/strategies"
    said = program.get(f"{path}?gold=1&language=it").json()
    assert said["notes"] == 2
    rows = {row["strategy"]: row for row in said["rows"]}
    assert list(rows) == ["MIX", "EN", "EN→IT"]
    assert rows["EN→IT"]["f1"]["entity_subcategory"] == rows["EN→IT"]["f1"]["token_binary"] == 1.0
    assert "entity_subcategory" in rows["EN→IT"]["best"]
    assert rows["EN"]["f1"]["entity_subcategory"] == pytest.approx(2 / 3)
    assert answered("do", "read_strategies", "ward", "--by", "val")["notes"] == 3
    for wrong, status in (("gold=1&language=de", 422), ("gold=7", 404)):
        assert program.get(f"{path}?{wrong}").status_code == status


def test_the_page_shows_the_strategies_beside_the_published_ones(ward, client):
    client.force_login(make.make_member(ward, "viewer", "vic"))
    page = reverse("strategies", args=["ward"])
    html = check_page(client.get(page, {"gold": 1, "language": "it"}))
    assert '<option value="it" selected>' in html
    answer, _folds, folded = html.partition('<div class="card folds">')
    answer = " ".join(answer.split())
    assert "(EN→IT), F1 1.00 by label" in answer and "On the 2 notes" in answer and "due to chance" in answer
    assert "F1 at six levels" in folded and "EN→IT" in folded and "table 4.17" in html
    assert client.get(page, {"language": "de"}).status_code == client.get(page, {"gold": 9}).status_code == 404


def test_a_training_refuses_a_starting_model_with_labels_that_the_project_lacks(ward):
    asked = {"project": ward, "gold": 1, "actor": None, "backend": "bilstm", "language": "it"}
    TrainedModel.objects.filter(name="one").update(card={"labels": ["MOON"]})
    for name, words in (("one", "labels that this project doesn't have: MOON"), ("three", "Choose one of: all, one")):
        with pytest.raises(ServiceError, match=words):
            start_training(**asked, base=name, key=name)
    everything = {"held_out_notes": list(Document.objects.values_list("pk", flat=True)), "labels": ["PATIENT"]}
    TrainedModel.objects.update(card=everything)
    assert start_training(**asked, key="e", base="two").params["base"] == "two"


# Comparisons and the loop by the API, and what they keep to themselves


COMPARE = "/projects/covid/comparisons"


def compared(world):
    make.make_set(world.note, "gold", [(0, 11, "PATIENT"), (44, 50, "CITY"), (31, 41, "DATE")])
    runs = [make.make_author(world.project, kind="run", name=f"run-{n}") for n in (1, 2)]
    make.make_set(world.note, runs[0], [(0, 11, "PATIENT"), (44, 50, "CITY")], submitted=True)
    make.make_set(world.note, runs[1], [(0, 11, "PATIENT"), (31, 40, "DATE")], submitted=True)
    return runs


def test_two_runs_side_by_side(world):
    first, second = compared(world)
    viewer = Program(world.vic)
    query = f"authors={first.pk}&authors={second.pk}"
    figures = viewer.get(f"{COMPARE}?{query}").json()["figures"]
    assert [run["run"] for run in figures["runs"]] == ["run-1", "run-2"]
    assert (figures["missed_by_all"], figures["best"]["strict_f1"]) == (1, ["run-1"])
    (only,) = viewer.get(f"{COMPARE}/spans?{query}&kind=only&only={first.pk}").json()["items"]
    assert (only["start"], only["end"], only["label"], only["marked"]) == (44, 50, "CITY", "Torino")
    assert viewer.post(f"{COMPARE}/jobs", {"authors": [first.pk, second.pk]}).status_code == 202
    assert [one["field"] for one in viewer.get(f"{COMPARE}?authors={first.pk}").json()["errors"]] == ["authors"]


def test_runs_are_hidden_while_planted_leaks_are(world):
    first, second = compared(world)
    Review.objects.create(document=world.note, author=first, planted_share=100)
    assert Program(world.rev).get(f"{COMPARE}?authors={first.pk}&authors={second.pk}").status_code == 404


def test_a_round_of_the_loop_begins(world):
    compared(world)
    reviewer, rounds = Program(world.rev), "/projects/covid/loop/rounds"
    assert reviewer.get("/projects/covid/loop").json()["gold_notes"] == 1
    assert reviewer.post(rounds, {"share": 20}).json() == {"version": 1, "made": True}
    assert reviewer.post(rounds, {"share": 20}).json() == {"version": 1, "made": False}
    assert [one["field"] for one in reviewer.post(rounds, {"share": 0}).json()["errors"]] == ["share"]
