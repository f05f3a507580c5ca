"""Archived projects: read-only on every page and for every command, and open again once a manager restores them."""

import json
import uuid
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotations import models
from annotations.annotate.services import spans as span_services
from annotations.annotate.services.spans import apply_change
from annotations.core.access import enter
from annotations.core.changes import read_change
from annotations.core.services import ProjectArchived
from annotations.jobs.services.queue import enqueue, retry
from annotations.projects.events import PROJECT_ARCHIVED, PROJECT_RESTORED
from annotations.projects.services import projects
from annotations.projects.services.assigning import release_idle_notes
from annotations.projects.services.projects import archive_project, restore_project
from tests import factories as make
from tests.worlds.beside import Beside
from tests.worlds.checks import check_page
from tests.worlds.pages import url

SETTINGS = "/projects/covid/settings/"
ARCHIVE, RESTORE = f"{SETTINGS}archive", f"{SETTINGS}restore"
NOTES = "/projects/covid/notes/"
SENTENCE = "This project is archived. A manager can restore it in the project settings."
BANNER = "This project is archived and read-only."


def archive(world):
    return archive_project(project=world.project, actor=world.mia)


def is_archived(world):
    return models.Project.objects.get(pk=world.project.pk).archived_at is not None


@pytest.fixture
def archived(world):
    archive(world)
    world.project.refresh_from_db()
    return world


def change_of(world, part="Torino", label="CITY"):
    start = world.note.text.index(part)
    return {
        "change_id": str(uuid.uuid4()), "kind": "create", "start": start, "end": start + len(part),
        "label": make.label_of(world.project, label).pk, "quote": part,
    }  # fmt: skip


def apply(world):
    return apply_change(
        access=enter(world.ann, world.project.slug), note=world.note, change=read_change(change_of(world))
    )


# ── The buttons ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_archive_and_restore(world, mia, sign_in):
    assert ARCHIVE in check_page(mia.get(SETTINGS))
    html = check_page(mia.post(ARCHIVE, follow=True))
    assert BANNER in html and RESTORE in html and "Delete project" in html and "Save" not in html
    # A second click, or another manager's click at the same time, changes nothing.
    assert mia.post(ARCHIVE).status_code == 302
    event = models.Event.objects.get(verb=PROJECT_ARCHIVED)
    assert (event.actor, event.project_id) == (world.mia, world.project.pk)
    html = check_page(mia.post(RESTORE, follow=True))
    assert BANNER not in html and ARCHIVE in html and mia.post(RESTORE).status_code == 302
    assert models.Event.objects.filter(verb=PROJECT_RESTORED).count() == 1
    assert sign_in(world.ann).get(url("annotate", world.note.pk)).status_code == 200


def test_unfinished_jobs_and_imports_are_named_and_have_to_end_first(world, mia):
    job = models.Job.objects.create(project=world.project, kind="export", key="k")
    for state in (models.JobState.QUEUED, models.JobState.RUNNING, models.JobState.PAUSED):
        models.Job.objects.update(state=state)
        assert f'href="/projects/covid/jobs/{job.number}/">Export<' in check_page(mia.post(ARCHIVE, follow=True))
        assert not is_archived(world)
    models.Job.objects.update(state=models.JobState.DONE)
    row = models.Import.objects.create(project=world.project, format="text", state=models.ImportState.RUNNING)
    assert "An import is running." in check_page(mia.post(ARCHIVE, follow=True)) and not is_archived(world)
    row.delete()
    mia.post(ARCHIVE)
    assert is_archived(world)


# ── What people see ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_scripts_and_htmx_get_the_sentence_and_keep_the_work(archived, mia, sign_in):
    client, change = sign_in(archived.ann), change_of(archived) | {"person": archived.ann.pk}
    answer = client.post(url("changes", archived.note.pk), change, content_type="application/json")
    assert (answer.status_code, answer.json()) == (403, {"error": "forbidden", "message": SENTENCE})
    answer = client.get(url("note_data", archived.note.pk), headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["message"]) == (403, SENTENCE) and not models.Span.objects.exists()
    answer = mia.get(url("people"), headers={"hx-request": "true"})
    assert (answer.status_code, answer.text) == (403, SENTENCE)
    assert answer["Content-Type"].startswith("text/plain")


def test_searching_and_exporting_are_reading(archived, sign_in):
    ann, rev = sign_in(archived.ann), sign_in(archived.rev)
    assert archived.note.name in ann.post(NOTES, {"name": "caso"}, follow=True).text
    answer = ann.post("/projects/covid/search/", {"text": "Torino", "where": "all", "annotation_set": "own"})
    assert answer.status_code == 303 and ann.get(answer.url).status_code == 200
    gold = make.make_author(archived.project, kind="gold", name="gold")
    make.make_set(archived.note, gold, [(0, 11, "PATIENT")], submitted=True)
    assert rev.post(url("job_start_export"), {"format": "brat", "set": "gold"}).status_code == 302
    assert [job.kind for job in models.Job.objects.all()] == ["export"]
    assert rev.post(url("gold_freeze")).status_code == 403


def test_what_was_hidden_from_a_person_stays_hidden(world, monkeypatch):
    """Fewer rights must not make anybody count as somebody from whom nothing is hidden."""
    make.change(world.project, anonymous_adjudication=True)
    monkeypatch.setattr("annotations.core.suggestions.withheld", lambda project: "Hidden.")
    before = {user: enter(user, "covid") for user in (world.rev, world.mia, world.vic)}
    archive(world)
    for user, was in before.items():
        now = enter(user, "covid")
        assert (now.unnamed, now.withheld, now.blind) == (was.unnamed, was.withheld, was.blind)
    assert enter(world.rev, "covid").withheld and not enter(world.mia, "covid").unnamed


# ── Commands and jobs ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_commands_that_archive_and_restore(world, capsys):
    call_command("archive_project", "covid", "--by", "mia")
    assert is_archived(world)
    capsys.readouterr()
    for words, archived, changed in (([], True, False), (["--restore"], False, True)):
        call_command("archive_project", "covid", "--json", *words)
        assert json.loads(capsys.readouterr().out) == {"project": "covid", "archived": archived, "changed": changed}
    events = list(models.Event.objects.values_list("verb", "actor"))
    assert events == [(PROJECT_ARCHIVED, world.mia.pk), (PROJECT_RESTORED, None)]


REFUSED = [
    "add_member covid out --role viewer", "remove_member covid ann",
    "rename_label covid CITY --name Town", "merge_labels covid CITY HOSPITAL", "labels covid --delete CITY",
    "submit covid caso-001 --by ann", "withdraw_gold covid caso-002 --by mia",
    "review_bulk covid --least 0 --by mia",
    "make_gold covid --set annotator:ann --by mia", "freeze_gold covid",
    "import_documents covid {folder} --format text", "run_model covid rules", "erase_patient covid P-1 --yes",

]  # fmt: skip


def _rows(world):
    members = models.Membership.objects.order_by("pk").values_list("user", "role", "active")
    counted = (models.Event, models.Job, models.Import, models.Span, models.Assignment, models.Document)
    labels = world.project.label_set.labels.values_list("name", flat=True)
    counts = [each.objects.count() for each in counted]
    return [*counts, world.project.gold_versions.count(), list(members), list(labels)]


def test_commands_that_change_something_are_refused_and_others_go_on(world, tmp_path, capsys):
    (tmp_path / "new.txt").write_text("Anna Verdi")
    make.make_note(world.project, patient_id="P-1")
    annotated = make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    gold = make.make_author(world.project, kind="gold", name="gold")
    make.make_set(world.notes[1], gold, [(0, 11, "PATIENT")], submitted=True)
    archive(world)
    before = _rows(world)
    for command in REFUSED:
        with pytest.raises(CommandError, match="This project is archived"):
            call_command(*command.format(folder=tmp_path).split())
        assert _rows(world) == before, command
    annotated.refresh_from_db()
    call_command("agreement", "covid", "--json")
    assert json.loads(capsys.readouterr().out)


def test_jobs_that_change_something_neither_start_nor_restart(archived):
    with pytest.raises(ProjectArchived):
        enqueue(kind="gold", project=archived.project, params={}, key="k", actor=None)
    failed = models.Job.objects.create(project=archived.project, kind="gold", key="old", state=models.JobState.FAILED)
    with pytest.raises(ProjectArchived):
        retry(failed)
    assert make.reread(failed).state == models.JobState.FAILED and models.Job.objects.count() == 1


def test_idle_annotators_keep_their_notes(world):
    models.Project.objects.update(idle_days=7)
    models.Assignment.objects.update(created_at=timezone.now() - timedelta(days=30))
    archive(world)
    release_idle_notes()
    assert set(models.Assignment.objects.values_list("state", flat=True)) == {models.AssignmentState.OPEN}
    restore_project(project=world.project, actor=world.mia)
    release_idle_notes()
    assert set(models.Assignment.objects.values_list("state", flat=True)) == {models.AssignmentState.RELEASED}


def test_a_change_that_was_under_way_stores_nothing(archived):
    """The page was opened before, and its request passed the check of access before."""
    with pytest.raises(ProjectArchived):
        apply(archived)
    assert not models.Span.objects.exists() and not archived.note.annotation_sets.exists()
    assert not models.Event.objects.exclude(verb=PROJECT_ARCHIVED).exists()


# ── At the same moment ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_archiving_waits_for_a_change_under_way(world, monkeypatch):
    beside = Beside(lambda: archive(world))
    original = span_services.count_change

    def then_archive(*given):
        original(*given)
        beside.begin()

    monkeypatch.setattr(span_services, "count_change", then_archive)
    apply(world)
    beside.join()
    assert beside.waited and beside.error is None
    assert models.Span.objects.count() == 1 and is_archived(world)
    assert list(models.Event.objects.order_by("pk").values_list("verb", flat=True)) == [
        "span.created",
        PROJECT_ARCHIVED,
    ]


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["change", "job"])
def test_what_comes_during_archiving_waits_and_is_refused(world, monkeypatch, what):
    calls = {
        "change": lambda: apply(world),
        "job": lambda: enqueue(kind="gold", project=world.project, params={}, key="k", actor=world.mia),
    }
    beside = Beside(calls[what])
    beside.begin_before(monkeypatch, projects, "check_no_jobs")
    archive(world)
    beside.join()
    assert beside.waited and isinstance(beside.error, ProjectArchived)
    assert not models.Span.objects.exists() and not models.Job.objects.exists()
    assert list(models.Event.objects.values_list("verb", flat=True)) == [PROJECT_ARCHIVED]
