"""Archived projects: read-only on every page and for every command, and open again once a manager restores them."""

import json
import threading
import uuid
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotations.annotate.services import spans as span_services
from annotations.annotate.services.spans import apply_change
from annotations.core.access import enter
from annotations.core.archived import ProjectArchived
from annotations.core.changes import read_change
from annotations.core.hiding import _RULES
from annotations.jobs.services.queue import enqueue, retry
from annotations.models import Assignment, Event, Import, Job, Project, Role, Span
from annotations.projects.events import PROJECT_ARCHIVED, PROJECT_RESTORED
from annotations.projects.services import archiving
from annotations.projects.services.archiving import archive_project, restore_project
from annotations.projects.services.idle import release_idle_notes
from tests import factories as make
from tests.waiting import HANGS, MOMENT
from tests.worlds.checks import check_page

SETTINGS = "/projects/covid/settings/"
ARCHIVE, RESTORE = f"{SETTINGS}archive", f"{SETTINGS}restore"
NOTES = "/projects/covid/notes/"
SENTENCE = "This project is archived. A manager can restore it in the project settings."
BANNER = "This project is archived and read-only."


@pytest.fixture
def archived(world):
    archive_project(project=world.project, actor=world.mia)
    world.project.refresh_from_db()
    return world


def change_of(world, part="Torino", label="CITY"):
    start = world.note.text.index(part)
    return {
        "change_id": str(uuid.uuid4()), "kind": "create", "start": start, "end": start + len(part),
        "label": make.label_of(world.project, label).pk, "quote": part,
    }  # fmt: skip


# ── The buttons ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_archive_and_restore(world, sign_in):
    mia = sign_in(world.mia)
    assert "Archive project" in check_page(mia.get(SETTINGS))
    answer = mia.post(ARCHIVE, follow=True)
    html = check_page(answer)
    assert "The project is archived." in html and BANNER in html
    assert "Restore project" in html and "Delete project" in html and "Save" not in html
    # A second click, or another manager's click at the same time, changes nothing.
    assert mia.post(ARCHIVE).status_code == 302
    event = Event.objects.get(verb=PROJECT_ARCHIVED)
    assert (event.actor, event.project_id) == (world.mia, world.project.pk)

    html = check_page(mia.post(RESTORE, follow=True))
    assert "The project is restored." in html and BANNER not in html and "Archive project" in html
    assert mia.post(RESTORE).status_code == 302
    assert Event.objects.filter(verb=PROJECT_RESTORED).count() == 1
    answer = sign_in(world.ann).get(f"{NOTES}{world.note.pk}/annotate/")
    assert answer.status_code == 200


@pytest.mark.parametrize("state", [Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED])
def test_an_unfinished_job_is_named_and_has_to_end_first(world, sign_in, state):
    job = Job.objects.create(project=world.project, kind="export", key="k", state=state)
    mia = sign_in(world.mia)
    html = check_page(mia.post(ARCHIVE, follow=True))
    assert "The project was not archived." in html and f'href="/projects/covid/jobs/{job.pk}/">Export<' in html
    world.project.refresh_from_db()
    assert world.project.archived_at is None
    Job.objects.update(state=Job.State.DONE)
    assert "The project is archived." in check_page(mia.post(ARCHIVE, follow=True))


def test_a_running_import_of_a_command_has_to_end_first(world, sign_in):
    Import.objects.create(project=world.project, format="text", state=Import.State.RUNNING)
    assert "An import is running." in check_page(sign_in(world.mia).post(ARCHIVE, follow=True))
    world.project.refresh_from_db()
    assert world.project.archived_at is None


# ── What people see ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_everybody_still_reads(archived, sign_in):
    make.make_set(archived.note, archived.ann, [(0, 11, "PATIENT")], submitted=True)
    for person in (archived.ann, archived.vic, archived.rev, archived.mia):
        client = sign_in(person)
        for url in ("/projects/covid/", NOTES, "/projects/covid/guidelines/"):
            assert BANNER in check_page(client.get(url)), (person, url)
    for person in (archived.vic, archived.rev, archived.mia):
        html = check_page(sign_in(person).get(f"{NOTES}{archived.note.pk}/"))
        assert archived.note.text[:5] in html
        for action in ("New comment", "Make gold", "Delete note"):
            assert action not in html, action
    assert sign_in(archived.rev).get("/projects/covid/export/").status_code == 200
    assert sign_in(archived.mia).get("/projects/covid/audit/").status_code == 200


def test_annotators_see_the_list_without_links(archived, sign_in):
    html = check_page(sign_in(archived.ann).get(NOTES))
    assert archived.note.name in html and "/annotate/" not in html


@pytest.mark.parametrize(
    "person, name, of_note",
    [
        ("ann", "annotate", True),
        ("ann", "next_note", False),
        ("ann", "keys", False),
        ("rev", "adjudications", False),
        ("rev", "adjudicate", True),
        ("rev", "reviews", False),
        ("mia", "people", False),
        ("mia", "labels", False),
        ("mia", "import", False),
        ("mia", "patients", False),
        ("mia", "note_delete", True),
        ("mia", "guidelines_edit", False),
    ],
)
def test_pages_for_changes_are_refused_with_a_sentence(archived, sign_in, person, name, of_note):
    url = reverse(name, args=["covid", *([archived.note.pk] if of_note else [])])
    answer = sign_in(getattr(archived, person)).get(url)
    assert answer.status_code == 403
    assert SENTENCE in check_page(answer)


def test_who_lacks_the_right_anyway_is_told_that(archived, sign_in):
    answer = sign_in(archived.vic).get("/projects/covid/people/")
    assert answer.status_code == 403 and SENTENCE not in answer.content.decode()
    assert sign_in(archived.out).get("/projects/covid/").status_code == 404


def test_scripts_get_the_sentence_and_keep_the_work(archived, sign_in):
    client = sign_in(archived.ann)
    change = change_of(archived) | {"person": archived.ann.pk}
    answer = client.post(reverse("changes", args=["covid", archived.note.pk]), change, content_type="application/json")
    assert (answer.status_code, answer.json()) == (403, {"error": "forbidden", "message": SENTENCE})
    answer = client.get(reverse("note_data", args=["covid", archived.note.pk]), headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["message"]) == (403, SENTENCE)
    assert not Span.objects.exists()


def test_htmx_gets_the_sentence(archived, sign_in):
    answer = sign_in(archived.mia).get("/projects/covid/people/", headers={"hx-request": "true"})
    assert (answer.status_code, answer.content.decode()) == (403, SENTENCE)
    assert answer["Content-Type"].startswith("text/plain")


def test_searching_is_reading(archived, sign_in):
    client = sign_in(archived.ann)
    assert archived.note.name in client.post(NOTES, {"name": "caso"}, follow=True).content.decode()
    answer = client.post("/projects/covid/search/", {"text": "Torino", "where": "all", "annotation_set": "own"})
    assert answer.status_code == 303 and client.get(answer.url).status_code == 200


def test_exports_can_be_started_and_others_not(archived, sign_in):
    gold = make.make_author(archived.project, kind="gold", name="gold")
    make.make_set(archived.note, gold, [(0, 11, "PATIENT")], submitted=True)
    client = sign_in(archived.rev)
    assert (
        client.post(reverse("job_start_export", args=["covid"]), {"format": "brat", "set": "gold"}).status_code == 302
    )
    assert [job.kind for job in Job.objects.all()] == ["export"]
    assert client.post(reverse("gold_freeze", args=["covid"])).status_code == 403


def test_the_list_shows_archived_projects_apart_and_without_work(world, sign_in):
    make.make_member(make.make_project("zebra", name="Zebra"), user=world.ann)
    client = sign_in(world.ann)
    html = check_page(client.get("/"))
    assert "Archived projects" not in html and "Start" in html
    archive_project(project=world.project, actor=world.mia)
    html = check_page(client.get("/"))
    assert html.index("Zebra") < html.index(">Archived projects</h2>") < html.index("Covid ward")
    assert "/projects/covid/annotate" not in html and ">Start<" not in html


def test_what_was_hidden_from_a_person_stays_hidden(world, sign_in, monkeypatch):
    """Fewer rights must not make anybody count as somebody from whom nothing is hidden."""
    world.project.anonymous_adjudication = True
    world.project.save()
    monkeypatch.setattr("annotations.core.hiding._RULES", [*_RULES, (None, None, lambda project: "Hidden.", None)])
    before = {user: enter(user, "covid") for user in (world.rev, world.mia, world.vic)}
    archive_project(project=world.project, actor=world.mia)
    for user, was in before.items():
        now = enter(user, "covid")
        assert (now.unnamed, now.withheld, now.blind) == (was.unnamed, was.withheld, was.blind)
    assert enter(world.rev, "covid").withheld and not enter(world.mia, "covid").unnamed


# ── Without a page ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_commands_that_archive_and_restore(world, capsys):
    call_command("archive_project", "covid", "--by", "mia")
    call_command("archive_project", "covid")
    world.project.refresh_from_db()
    assert world.project.archived_at is not None
    assert capsys.readouterr().out.splitlines() == ["Project covid is archived.", "Project covid is already archived."]
    call_command("archive_project", "covid", "--restore", "--json")
    assert json.loads(capsys.readouterr().out) == {"project": "covid", "archived": False, "changed": True}
    assert list(Event.objects.values_list("verb", "actor")) == [
        (PROJECT_ARCHIVED, world.mia.pk), (PROJECT_RESTORED, None),
    ]  # fmt: skip


def test_jobs_that_change_something_neither_start_nor_restart(archived):
    with pytest.raises(ProjectArchived):
        enqueue(kind="gold", project=archived.project, params={}, key="k", actor=None)
    failed = Job.objects.create(project=archived.project, kind="gold", key="old", state=Job.State.FAILED)
    with pytest.raises(ProjectArchived):
        retry(failed)
    failed.refresh_from_db()
    assert failed.state == Job.State.FAILED and Job.objects.count() == 1


def test_idle_annotators_keep_their_notes(world):
    Project.objects.update(idle_days=7)
    Assignment.objects.update(created_at=timezone.now() - timedelta(days=30))
    archive_project(project=world.project, actor=world.mia)
    release_idle_notes()
    assert set(Assignment.objects.values_list("state", flat=True)) == {Assignment.State.OPEN}
    restore_project(project=world.project, actor=world.mia)
    release_idle_notes()
    assert set(Assignment.objects.values_list("state", flat=True)) == {Assignment.State.RELEASED}


def test_a_change_that_was_under_way_stores_nothing(archived):
    """The page was opened before, and its request passed the check of access before."""
    with pytest.raises(ProjectArchived):
        apply_change(document=archived.note, user=archived.ann, change=read_change(change_of(archived)))
    assert not Span.objects.exists() and not archived.note.annotation_sets.exists()
    assert not Event.objects.exclude(verb=PROJECT_ARCHIVED).exists()


# ── At the same moment ───────────────────────────────────────────────────────────────────────────────────────────────


class Beside:
    """A call in another thread. `waited` says whether it was still waiting after a moment."""

    def __init__(self, call):
        self.done, self.error, self.waited = threading.Event(), None, None
        self._call = call
        self._thread = threading.Thread(target=self._run)

    def begin(self):
        self._thread.start()
        self.waited = not self.done.wait(MOMENT)

    def _run(self):
        try:
            self._call()
        except Exception as error:
            self.error = error
        finally:
            self.done.set()
            connection.close()

    def join(self):
        self._thread.join(HANGS)
        assert self.done.is_set()


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_archiving_waits_for_a_change_under_way(world, monkeypatch):
    beside = Beside(lambda: archive_project(project=world.project, actor=world.mia))
    original = span_services.count_change

    def then_archive(*given):
        original(*given)
        beside.begin()

    monkeypatch.setattr(span_services, "count_change", then_archive)
    apply_change(document=world.note, user=world.ann, change=read_change(change_of(world)))
    beside.join()
    assert beside.waited and beside.error is None
    world.project.refresh_from_db()
    assert Span.objects.count() == 1 and world.project.archived_at is not None
    assert list(Event.objects.order_by("pk").values_list("verb", flat=True)) == ["span.created", PROJECT_ARCHIVED]


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["change", "job"])
def test_what_comes_during_archiving_waits_and_is_refused(world, monkeypatch, what):
    calls = {
        "change": lambda: apply_change(document=world.note, user=world.ann, change=read_change(change_of(world))),
        "job": lambda: enqueue(kind="gold", project=world.project, params={}, key="k", actor=world.mia),
    }
    beside = Beside(calls[what])
    monkeypatch.setattr(archiving, "check_no_jobs", lambda project: beside.begin())
    archive_project(project=world.project, actor=world.mia)
    beside.join()
    assert beside.waited and isinstance(beside.error, ProjectArchived)
    assert not Span.objects.exists() and not Job.objects.exists()
    assert list(Event.objects.values_list("verb", flat=True)) == [PROJECT_ARCHIVED]


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_two_managers_archive_at_once(world, at_once):
    make.make_member(world.project, Role.MANAGER, "max")
    changed = at_once(*[lambda: archive_project(project=world.project, actor=world.mia)] * 2)
    assert sorted(changed) == [False, True]
    assert Event.objects.filter(verb=PROJECT_ARCHIVED).count() == 1
