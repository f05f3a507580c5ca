"""Delete an archived project: nothing of it is found anywhere afterwards, except one event without names."""

from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotations import models
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.services import ErasedMeanwhile, ServiceError, erasures_of, unerased
from annotations.jobs.services.relay import Relay
from annotations.ops.events import PROJECT_DELETED
from annotations.ops.services import deleting
from annotations.ops.services.deleting import delete_project, finish_deletion
from annotations.projects.services.projects import archive_project
from models_runtime import models as runtime
from tests import factories as make
from tests.exchange.brat_files import make_mapping
from tests.ops import test_erasing_everything as everything
from tests.ops.released_world import releases
from tests.ops.test_erasing_everything import world as full_world
from tests.ops.test_erasing_tables import concerned
from tests.worlds.checks import check_page
from tests.worlds.commands import answered

__all__ = ["full_world"]  # fixtures
PAGE = "/projects/covid/delete/"


def committed(test):
    """Mark a test whose transactions are committed."""
    return pytest.mark.queue(pytest.mark.django_db(transaction=True)(test))


def archive(world):
    archive_project(project=world.project, actor=world.mia)


def delete_in_steps(world):
    """Delete no more than the first step, as if the time of the page were over."""
    delete_project(project=world.project, name="Covid ward", actor=world.mia, seconds=-1)


def test_the_page_says_what_is_deleted(world, sign_in, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "night.zip").write_bytes(b"")
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    archive(world)
    html = " ".join(check_page(sign_in(world.mia).get(PAGE)).split())
    for name, count in (("Notes", 2), ("Annotation sets", 1), ("Gold versions", 0), ("Trained models", 0)):
        assert f"<dt>{name}</dt><dd>{count}</dd>" in html
    assert "night.zip" in html


def test_what_is_refused(world, sign_in):
    mia = sign_in(world.mia)
    assert mia.post(PAGE, {"name": "Covid ward"}).status_code == 302
    with pytest.raises(ServiceError, match="Archive it first"):
        delete_project(project=world.project, name="Covid ward", actor=world.mia)
    archive(world)
    for name in ("", "covid", "covid ward", "Covid ward ", "Other ward"):
        answer = mia.post(PAGE, {"name": name})
        assert answer.status_code == 422 and "Delete project" in check_page(answer), name
    job = models.Job.objects.create(project=world.project, kind="export", key="k")
    answer = mia.post(PAGE, {"name": "Covid ward"})
    assert answer.status_code == 422 and f"/projects/covid/jobs/{job.number}/" in check_page(answer)
    assert (
        models.Project.objects.filter(slug="covid").exists()
        and models.Document.objects.filter(project=world.project).count() == 2
    )


def test_delete_a_project(world, sign_in):
    note = make.make_note(world.other, "Anna Verdi")
    make.make_set(note, world.out, [(0, 4, "PATIENT")], submitted=True)
    models.Event.objects.create(project_id=world.other.pk, verb="note.read", actor=world.out)
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    archive(world)
    mia = sign_in(world.mia)
    assert "Covid ward" not in check_page(mia.post(PAGE, {"name": "Covid ward"}, follow=True))
    assert list(models.Project.objects.values_list("slug", flat=True)) == ["other"]
    # The other project keeps everything, and the accounts stay.
    assert list(models.Document.objects.values_list("pk", flat=True)) == [note.pk]
    assert models.Span.objects.count() == 1 and models.User.objects.filter(username="ann").exists()
    assert models.Event.objects.filter(project_id=world.other.pk).count() == 1
    event = models.Event.objects.exclude(project_id=world.other.pk).get()
    assert (event.verb, event.actor, event.project_id) == (PROJECT_DELETED, world.mia, None)
    counts = {"notes": 2, "annotation_sets": 1, "gold_versions": 0, "models": 0, "files": 0}
    assert event.data == {"project": world.project.pk} | counts
    # A second click, and a bookmark.
    assert mia.post(PAGE, {"name": "Covid ward"}).status_code == 404
    assert mia.get("/projects/covid/").status_code == 404
    assert models.Event.objects.filter(verb=PROJECT_DELETED).count() == 1
    # The short name and the name are free again.
    assert make.make_project("covid", name="Covid ward").pk != world.project.pk


def fill_the_rest(world):
    """Rows in the tables that `test_erasing_everything` leaves empty."""
    project, span = world.project, models.Span.objects.filter(annotation_set__author=world.run).first()
    review, _ = models.Review.objects.get_or_create(document=world.note, author=world.run)
    models.PlantedLeak.objects.get_or_create(review=review, suggestion=span, known=models.PlantedLeak.Known.STRING)
    models.Handover.objects.create(review=review, blind=False, first=world.mia, outcome={}).people.add(world.mia)
    models.PersonalKey.objects.create(user=world.ann, label=make.label_of(project, "CITY"), key="x")
    make_mapping(project, name=everything.WORD)
    models.Share.objects.create(
        job=models.Job.objects.filter(project=project).first(), token="6f0c6d5e-0000-4000-8000-000000000001", first=1,
        last=2, lease_until=timezone.now(),
    )  # fmt: skip
    runtime.LlmUsage.objects.create(judge=runtime.Judge.objects.first())
    at, by = timezone.now(), world.mia
    feed, release = runtime.Feed.objects.get(), models.Release.objects.filter(project=project).first()
    runtime.FeedDelta.objects.create(feed=feed, release=release, begins=at.date(), folder="2026-11-30")
    runtime.Tombstone.objects.create(feed=feed, path="a.txt", reason="erased")
    models.Decision.objects.create(
        review=review, suggestion=span, verdict="rejected", reviewer=by, cause=models.BulkAct.objects.first()
    )
    models.RemovalDecision.objects.create(review=review, number=1, verdict="accepted", reviewer=by)
    models.Adjudication.objects.create(document=world.note, heard="", finished_by=by, finished_at=at)
    models.Resolution.objects.create(document=world.note, start=0, end=4, choice="own", spans=[], by=by, at=at)
    models.Cause.objects.create(document=world.note, start=0, end=4, kind="AB", by=by)
    make.make_error_cause(world.run, world.note, by, gold=(0, 4, "PATIENT"))
    act = models.MajorityAct.objects.create(project=project, user=by)
    models.MajorityNote.objects.create(act=act, document=world.note)
    models.Amendment.objects.create(project=project, number=1, text=everything.WORD, guidelines_version=1, at=at)
    bring_up_to_date(project)
    models.Stale.objects.create(document_id=world.note.pk)
    models.NoteIndex.objects.create(project=project, last=world.note.pk, notes=[world.note.pk], shift=6, bits=b"x")
    webhook = models.Webhook.objects.create(project=project, url="https://hooks.example.org/", sealed=b"x")
    models.Delivery.objects.create(webhook=webhook, kind="note.submitted", note=world.note, due_at=at)
    models.GroupRole.objects.create(project=project, provider="clinic", group="ward", role=models.Role.VIEWER)
    account = models.ProviderAccount.objects.create(user=world.ann, provider="clinic", subject="1")
    models.ProviderSession.objects.create(account=account)
    pushed = {"provider": "clinic", "changed_at": at}
    user = models.ProvisionedUser.objects.create(
        account=account, user_name="ann", name_key="ann", active=True, **pushed
    )
    models.ProvisionedGroup.objects.create(name="ward", **pushed).members.add(user)
    version = project.gold_versions.first()
    errors, refined = (make.make_author(project, kind="bench", name=name) for name in ("errors", "refined"))
    injected = runtime.InjectedRun.objects.create(
        project=project, author=errors, gold_version=version, rules=[], rate=1, seed=7, created_by=by
    )
    runtime.InjectedError.objects.create(run=injected, document=world.note, start=0, end=4, label="CITY", rule="cities")
    systemic = runtime.SystemicError.objects.create(project=project, name="clubs", label="CITY", created_by=by)
    runtime.SystemicExample.objects.create(error=systemic, document=world.note, start=0, end=4)
    refinement = runtime.Refinement.objects.create(project=project, source=errors, author=refined, method="offline")
    refinement.items.create(document=world.note, number=1, start=0, end=4, label="CITY")
    runtime.ReviewSkill.objects.create(project=project, name="names", version=1, labels=["*"], text=everything.WORD)


# Accounts outlive the project, and certificates are verified with the keys.
STAYING = (
    models.User, models.ProviderAccount, models.ProviderSession, models.ProvisionedUser, models.ProvisionedGroup,
    models.Event, models.SigningKey,
)  # fmt: skip


@committed
def test_nothing_of_a_deleted_project_is_found_anywhere(full_world, caplog):
    world = full_world
    everything.listen(caplog)
    everything.fill(world)
    made = releases(world, patient=everything.PATIENT, word=everything.WORD)
    models.ReleaseErasure.objects.create(release=made.masked, notes=1, patients=1)
    client = everything.pages(world)
    fill_the_rest(world)
    models.Job.objects.filter(state=models.JobState.QUEUED).update(state=models.JobState.CANCELED)
    models.Project.objects.update(slug="zqslug77", name="Zqproject77", guidelines="zqguidelines77")
    everything_said = [*everything.TOKENS, "zqslug77", "Zqproject77", "zqguidelines77"]
    before = {token for token in everything_said if any(token in text for _, text in everything.tables())}
    assert before >= {"zqslug77", "Zqproject77", "zqguidelines77", everything.WORD}
    empty = [model._meta.label for model in concerned() if not rows_of(model).exists()]
    assert empty == [], "fill these tables before the deletion"

    archive(world)
    answer = client.post("/projects/zqslug77/delete/", {"name": "Zqproject77"})
    assert answer.status_code == 302, answer.content.decode()
    for model in apps.get_models():
        if model._meta.app_label in ("annotations", "models_runtime") and model not in STAYING:
            assert not rows_of(model).exists(), model._meta.label
    assert [event.verb for event in models.Event.objects.all()] == [PROJECT_DELETED]
    assert not list(Path(settings.DATA_DIR, "training").glob("*"))
    found = [
        (token, where) for where, text in everything.everywhere(world, "") for token in everything_said if token in text
    ]
    assert found == []
    assert "Zqproject77" not in caplog.text


def rows_of(model):
    return QuerySet(model).order_by()


def test_nobody_sees_a_project_whose_rows_are_still_being_deleted(world, sign_in, monkeypatch):
    monkeypatch.setattr(deleting, "NOTES", 1)
    make.change(world.project, guidelines="Names of the ward")
    archive(world)
    delete_in_steps(world)
    assert models.Document.objects.filter(project=world.project).count() == 1
    for person in (world.ann, world.mia):
        client = sign_in(person)
        assert client.get("/projects/covid/").status_code == 404
        assert "Covid ward" not in client.get("/").content.decode()
    assert not models.Membership.objects.filter(project=world.project).exists()
    left = models.Project.objects.get(pk=world.project.pk)
    assert (left.name, left.guidelines) == ("", "") and "covid" not in left.slug
    for slug in ("covid", left.slug):
        assert answered("archive_project", slug, "--restore") == "project"
    with pytest.raises(ServiceError, match="deleted already"):
        delete_project(project=left, name="", actor=world.mia)
    assert models.Event.objects.filter(verb=PROJECT_DELETED).count() == 1
    monkeypatch.setattr(deleting, "OF_RELAY", -1.0)
    deleting.finish_deletions()
    assert not models.Document.objects.filter(project=world.project).exists()
    assert models.Deletion.objects.exists(), "the relay leaves off in a large project"


@committed
def test_the_relay_deletes_what_is_left(world, redis_server, monkeypatch):
    monkeypatch.setattr(deleting, "NOTES", 1)
    archive(world)
    delete_in_steps(world)
    assert models.Deletion.objects.exists()
    Relay().round()
    assert not models.Project.objects.filter(pk=world.project.pk).exists() and not models.Deletion.objects.exists()
    assert not models.Event.objects.filter(project_id=world.project.pk).exists()


@committed
def test_a_killed_deletion_leaves_the_whole_project_or_nothing_visible(world, sign_in, monkeypatch):
    archive(world)

    def killed(*given, **named):
        raise SystemExit

    for owner, name, status in ((models.Membership.objects, "filter", 200), (deleting, "_delete_rest", 404)):
        monkeypatch.setattr(owner, name, killed)
        monkeypatch.setattr(deleting, "NOTES", 1)
        with pytest.raises(SystemExit):
            delete_project(project=world.project, name="Covid ward", actor=world.mia)
        monkeypatch.undo()
        assert sign_in(world.mia).get("/projects/covid/").status_code == status
        assert models.Deletion.objects.exists() == (status == 404)
    finish_deletion(world.project.pk)
    assert not models.Project.objects.filter(pk=world.project.pk).exists()


@committed
def test_two_managers_delete_at_once(world, at_once):
    max_ = make.make_member(world.project, models.Role.MANAGER, "max")
    archive(world)

    def delete(actor):
        try:
            return delete_project(project=world.project, name="Covid ward", actor=actor)["notes"]
        except ServiceError as error:
            return error.code

    assert sorted(map(str, at_once(lambda: delete(world.mia), lambda: delete(max_)))) == ["2", "gone"]
    finish_deletion(world.project.pk)
    assert not models.Project.objects.filter(slug="covid").exists()
    assert models.Event.objects.filter(verb=PROJECT_DELETED).count() == 1


def test_work_that_has_read_the_notes_stores_nothing(world):
    begun = erasures_of(world.project.pk)
    archive(world)
    delete_project(project=world.project, name="Covid ward", actor=world.mia)
    with pytest.raises(ErasedMeanwhile), transaction.atomic():
        unerased(world.project.pk, begun)


def test_events_of_other_projects_can_never_be_deleted(world):
    models.Deletion.objects.create(project_id=world.project.pk)
    mine = models.Event.objects.create(project_id=world.project.pk, verb="note.read")
    others = [models.Event.objects.create(project_id=pk, verb="note.read") for pk in (world.other.pk, None)]
    for event in others:
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            QuerySet(models.Event).filter(pk=event.pk).delete()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        QuerySet(models.Event).filter(pk=mine.pk).update(verb="other")
    QuerySet(models.Event).filter(pk=mine.pk).delete()
    assert models.Event.objects.count() == 2


def test_the_command(world):
    words, covid = ("delete_project", "covid"), ("--name", "Covid ward")
    assert answered(*words, *covid) == "open"
    archive(world)
    assert answered(*words, "--preview")["notes"] == 2
    assert (answered(*words), answered(*words, "--name", "covid")) == ("confirm", "name")
    assert models.Document.objects.filter(project=world.project).count() == 2
    told = answered(*words, *covid, "--by", "mia")
    assert (told["deleted"], told["notes"], told["project"]) == (True, 2, world.project.pk)
    assert not models.Project.objects.filter(pk=world.project.pk).exists()
    assert not models.Assignment.objects.exists()
    assert models.Event.objects.get(verb=PROJECT_DELETED).actor == world.mia
    assert answered(*words, "--preview") == "project"
