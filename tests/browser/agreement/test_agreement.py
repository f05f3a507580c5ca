"""Agreement of a large project: without a worker, with one, the figures, and the disagreements behind a cell."""

import re

import pytest
from playwright.sync_api import expect

from annotations.agreement.services import figures as service
from annotations.jobs.services.worker import perform
from annotations.models import Job
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


def test_from_computing_to_a_disagreement(page_of, live, axe, monkeypatch, settings, tmp_path):
    monkeypatch.setattr(service, "AT_ONCE_ANNOTATION_SETS", 1)
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    project = make.make_project("ward", name="Ward")
    annotators = [make.make_member(project, user=name) for name in ("anna", "bruno", "carla")]
    for number in range(4):
        note = make.make_note(project, annotators=annotators)
        for position, person in enumerate(annotators):
            spans = [(0, 11, "PATIENT"), (13, 15 if (number + position) % 3 else 20, "AGE"), (43, 49, "CITY")]
            make.make_set(note, person, spans[: 3 - (position == 2 and number == 1)], submitted=True)
    page = page_of(make.make_member(project, "reviewer"))

    page.goto(live("agreement", "ward") + "?granularity=category")
    expect(page.get_by_text("The queue (Redis) does not respond. The job is kept")).to_be_visible()
    perform(Job.objects.get().pk)
    numbers = page.get_by_role("region", name="Agreement: Tokens, Category")
    expect(numbers.get_by_text("Krippendorff's α", exact=True).first).to_be_visible()

    tokenizers = page.get_by_role("navigation", name="Tokenizer").get_by_role("link")
    # By keyboard. Another tokenizer needs a worker, and the figures of the default one are computed.
    for link, computed in ((tokenizers.last, False), (tokenizers.first, True)):
        link.press("Enter")
        expect(link).to_have_attribute("aria-current", "page")
        expect(numbers).to_be_visible(visible=computed)
        expect(page.locator("#agreement-progress")).to_be_visible(visible=not computed)

    page.get_by_role("link", name="F1, overlap").click()
    expect(page.get_by_role("link", name="F1, overlap")).to_have_attribute("aria-current", "true")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe(page) == []

    page.locator(".heat-map").get_by_role("row", name="anna").get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(r"disagreements/\?unit=\w+&pair=\d+-\d+"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
