"""The page of a recording in Chromium: deciding by keyboard alone, and muting by drag."""

import json
import re

import pytest
from playwright.sync_api import expect

from annotations.models import AudioRegion
from fixtures.quality.speech import speak
from tests.audio.conftest import store
from tests.browser.annotate.steps import press
from tests.factories import make_member, make_project
from tests.waiting import wait_for

SAID = "Doctor Smith saw the patient in Boston on Monday"


@pytest.fixture
def page(transactional_db, page_of, live):
    project = make_project("ward")
    speech = speak(SAID)
    kept = [word for word in speech.as_json if word["word"] not in ("Smith", "Boston")]
    _job, recording = store(project, speech, words=("w.json", json.dumps(kept).encode()))
    found = page_of(make_member(project, "reviewer", "rita"))
    found.errors = []
    found.on("console", lambda message: found.errors.append(message.text) if message.type == "error" else None)
    found.goto(live("recording", "ward", recording.document_id))
    return found


@pytest.mark.browser
def test_a_reviewer_completes_a_recording_by_keyboard(page):
    regions = page.locator("#regions")
    left = int(regions.get_attribute("data-open"))
    assert left >= 2
    first, second, *_ = AudioRegion.objects.order_by("start")
    press(page, "n")
    expect(page.locator(".audio-region.is-selected")).to_have_attribute("data-region", str(first.pk))
    press(page, "l")
    expect(page.locator("#loop-state")).not_to_be_empty()
    press(page, "Shift+ArrowRight", "Alt+ArrowRight", "a")
    expect(regions).to_have_attribute("data-open", str(left - 1))
    region = AudioRegion.objects.get(pk=first.pk)
    moved = round(region.start - first.start, 2), round(region.end - first.end, 2)
    assert (region.decision, moved) == ("accepted", (0.1, 0.1))
    # The next part is selected and heard by itself.
    expect(page.locator(".audio-region.is-selected")).to_have_attribute("data-region", str(second.pk))
    expect(page.locator("#loop-state")).to_contain_text(f"{second.start:.2f}")
    for at in range(left - 1):
        press(page, "x")
        expect(regions).to_have_attribute("data-open", str(left - 2 - at))
    assert not AudioRegion.objects.filter(decision="").exists()
    page.locator("#transcript").focus()
    press(page, "ArrowRight")
    expect(page.locator(".audio-word.is-selected")).to_have_text("Doctor")
    press(page, "Enter")
    wait_for(lambda: page.evaluate("document.getElementById('audio').currentTime") > 0.05, what="the sound")
    # A word, and a part between two times, are muted.
    press(page, "m")
    expect(regions).to_have_attribute("data-state", re.compile("person"))
    press(page, "b")
    expect(page.locator("#mark-start")).to_be_focused()
    page.locator("#mark-start").fill("0.5")
    press(page, "Tab")
    page.keyboard.type("0.6")
    press(page, "Enter")
    wait_for(lambda: AudioRegion.objects.filter(cause="person").count() == 2, what="the second part")
    assert AudioRegion.objects.filter(cause="person", start=0.5, end=0.6).exists()
    assert page.errors == []


def drag(page, wave, x, y, *shares):
    """From a point over shares of the waveform's width."""
    page.mouse.move(x, y)
    page.mouse.down()
    for share in shares:
        page.mouse.move(x + wave["width"] * share, y, steps=5)
    page.mouse.up()


@pytest.mark.browser
def test_a_part_is_muted_by_dragging_over_the_waveform(page):
    wave = page.locator("#wave").bounding_box()
    page.locator("#wave canvas").first.wait_for()
    drag(page, wave, wave["x"] + wave["width"] * 0.90, wave["y"] + 5, 0.04, 0.06)
    expect(page.locator("#regions")).to_have_attribute("data-state", re.compile("person"))
    made = AudioRegion.objects.get(cause="person")
    length = made.recording.duration
    assert (made.decision, round(made.start / length, 1)) == ("accepted", 0.9)
    assert 0.02 < (made.end - made.start) / length < 0.1
    assert page.errors == []


@pytest.mark.browser
def test_dragging_the_end_of_a_part_moves_it_and_mutes_the_part(page):
    first = AudioRegion.objects.order_by("start").first()
    handle = page.locator(f"#wave [part~='part-{first.pk}'] [part~=region-handle-right]")
    box, wave = handle.bounding_box(), page.locator("#wave").bounding_box()
    drag(page, wave, box["x"] + box["width"] / 2, wave["y"] + 40, 0.02, 0.05)
    expect(page.locator(f".audio-region[data-region='{first.pk}']")).to_have_count(0)
    region = AudioRegion.objects.get(pk=first.pk)
    assert (region.decision, round(region.start, 2)) == ("accepted", round(first.start, 2))
    assert 0.02 < (region.end - first.end) / region.recording.duration < 0.08
    assert page.errors == []
