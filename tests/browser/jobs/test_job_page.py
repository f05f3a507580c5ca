"""A job's page moves by itself, keeps the focus, and stops asking when the job is over."""

from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from annotations.jobs.runner import take
from annotations.jobs.services import status
from annotations.models import Job
from tests import factories as make
from tests.exchange.brat_files import stage
from tests.zips import zipped

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def staged(settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    project = make.make_project("covid")
    manager = make.make_member(project, "manager")
    make.make_member(project)
    row = stage(project, zipped({"a.txt": b"Seen on 12/03/2021."}), format="text", written_as="", actor=manager)
    return manager, project, row


def refreshes(page: Page) -> list[str]:
    """Return a list that grows by the URL of each request of htmx."""
    asked: list[str] = []
    page.on("request", lambda request: request.headers.get("hx-request") and asked.append(request.url))
    return asked


def round_trips(page: Page) -> None:
    """Let the page make a few requests of its own, one after another: what was due before them has been sent."""
    page.evaluate("async () => { for (let n = 0; n < 3; n += 1) await fetch('/healthz'); }")


def test_the_page_follows_the_job(staged, page_of, live, axe, monkeypatch):
    manager, project, row = staged
    page = page_of(manager, "import_preview", project.slug, row.pk)
    page.get_by_role("button", name="Start import").dblclick()
    page.wait_for_url("**/jobs/*/")
    job = Job.objects.get()
    expect(page).to_have_url(live("job", project.slug, job.number))
    expect(page.get_by_text("The queue (Redis) does not respond. The job is kept")).to_be_visible()
    monkeypatch.setattr(status, "workers_alive", lambda queue: 0)
    expect(page.get_by_text("No cpu worker is running")).to_be_visible()
    assert axe(page) == []

    # The focus stays while the page changes, and a reload changes nothing.
    claim = take(job.pk)
    claim.progress(1, 4)
    expect(page.get_by_text("1 of 4 notes")).to_be_visible()
    page.get_by_text("Cancel", exact=True).first.focus()
    Job.objects.filter(pk=job.pk).update(done=3)
    expect(page.get_by_text("3 of 4 notes (75%)")).to_be_visible()
    expect(page.get_by_text("Cancel", exact=True).first).to_be_focused()
    page.reload()
    expect(page.get_by_text("3 of 4 notes (75%)")).to_be_visible()

    # Each answer sets when the page asks again.
    with monkeypatch.context() as hours:
        hours.setattr(status, "LATEST", timedelta(hours=1))
        hours.setattr(status, "SOONEST", timedelta(hours=1))
        expect(page.locator("#job-status")).to_have_attribute("hx-trigger", "every 3600000ms")
        asked = refreshes(page)
        round_trips(page)
        assert asked == []

    # With a wait between an answer and its attributes, a due refresh would put the job on the page twice.
    monkeypatch.setattr(status, "SOONEST", timedelta(milliseconds=1))
    monkeypatch.setattr(status, "LATEST", timedelta(milliseconds=1))
    page.reload()
    page.wait_for_event("response", lambda response: response.request.headers.get("hx-request") == "true")
    ended: list[bool] = []
    page.on("response", lambda response: ended.append("Notes imported" in response.text()))
    claim.done = 4
    claim.finish({"import_id": row.pk, "notes": 4, "spans": 0, "already_there": 0, "refused_notes": 0})
    expect(page.get_by_text("Notes imported").first).to_be_visible()
    asked.clear()
    round_trips(page)
    assert sum(ended) == 1 and asked == []
    expect(page.locator("#job-status")).to_have_count(1)
