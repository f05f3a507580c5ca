"""Pages, routes, the relay and rights: one success and one refusal for each door."""

from unittest.mock import patch

import pytest
from django.core.management import CommandError
from django.utils import timezone

from annotations.jobs.runner import run as run_job
from annotations.models import Event, Job, Membership, Release
from annotations.ops.services.deleting import delete_project
from models_runtime.feeds.services.feeds import look_at_feeds, pause_feed, start_work
from models_runtime.models import Feed, FeedFile, FeedNote
from tests.factories import change, make_member, reread
from tests.feeds.feed_world import LETTERS, FeedWorld, states
from tests.worlds.programs import Program

FORM = {
    "name": "letters", "source": "in", "target": "out", "run": "rules", "policy": "mask", "read_percent": "100",
    "period": "week",
}  # fmt: skip


def test_the_pages(client, feed_world: FeedWorld):
    client.force_login(feed_world.mia)
    assert client.post("/projects/ward/feeds/", FORM | {"source": ".."}).status_code == 422
    answer = client.post("/projects/ward/feeds/", FORM, follow=True)
    feed = Feed.objects.get()
    assert (feed.period, feed.created_by, answer.status_code) == ("week", feed_world.mia, 200)
    feed_world.put("a.txt", LETTERS["a.txt"])
    feed_world.put("b.pdf", b"%PDF-1.4 nothing of a PDF")
    feed_world.run()
    page = client.get(f"/projects/ward/feeds/{feed.pk}").content.decode()
    assert 'data-step="read" data-count="1"' in page and 'data-reason="refused"' in page
    client.post(f"/projects/ward/feeds/{feed.pk}", {"do": "pause"})
    feed_world.put("c.txt", LETTERS["c.txt"])
    with pytest.raises(CommandError):
        feed_world.run()
    assert FeedNote.objects.count() == 1
    client.post(f"/projects/ward/feeds/{feed.pk}", {"do": "continue"})
    feed_world.run()
    assert states(feed) == {"read": 2}
    client.post(f"/projects/ward/feeds/{feed.pk}", {"do": "run", "run": "letters-1"})
    assert reread(feed).run.author.name == "letters-1" and feed.backend == ""
    assert 'data-feed="letters"' in client.get("/projects/ward/feeds/").content.decode()


def test_the_routes(feed_world: FeedWorld):
    program = Program(feed_world.mia)
    body = FORM | {"read_percent": 100}
    assert program.post("/projects/ward/feeds", body | {"run": "none"}).status_code == 422
    made = program.post("/projects/ward/feeds", body)
    assert made.status_code == 201 and made.json()["policy"] == "mask:1"
    feed_world.put("b.pdf", b"%PDF-1.4 nothing of a PDF")
    one = f"/projects/ward/feeds/{made.json()['id']}"
    started = program.post(f"{one}/work", {})
    assert started.status_code == 202
    run_job(Job.objects.get(number=started.json()["number"]).pk)
    (file,) = program.get(f"{one}/quarantine").json()["items"]
    assert (file["name"], file["reason"]) == ("b.pdf", "refused")
    assert program.post(f"{one}/pause", {}).json()["paused"] is True
    assert program.post(f"{one}/work", {}).status_code == 409


def test_the_relay_starts_the_job_where_there_is_something_to_do(feed_world: FeedWorld):
    feed = feed_world.add()
    look_at_feeds()
    assert not Job.objects.exists()
    feed_world.put("a.txt", LETTERS["a.txt"])
    look_at_feeds()
    assert not Job.objects.exists(), "it has just looked"
    Feed.objects.update(looked_at=None)
    with patch("models_runtime.feeds.services.feeds.has_work", lambda feed: pause_feed(feed=feed, actor=None)):
        look_at_feeds()
    assert not Job.objects.exists(), "it was paused meanwhile, and the relay goes on"
    Feed.objects.update(looked_at=None, paused_at=None)
    look_at_feeds()
    job = Job.objects.get()
    assert start_work(feed).pk == job.pk, "a feed has one job"
    run_job(job.pk)
    assert FeedFile.objects.get().state == "imported"
    assert [event.verb for event in Event.objects.filter(verb__startswith="feed.")] == ["feed.added", "feed.paused"]


def test_two_workers_at_once_take_a_file_once(feed_world: FeedWorld):
    feed_world.add()
    feed_world.put_letters()
    job = start_work(Feed.objects.get())
    seen: list[int] = []

    from models_runtime.feeds.services import taking

    original = taking.Intake._take

    def meanwhile(self, entry, folder):
        run_job(job.pk)  # A second worker finds the job held.
        seen.append(FeedFile.objects.count())
        return original(self, entry, folder)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(taking.Intake, "_take", meanwhile)
        run_job(job.pk)
    assert seen == [0, 1, 2] and FeedNote.objects.count() == 3


def test_a_feed_stops_without_the_rights_of_its_owner(feed_world: FeedWorld):
    feed_world.add()
    feed_world.put("a.txt", LETTERS["a.txt"])
    Membership.objects.filter(user=feed_world.mia).update(role="reviewer")
    with pytest.raises(CommandError):
        feed_world.run()
    assert "mia" in Feed.objects.get().problem and feed_world.incoming() == ["a.txt"]
    make_member(feed_world.project, "manager", "max")
    feed_world.command("pause", "letters")
    feed_world.command("continue", "letters", "--by", "max")
    assert feed_world.run()["problem"] == "" and Feed.objects.get().created_by.username == "max"


def test_a_project_with_a_feed_is_deleted(feed_world: FeedWorld):
    feed_world.add("--read-percent", "0")
    feed_world.put_letters()
    feed_world.run()
    change(feed_world.project, archived_at=timezone.now())
    with pytest.raises(CommandError):
        feed_world.run()
    look_at_feeds()
    delete_project(project=feed_world.project, name="Ward", actor=feed_world.mia, seconds=None)
    assert not Feed.objects.exists() and not Release.objects.exists()


def test_a_full_or_closed_folder_is_a_problem_and_loses_nothing(feed_world: FeedWorld):
    feed = feed_world.add("--read-percent", "0")
    feed_world.put_letters()
    feed_world.target.rmdir()
    with pytest.raises(CommandError):
        feed_world.run()
    assert Feed.objects.get().problem and set(states(feed)) <= {"gate", "delivering", "read", "ready", "imported"}
    feed_world.target.mkdir()
    feed_world.run()
    assert states(feed) == {"released": 3} and Feed.objects.get().problem == ""
