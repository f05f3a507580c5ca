"""Ensembles and runs of the backend `known`: each note with its own patient, votes, invalid combinations."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotations.core.services import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Author, Job, JobState, Label, Span
from annotations.projects.services.labels import merge_labels
from annotations.release.rules.known.person import MasterPerson
from annotations.release.services.known import add_terms, store_people
from models_runtime.core import registry
from models_runtime.models import Run, RunItem, TrainedModel
from models_runtime.runs.services.ensembles import MemberChoice, options_of, start_ensemble
from models_runtime.runs.services.runs import retry_failed, start_run
from tests import factories as make
from tests.release.known.files import CSV
from tests.runs.conftest import finished

pytestmark = pytest.mark.django_db(transaction=True)


TEXT = "Mario Rossi, visto a Torino"
MARIO, ROSSI, TORINO = (0, 5), (6, 11), (21, 27)


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    """`capitals` labels M, R and T as PATIENT; `cities` labels the same letters as CITY."""
    for name, factory in (("capitals", "FakeBackend"), ("again", "FakeBackend"), ("cities", "CityBackend")):
        kind = registry.BackendKind(title=name, factory=f"tests.worlds.fake_backend.{factory}", description="")
        monkeypatch.setitem(registry.BACKENDS, name, kind)


@pytest.fixture
def project():
    project = make.make_project("ward")
    for number in range(4):
        make.make_note(project, TEXT + "." * number)
    return project


def asked(project, *words, method="majority", key="e", weights=(), **options):
    weights = [*weights, *[None] * (len(words) - len(weights))]
    members = [MemberChoice(word, weight) for word, weight in zip(words, weights, strict=True)]
    return start_ensemble(project=project, members=members, method=method, actor=None, key=key, **options)


def voted(project, *words, **options):
    run = asked(project, *words, **options)
    assert finished(run).state == JobState.DONE
    return run


def imported(project, name, *spans, notes=None):
    """Create an imported run with the same spans in every note, or only in the first `notes` notes."""
    author = make.make_author(project, kind="run", name=name)
    for note in list(project.documents.order_by("id"))[:notes]:
        make.make_set(note, author, [(*bounds, label) for bounds, label in spans], submitted=True)
    return author


def spans_of(run):
    """Return the spans of the run on the first note: start, end, label, source and confidence."""
    rows = Span.objects.filter(annotation_set__author=run.author).order_by("annotation_set__document", "start")
    first = rows.filter(annotation_set__document=run.project.documents.order_by("id").first())
    return [(span.start, span.end, span.label.code, span.source, span.confidence) for span in first]


def test_backends_vote_and_the_run_says_who_was_for_it(project):
    run = voted(project, "capitals", "cities", "again")
    assert (run.job.done, run.author.name, run.params["left_out"]) == (4, "ensemble-majority-1", 0)
    assert spans_of(run) == [(at, at + 1, "PATIENT", "majority:capitals+again", 0.6) for at in (0, 6, 21)]
    assert run.revision.startswith("2-majority-")
    members = [(row["name"], row["revision"]) for row in run.params["members"]]
    assert members == [("capitals", "1"), ("cities", "1"), ("again", "1")]
    assert asked(project, "capitals", "cities", "again") == run and RunItem.objects.count() == 4, "a double click"


def test_finished_runs_vote_on_the_notes_that_all_have_read(project, monkeypatch):
    imported(project, "a", (MARIO, "PATIENT"), (TORINO, "CITY"))
    imported(project, "b", (MARIO, "PATIENT"), (ROSSI, "DOCTOR"), notes=3)
    imported(project, "c", (TORINO, "CITY"), (ROSSI, "DOCTOR"), notes=3)
    monkeypatch.setattr("tests.worlds.fake_backend.FakeBackend.predict", None)  # the backend must not be called
    run = voted(project, "run:a", "run:b", "run:c")
    assert (run.job.done, run.params["left_out"]) == (3, 1)
    assert [span[:4] for span in spans_of(run)] == [
        (*MARIO, "PATIENT", "majority:run:a+run:b"),
        (*ROSSI, "DOCTOR", "majority:run:b+run:c"),
        (*TORINO, "CITY", "majority:run:a+run:c"),
    ]
    everything = voted(project, "run:a", "run:b", method="union", key="u")
    assert [span[:2] for span in spans_of(everything)] == [MARIO, ROSSI, TORINO]
    both = voted(project, "run:a", "run:b", method="intersection", key="i")
    assert [span[:2] for span in spans_of(both)] == [MARIO]


def test_a_backend_and_a_run_vote_together_and_merged_labels_are_one_vote(project):
    author = imported(project, "by-hand", ((0, 1), "PATIENT"))
    run = voted(project, "capitals", "run:by-hand", method="intersection")
    assert [span[:3] for span in spans_of(run)] == [(0, 1, "PATIENT")]
    assert [row["revision"] for row in run.params["members"]] == ["1", f"run-{author.pk}"]
    run = asked(project, "capitals", "run:by-hand", method="intersection", key="merged")
    merge_labels(source=make.label_of(project, "PATIENT"), target=make.label_of(project, "DOCTOR"), actor=None)
    finished(run)
    assert [span[:3] for span in spans_of(run)] == [(0, 1, "DOCTOR")]


def test_weights_are_given_or_a_model_s_score(project):
    imported(project, "a", (MARIO, "PATIENT"))
    imported(project, "b", (TORINO, "CITY"))
    with pytest.raises(ServiceError, match="“run:a” has no score on held-out notes"):
        asked(project, "run:a", "run:b", method="weighted")
    (span,) = spans_of(voted(project, "run:a", "run:b", method="weighted", weights=[1, 3]))
    assert (*span[:3], span[4]) == (*TORINO, "CITY", 0.75)
    model = TrainedModel.objects.create(
        project=project, name="ours", backend="crf", state="ready",
        card={"labels": [], "scores": {"levels": [{"granularity": "subcategory", "micro": {"f1": 0.9}}]}},
    )  # fmt: skip
    assert {option.spec: option.weight for option in options_of(project)}[f"model:{model.pk}"] == 0.9
    with pytest.raises(ServiceError, match="“run:a” can't be 0"):
        asked(project, "ours", "run:a", method="weighted", weights=[None, 0], key="z")
    kept = asked(project, "ours", "run:a", method="weighted", weights=[None, 0.8], key="w").params["members"]
    assert [row["weight"] for row in kept] == [0.9, 0.8]


def test_what_is_refused_says_why_and_leaves_nothing(project):
    imported(project, "a", (MARIO, "PATIENT"))
    imported(project, "none", notes=0)
    other = make.make_project("other")
    make.make_note(other, TEXT)
    imported(other, "theirs", (MARIO, "PATIENT"))
    before = Author.objects.count()
    for words, options, why in (
        (["capitals"], {}, "at least 2"), (["capitals", "capitals"], {}, "duplicates of: capitals"),
        (["run:a", "run:a "], {}, "duplicates of: run:a"),
        (["capitals", "nothing"], {}, "Choose one of: again, capitals, cities, known, rules"),
        (["capitals", "ensemble"], {}, "needs members"), (["capitals", "run:theirs"], {}, "no run “theirs”"),
        (["run:a", "run:none"], {}, "No note was annotated by all of these runs"),
        (["capitals", "again"], {"name": "a"}, "already exists"),
    ):  # fmt: skip
        with pytest.raises(ServiceError, match=why):
            asked(project, *words, **options)
        assert (Run.objects.count(), Author.objects.count(), Job.objects.count()) == (0, before, 0), why


def test_a_run_in_progress_or_a_deleted_one_can_t_vote(project):
    run = start_run(project=project, backend="capitals", actor=None, key="r")
    with pytest.raises(ServiceError, match="“capitals-1” is still in progress"):
        asked(project, "run:capitals-1", "cities")
    assert "run:capitals-1" not in {option.spec for option in options_of(project)}
    finished(run)
    assert {option.spec: option.notes for option in options_of(project)}["run:capitals-1"] == 4
    assert finished(asked(project, "run:capitals-1", "cities")).state == JobState.DONE
    author = imported(project, "a", (MARIO, "PATIENT"))
    run = asked(project, "capitals", "run:a", key="deleted")
    AnnotationSet.objects.filter(author=author).delete()
    author.delete()
    job = finished(run)
    assert job.state == JobState.FAILED and "no longer exists" in job.error


def test_one_note_s_error_fails_only_this_note(project):
    make.make_note(project, "EXPLODE", "bad")
    imported(project, "a", ((0, 1), "PATIENT"))
    for members in (("capitals", "again"), ("capitals", "run:a")):
        run = voted(project, *members, key=members[1])
        assert run.job.result["failed"] == 1 and retry_failed(run=run, actor=None) == 1


# ── Known identifiers ─────────────────────────────────────────────────────────────────────────────────────────────────
BRAMBILLASCHI = MasterPerson(given=("Mario",), family=("Brambillaschi",))
MARIO_THERE = "BRAMBILLASCHI, Mario"
LUCREZIA = MasterPerson(given=("Lucrezia",), family=("Pontevecchio",))
VISIT = "Visto il sig. BRAMBILLASCHI, Mario con Lucrezia Pontevecchio a Villa Azul."


@pytest.fixture
def patients():
    patients = make.make_project("ward")
    for patient in ("P-1", "P-2", "", "P-9"):
        make.make_note(patients, VISIT, patient_id=patient)
    return patients


@pytest.fixture
def known(patients):
    store_people(project=patients, people={"P-1": BRAMBILLASCHI, "P-2": LUCREZIA}, problems=0, actor=None)
    add_terms(project=patients, kind="deny", terms=[("villa azul", "CITY")], actor=None)
    return patients


def rows_of(run):
    work(Job.objects.get(run=run).pk)
    rows = Span.objects.filter(annotation_set__author=run.author).order_by("annotation_set__document", "start")
    return [
        (span.annotation_set.document.patient_id, VISIT[span.start : span.end], span.label.code, span.source)
        for span in rows.select_related("annotation_set__document", "label")
    ]


def test_every_note_has_the_identifiers_of_its_own_patient(known):
    run = start_run(project=known, backend="known", actor=None, key="k")
    villa = ("Villa Azul", "CITY", "known.denied")
    assert rows_of(run) == [
        ("P-1", MARIO_THERE, "PATIENT", "known.order"), ("P-1", *villa),
        ("P-2", "Lucrezia Pontevecchio", "PATIENT", "known.exact"), ("P-2", *villa), ("", *villa), ("P-9", *villa),
    ]  # fmt: skip
    run.refresh_from_db()
    # The revision changes with the master and the lists.
    for key, same in (("again", True), ("changed", False)):
        if not same:
            add_terms(project=known, kind="allow", terms=[("mario", "")], actor=None)
        other = start_run(project=known, backend="known", actor=None, key=key)
        rows_of(other)
        assert (make.reread(other).revision == run.revision) == same
    said = json.dumps([run.params, run.revision, run.job.params, run.job.result])
    assert "Brambillaschi" not in said and "azul" not in said.lower()


def test_what_a_run_lacks_is_said(patients, tmp_path, request):
    def refused(why):
        with pytest.raises(ServiceError, match=why):
            start_run(project=patients, backend="known", actor=None, key="k")

    refused("no patient master and no deny list")
    with pytest.raises(CommandError, match="can't be read"):
        call_command("known_identifiers", "ward", master=str(tmp_path / "none.csv"))
    request.getfixturevalue("known")
    Label.objects.filter(label_set__project=patients, code="CITY").update(code="TOWN", name="TOWN")
    refused("no longer has: CITY")


def test_a_member_of_an_ensemble_knows_the_patients_too(known):
    members = [MemberChoice("known", None), MemberChoice("rules", None)]
    make.change(known.label_set, key="i2b2-2014")
    run = start_ensemble(project=known, members=members, method="union", actor=None, name="", key="k")
    found = rows_of(run)
    assert ("P-1", MARIO_THERE) in [row[:2] for row in found]
    assert not [row for row in found if row[0] == "P-9" and row[1] == MARIO_THERE and "known" in row[3]]


def test_the_command_imports_lists_runs_and_counts(patients, tmp_path, capsys):
    (tmp_path / "master.csv").write_bytes(CSV)
    (tmp_path / "deny.txt").write_text("Villa Azul\tCITY\nTorre Blu\n")
    (tmp_path / "allow.txt").write_text("Ponte\n")
    files = {path.stem: str(path) for path in tmp_path.glob("*.*")}
    call_command("known_identifiers", "ward", run="known-a", json=True, **files)
    found = json.loads(capsys.readouterr().out)
    assert found["master"]["added"] == 2 and found["master"]["problems"] == 1
    assert found["master"]["file"]["unknown"] == ["shoe size"]
    assert (found["allow"], found["deny"]) == ({"added": 1, "already": 0}, {"added": 2, "already": 0})
    assert (found["patients"], found["notes"], found["covered"]) == (2, 4, 2)
    assert found["run"] | {"job": 0} == {
        "run": "known-a", "job": 0, "spans": 6, "done": 4, "failed": 0, "pending": 0, "errors": []
    }  # fmt: skip
