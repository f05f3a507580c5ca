"""Delete an archived project: nothing of it is found anywhere afterwards, except one event without names."""

import json
import logging
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, models, transaction
from django.utils import timezone

from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.erasures import ErasedMeanwhile, erasures_of, unerased
from annotations.core.errors import ServiceError
from annotations.jobs.services.relay import Relay
from annotations.models import (
    Adjudication,
    Amendment,
    Assignment,
    BulkAct,
    Cause,
    Decision,
    Deletion,
    Delivery,
    Document,
    Event,
    GroupRole,
    Handover,
    Job,
    MajorityAct,
    MajorityNote,
    Membership,
    PersonalKey,
    PlantedLeak,
    Project,
    ProviderAccount,
    ProviderSession,
    ProvisionedGroup,
    ProvisionedUser,
    ReleaseErasure,
    RemovalDecision,
    Resolution,
    Review,
    Role,
    Share,
    SigningKey,
    Span,
    Stale,
    User,
    Webhook,
)
from annotations.ops.events import PROJECT_DELETED
from annotations.ops.services import deleting
from annotations.ops.services.deleting import delete_project, finish_deletion
from annotations.projects.services.archiving import archive_project
from models_runtime.models import (
    InjectedError,
    InjectedRun,
    Judge,
    LlmUsage,
    RefinedItem,
    Refinement,
    ReviewSkill,
    SystemicError,
    SystemicExample,
    TrainedModel,
)
from models_runtime.training.jobs.checkpoints import checkpoint_of
from tests import factories as make
from tests.ops import test_erasing_everything as everything
from tests.ops.released_world import releases
from tests.ops.test_erasing_everything import fake
from tests.ops.test_erasing_everything import world as full_world
from tests.ops.test_erasing_tables import concerned
from tests.transfer.mapped import make_mapping
from tests.worlds.checks import check_page
from tests.worlds.managing import check_closed, check_method

__all__ = ["fake", "full_world"]  # fixtures
PAGE = "/projects/covid/delete/"


def archive(world):
    archive_project(project=world.project, actor=world.mia)


# ── The page ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_managers_of_an_archived_project_may_open_the_page(world, sign_in):
    archive(world)
    check_closed(world, sign_in, PAGE)
    check_closed(world, sign_in, PAGE, "post")
    check_method(sign_in(world.mia), PAGE)


def test_an_open_project_has_to_be_archived_first(world, sign_in):
    mia = sign_in(world.mia)
    html = check_page(mia.post(PAGE, {"name": "Covid ward"}, follow=True))
    assert "Only an archived project can be deleted. Archive it first." in html
    with pytest.raises(ServiceError, match="Archive it first"):
        delete_project(project=world.project, name="Covid ward", actor=world.mia)
    assert Project.objects.filter(slug="covid").exists()


def test_the_page_says_what_is_deleted(world, sign_in, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "night.zip").write_bytes(b"")
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    archive(world)
    html = " ".join(check_page(sign_in(world.mia).get(PAGE)).split())
    for name, count in (("Notes", 2), ("Annotation sets", 1), ("Gold versions", 0), ("Trained models", 0)):
        assert f"<dt>{name}</dt><dd>{count}</dd>" in html
    assert "Earlier backups still contain the project." in html and "night.zip" in html


@pytest.mark.parametrize("name", ["", "covid", "covid ward", "Covid ward ", "Other ward"])
def test_the_name_must_be_exact(world, sign_in, name):
    archive(world)
    answer = sign_in(world.mia).post(PAGE, {"name": name})
    assert answer.status_code == 422
    assert "Delete project" in check_page(answer)
    assert Project.objects.filter(slug="covid").exists() and Document.objects.filter(project=world.project).count() == 2


def test_an_unfinished_job_has_to_end_first(world, sign_in):
    archive(world)
    job = Job.objects.create(project=world.project, kind="export", key="k")
    answer = sign_in(world.mia).post(PAGE, {"name": "Covid ward"})
    assert answer.status_code == 422
    html = check_page(answer)
    assert "Some jobs of this project are waiting" in html and f"/projects/covid/jobs/{job.pk}/" in html


def test_delete_a_project(world, sign_in):
    note = make.make_note(world.other, "Anna Verdi")
    make.make_set(note, world.out, [(0, 4, "PATIENT")], submitted=True)
    Event.objects.create(project_id=world.other.pk, verb="note.read", actor=world.out)
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    archive(world)
    mia = sign_in(world.mia)
    html = check_page(mia.post(PAGE, {"name": "Covid ward"}, follow=True))
    assert "A project with 2 notes was deleted." in html and "Covid ward" not in html
    assert list(Project.objects.values_list("slug", flat=True)) == ["other"]
    # The other project keeps everything, and the accounts stay.
    assert list(Document.objects.values_list("pk", flat=True)) == [note.pk]
    assert Span.objects.count() == 1 and User.objects.filter(username="ann").exists()
    assert Event.objects.filter(project_id=world.other.pk).count() == 1
    event = Event.objects.exclude(project_id=world.other.pk).get()
    assert (event.verb, event.actor, event.project_id) == (PROJECT_DELETED, world.mia, None)
    assert event.data == {
        "project": world.project.pk, "notes": 2, "annotation_sets": 1, "gold_versions": 0, "models": 0, "files": 0,
    }  # fmt: skip
    # A second click, and a bookmark.
    assert mia.post(PAGE, {"name": "Covid ward"}).status_code == 404
    assert mia.get("/projects/covid/").status_code == 404
    assert Event.objects.filter(verb=PROJECT_DELETED).count() == 1
    # The short name and the name are free again.
    assert make.make_project("covid", name="Covid ward").pk != world.project.pk


# ── Everything of it ─────────────────────────────────────────────────────────────────────────────────────────────────


def fill_the_rest(world):
    """Rows in the tables that `test_erasing_everything` leaves empty."""
    project, span = world.project, Span.objects.filter(annotation_set__author=world.run).first()
    review, _ = Review.objects.get_or_create(document=world.note, author=world.run)
    PlantedLeak.objects.get_or_create(review=review, suggestion=span, known=PlantedLeak.Known.STRING)
    handover = Handover.objects.create(review=review, blind=False, first=world.mia, outcome={})
    handover.people.add(world.mia)
    PersonalKey.objects.create(user=world.ann, label=make.label_of(project, "CITY"), key="x")
    make_mapping(project, name=everything.WORD)
    Share.objects.create(
        job=Job.objects.filter(project=project).first(), token="6f0c6d5e-0000-4000-8000-000000000001", first=1, last=2,
        lease_until=timezone.now(),
    )  # fmt: skip
    LlmUsage.objects.create(judge=Judge.objects.first())
    at, by = timezone.now(), world.mia
    Decision.objects.create(
        review=review, suggestion=span, verdict="rejected", reviewer=by, cause=BulkAct.objects.first()
    )
    RemovalDecision.objects.create(review=review, number=1, verdict="accepted", reviewer=by)
    Adjudication.objects.create(document=world.note, heard="", finished_by=by, finished_at=at)
    Resolution.objects.create(document=world.note, start=0, end=4, choice="own", spans=[], by=by, at=at)
    Cause.objects.create(document=world.note, start=0, end=4, kind="AB", by=by)
    make.make_error_cause(world.run, world.note, by, gold=(0, 4, "PATIENT"))
    act = MajorityAct.objects.create(project=project, user=by)
    MajorityNote.objects.create(act=act, document=world.note)
    Amendment.objects.create(project=project, number=1, text=everything.WORD, guidelines_version=1, at=at)
    bring_up_to_date(project)
    Stale.objects.create(document_id=world.note.pk)
    webhook = Webhook.objects.create(project=project, url="https://hooks.example.org/", sealed=b"x")
    Delivery.objects.create(webhook=webhook, kind="note.submitted", note=world.note, due_at=at)
    GroupRole.objects.create(project=project, provider="clinic", group="ward", role=Role.VIEWER)
    account = ProviderAccount.objects.create(user=world.ann, provider="clinic", subject="1")
    ProviderSession.objects.create(account=account)
    pushed = {"provider": "clinic", "changed_at": at}
    user = ProvisionedUser.objects.create(account=account, user_name="ann", name_key="ann", active=True, **pushed)
    ProvisionedGroup.objects.create(name="ward", **pushed).members.add(user)
    version = project.gold_versions.first()
    errors, refined = (make.make_author(project, kind="bench", name=name) for name in ("errors", "refined"))
    injected = InjectedRun.objects.create(
        project=project, author=errors, gold_version=version, rules=[], rate=1, seed=7, created_by=by
    )
    InjectedError.objects.create(run=injected, document=world.note, start=0, end=4, label="CITY", rule="cities")
    systemic = SystemicError.objects.create(project=project, name="clubs", label="CITY", created_by=by)
    SystemicExample.objects.create(error=systemic, document=world.note, start=0, end=4)
    refinement = Refinement.objects.create(project=project, source=errors, author=refined, method="offline")
    RefinedItem.objects.create(refinement=refinement, document=world.note, number=1, start=0, end=4, label="CITY")
    ReviewSkill.objects.create(project=project, name="names", version=1, labels=["*"], text=everything.WORD)


# Accounts outlive the project, and certificates are verified with the keys.
STAYING = (User, ProviderAccount, ProviderSession, ProvisionedUser, ProvisionedGroup, Event, SigningKey)


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_nothing_of_a_deleted_project_is_found_anywhere(full_world, caplog):
    world = full_world
    caplog.set_level(logging.DEBUG)
    caplog.handler.addFilter(lambda record: not record.name.startswith("django.db"))
    everything.talk(world)
    everything.jobs(world)
    everything.language_models(world)
    everything.trainings(world)
    everything.uploads(world)
    made = releases(world, patient=everything.PATIENT, word=everything.WORD)
    ReleaseErasure.objects.create(release=made.masked, notes=1, patients=1)
    client = everything.pages(world)
    fill_the_rest(world)
    Job.objects.filter(state=Job.State.QUEUED).update(state=Job.State.CANCELED)
    Project.objects.update(slug="zqslug77", name="Zqproject77", guidelines="zqguidelines77")
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
    assert [event.verb for event in Event.objects.all()] == [PROJECT_DELETED]
    assert not list(Path(settings.DATA_DIR, "training").glob("*"))
    found = [
        (token, where) for where, text in everything.everywhere(world, "") for token in everything_said if token in text
    ]
    assert found == []
    assert "Zqproject77" not in caplog.text


def rows_of(model):
    return models.QuerySet(model).order_by()


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_the_checkpoints_of_its_trainings_are_deleted(world):
    model = TrainedModel.objects.create(project=world.project, name="learning", backend="bilstm")
    file = checkpoint_of(model.pk)
    file.write_text("weights")
    archive(world)
    delete_project(project=world.project, name="Covid ward", actor=world.mia)
    assert not file.parent.exists()


# ── In steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nobody_sees_a_project_whose_rows_are_still_being_deleted(world, sign_in, monkeypatch, capsys):
    monkeypatch.setattr(deleting, "NOTES", 1)
    world.project.guidelines = "Names of the ward"
    world.project.save()
    archive(world)
    delete_project(project=world.project, name="Covid ward", actor=world.mia, seconds=-1)
    assert Document.objects.filter(project=world.project).count() == 1
    for person in (world.ann, world.mia):
        client = sign_in(person)
        assert client.get("/projects/covid/").status_code == 404
        assert "Covid ward" not in client.get("/").content.decode()
    assert not Membership.objects.filter(project=world.project).exists()
    left = Project.objects.get(pk=world.project.pk)
    assert (left.name, left.guidelines) == ("", "") and "covid" not in left.slug
    for slug in ("covid", left.slug):
        with pytest.raises(CommandError, match="There is no project"):
            call_command("archive_project", slug, "--restore")
    with pytest.raises(ServiceError, match="deleted already"):
        delete_project(project=left, name="", actor=world.mia)
    assert Event.objects.filter(verb=PROJECT_DELETED).count() == 1


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_the_relay_deletes_what_is_left(world, redis_server, monkeypatch):
    monkeypatch.setattr(deleting, "NOTES", 1)
    archive(world)
    delete_project(project=world.project, name="Covid ward", actor=world.mia, seconds=-1)
    assert Deletion.objects.exists()
    Relay().round()
    assert not Project.objects.filter(pk=world.project.pk).exists() and not Deletion.objects.exists()
    assert not Event.objects.filter(project_id=world.project.pk).exists()


def test_the_relay_leaves_off_in_a_large_project(world, monkeypatch):
    monkeypatch.setattr(deleting, "NOTES", 1)
    monkeypatch.setattr(deleting, "OF_RELAY", -1.0)
    archive(world)
    delete_project(project=world.project, name="Covid ward", actor=world.mia, seconds=-1)
    deleting.finish_deletions()
    assert not Document.objects.filter(project=world.project).exists() and Deletion.objects.exists()


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_a_killed_deletion_leaves_the_whole_project_or_nothing_visible(world, sign_in, monkeypatch):
    archive(world)

    def killed(*given, **named):
        raise SystemExit

    monkeypatch.setattr(deleting.Membership.objects, "filter", killed)
    with pytest.raises(SystemExit):
        delete_project(project=world.project, name="Covid ward", actor=world.mia)
    monkeypatch.undo()
    assert sign_in(world.mia).get("/projects/covid/").status_code == 200 and not Deletion.objects.exists()

    monkeypatch.setattr(deleting, "_delete_events", killed)
    monkeypatch.setattr(deleting, "NOTES", 1)
    with pytest.raises(SystemExit):
        delete_project(project=world.project, name="Covid ward", actor=world.mia)
    monkeypatch.undo()
    assert sign_in(world.mia).get("/projects/covid/").status_code == 404
    finish_deletion(world.project.pk)
    assert not Project.objects.filter(pk=world.project.pk).exists()


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_two_managers_delete_at_once(world, at_once):
    max_ = make.make_member(world.project, Role.MANAGER, "max")
    archive(world)

    def delete(actor):
        try:
            return delete_project(project=world.project, name="Covid ward", actor=actor)["notes"]
        except ServiceError as error:
            return error.code

    assert sorted(map(str, at_once(lambda: delete(world.mia), lambda: delete(max_)))) == ["2", "gone"]
    finish_deletion(world.project.pk)
    assert not Project.objects.filter(slug="covid").exists()
    assert Event.objects.filter(verb=PROJECT_DELETED).count() == 1


def test_work_that_has_read_the_notes_stores_nothing(world):
    begun = erasures_of(world.project.pk)
    archive(world)
    delete_project(project=world.project, name="Covid ward", actor=world.mia)
    with pytest.raises(ErasedMeanwhile), transaction.atomic():
        unerased(world.project.pk, begun)


def test_events_of_other_projects_can_never_be_deleted(world):
    Deletion.objects.create(project_id=world.project.pk)
    mine = Event.objects.create(project_id=world.project.pk, verb="note.read")
    others = [Event.objects.create(project_id=pk, verb="note.read") for pk in (world.other.pk, None)]
    for event in others:
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            models.QuerySet(Event).filter(pk=event.pk).delete()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        models.QuerySet(Event).filter(pk=mine.pk).update(verb="other")
    models.QuerySet(Event).filter(pk=mine.pk).delete()
    assert Event.objects.count() == 2


# ── The command ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command(world, capsys, monkeypatch):
    monkeypatch.setattr(deleting, "NOTES", 1)
    with pytest.raises(CommandError, match="Archive it first"):
        call_command("delete_project", "covid", "--name", "Covid ward")
    archive(world)
    call_command("delete_project", "covid", "--preview")
    assert "This would delete 2 notes" in capsys.readouterr().out
    with pytest.raises(CommandError, match="Repeat the command with --name"):
        call_command("delete_project", "covid")
    with pytest.raises(CommandError, match="not the name of the project"):
        call_command("delete_project", "covid", "--name", "covid")
    assert Document.objects.filter(project=world.project).count() == 2
    call_command("delete_project", "covid", "--name", "Covid ward", "--by", "mia", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["deleted"], told["notes"], told["project"]) == (True, 2, world.project.pk)
    assert not Project.objects.filter(pk=world.project.pk).exists()
    assert not Assignment.objects.exists() and Event.objects.get(verb=PROJECT_DELETED).actor == world.mia
    with pytest.raises(CommandError, match="There is no project"):
        call_command("delete_project", "covid", "--preview")
