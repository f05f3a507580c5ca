"""Parts of a recording beside its words: deciding, marking, a model's verdicts, and who hears it."""

import json

import pytest
from django.urls import reverse

from annotations.audio.selectors import muted_intervals, turns_of
from annotations.audio.services.regions import decide_region, mark_region
from annotations.core.services import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import Assignment, AudioRegion, DocumentSource, Event, JobState
from models_runtime.backends.llm.servers import read_servers
from models_runtime.speech.services.starting import start_judging
from tests.audio.conftest import store
from tests.backends.llm.scripted import note_of
from tests.factories import change, make_author, make_member, make_note, make_project, make_set, reread
from tests.refining.judging.world import ward
from tests.worlds.checks import refused
from tests.worlds.queue import worked

pytestmark = pytest.mark.django_db


@pytest.fixture
def heard(speech):
    """A recording in which two words were not transcribed."""
    project = make_project("ward")
    kept = [word for word in speech.as_json if word["word"] not in ("Smith", "Boston")]
    _job, recording = store(project, speech, words=("w.json", json.dumps(kept).encode()))
    return recording


def inside(recording, seconds):
    return any(one.start <= seconds < one.end for one in muted_intervals(recording, []))


def test_a_person_decides_extends_and_marks(heard):
    mia = make_member(heard.document.project, "reviewer")
    smith, boston = heard.regions.filter(end__gt=0.5).order_by("start")[:2]
    middle = (smith.start + smith.end) / 2
    assert inside(heard, middle)
    about = {"sort": "noise", "actor": mia}
    decide_region(region=smith, start=smith.start, end=smith.end, decision="rejected", **about)
    assert not inside(heard, middle)
    decide_region(region=boston, start=boston.start - 0.3, end=boston.end, decision="accepted", **about)
    assert inside(heard, boston.start - 0.4)
    decide_region(region=smith, start=smith.start, end=smith.end, decision="", sort="", actor=mia)
    smith.refresh_from_db()
    assert inside(heard, middle) and smith.decided_by is None
    made = mark_region(recording=heard, start=0.01, end=0.02, actor=mia)
    assert (made.cause, made.decision, made.decided_by) == ("person", "accepted", mia)
    verbs = Event.objects.filter(verb="audio_region.changed").values_list("data", flat=True)
    assert [one["decision"] for one in verbs] == ["rejected", "accepted", "", "accepted"]


def test_a_part_of_a_recording_that_was_erased_meanwhile_is_refused(heard):
    mia = make_member(heard.document.project, "reviewer")
    heard.document.delete()
    with refused("gone"):
        mark_region(recording=heard, start=0.01, end=0.02, actor=mia)


def test_undo_removes_a_part_marked_by_hand_and_mutes_one_that_was_kept_audible(heard, client_of):
    client, note = client_of("reviewer"), heard.document
    heard.regions.all().delete()
    made = mark_region(recording=heard, start=0.5, end=0.6, actor=make_member(note.project, "reviewer", "mia"))
    url, found = reverse("region_decide", args=["ward", note.pk, made.pk]), []
    for decision in ("rejected", "", ""):
        page = client.post(url, {"start": 0.5, "end": 0.6, "decision": decision}, headers={"HX-Request": "true"})
        assert (page.status_code, page.context["problem"]) == (200, "")
        found.append((inside(heard, 0.55), heard.regions.count()))
    assert found == [(False, 1), (True, 1), (False, 0)]


@pytest.mark.parametrize(("start", "end"), [(1, 1), (2, 1), (99, 100), (float("nan"), 1)])
def test_wrong_bounds_are_refused(heard, start, end):
    mia = make_member(heard.document.project, "reviewer")
    with pytest.raises(ServiceError) as error:
        mark_region(recording=heard, start=start, end=end, actor=mia)
    assert error.value.code == "bounds"


def test_a_language_model_sorts_gaps_and_only_its_harmless_ones_stay_audible(heard, settings):
    smith, boston = heard.regions.filter(cause="gap", end__gt=0.5).order_by("start")[:2]
    asked, prompts = [], []

    def script(body):
        prompts.append(body["messages"][0]["content"])
        asked.append(note_of(body))
        keys = [part.partition(")")[0] for part in asked[-1].split("<human_timestamp_(")[1:]]
        said = dict.fromkeys(keys, "NON-PHI")
        said[keys[-1]] = "FISH"  # no type of the list
        said[keys[0]] = "DOCTOR"
        return json.dumps(said)

    heard.regions.exclude(pk__in=[smith.pk, boston.pk]).delete()
    extra = AudioRegion.objects.create(recording=heard, start=2.9, end=3.0, cause="gap")
    change(heard.document, language="it")
    with ward(settings, script):
        job = start_judging(recording=heard, given={"server": "ward", "model": "one"}, may_leave=False, actor=None)
        work(job.pk)
    assert reread(job).state == JobState.DONE, job.error
    found = list(heard.regions.order_by("start").values_list("verdict", "sort"))
    assert found == [("DOCTOR", "name"), ("NON-PHI", "noise"), ("UNKNOWN", "")]
    assert job.result["harmless"] == 1
    assert [inside(heard, (one.start + one.end) / 2) for one in (smith, boston, extra)] == [True, False, True]
    assert "Doctor <human_timestamp" in asked[0]
    assert "Giudichi" in prompts[0]


def test_a_manager_asks_a_model_from_the_page_and_consents_to_sending_the_transcript_away(heard, settings, client_of):
    client = client_of("manager")
    url = reverse("gaps_judge", args=["ward", heard.document_id])
    settings.LLM_SERVERS = read_servers({"DEIDREVIEW_LLM_SERVERS": "cloud=http://llm.example.org/v1",
                                         "DEIDREVIEW_LLM_CLOUD_MODELS": "one"})  # fmt: skip
    assert b"cloud: one" in client.get(reverse("recording", args=["ward", heard.document_id])).content
    assert "/jobs/" not in client.post(url, {"judge": "cloud one"}).url
    assert "/jobs/" in client.post(url, {"judge": "cloud one", "may_leave": "on"}).url


def test_an_unreachable_model_changes_nothing(heard, settings):
    with ward(settings, lambda body: "{}"):
        job = start_judging(recording=heard, given={"server": "ward"}, may_leave=False, actor=None)
    worked(job)
    assert job.state != JobState.DONE
    assert set(heard.regions.values_list("verdict", flat=True)) == {""}


def test_speakers_are_turns(speech):
    said = [{**word, "speaker": "A" if at < 4 else "Dr <b>"} for at, word in enumerate(speech.as_json)]
    _job, recording = store(make_project("ward"), speech, words=("w.json", json.dumps(said).encode()))
    turns = turns_of(recording, list(recording.regions.all()))
    assert [turn.speaker for turn in turns] == ["A", "Dr <b>"]
    assert "".join(part.text for part in turns[0].parts) == "DoctorSmithsawthe"


@pytest.fixture
def client_of(heard, client):
    def signed_in(role):
        client.force_login(make_member(heard.document.project, role))
        return client

    return signed_in


def test_an_annotator_hears_an_assigned_recording_and_sees_nobody_else_s_work(heard, speech, client):
    note = heard.document
    bea = make_member(note.project, "annotator", "bea")
    make_set(note, make_member(note.project, "annotator", "ann"), [(0, 6, "DOCTOR")], submitted=True)
    run = make_set(note, make_author(note.project, kind="run", name="rules-1"), [(0, 6, "DOCTOR")], submitted=True)
    urls = [reverse(name, args=["ward", note.pk]) for name in ("recording", "recording_file")]
    client.force_login(bea)
    assert [client.get(url).status_code for url in urls] == [404, 404]
    Assignment.objects.create(project=note.project, document=note, user=bea)
    own = make_set(note, bea, [(7, 10, "DATE")])
    assert [client.get(url).status_code for url in urls] == [200, 200]
    page = client.get(urls[0], {"set": run.pk})
    assert (page.context["sets"], page.context["chosen"]) == ([own], None)
    state = json.loads(client.get(urls[0]).context["state"])
    assert (state["regions"], [cause for _start, _end, cause in state["intervals"]]) == ([], ["DATE"])
    assert b"audio-gap" not in page.content and b"data-region" not in page.content
    assert client.get(reverse("note_data", args=["ward", note.pk])).json()["recording"] == urls[0]
    other = make_note(note.project, annotators=[bea])
    assert client.get(reverse("note_data", args=["ward", other.pk])).json()["recording"] == ""


def test_a_decision_that_the_page_has_not_shown_is_not_overwritten(heard, client_of):
    client, note, region = client_of("reviewer"), heard.document, heard.regions.first()
    url = reverse("region_decide", args=["ward", note.pk, region.pk])
    data = {"start": region.start, "end": region.end, "seen": region.moment}
    client.post(url, data | {"decision": "accepted"}, headers={"HX-Request": "true"})
    answer = client.post(url, data | {"decision": "rejected"}, headers={"HX-Request": "true"})
    assert answer.context["problem"] and heard.regions.get(pk=region.pk).decision == "accepted"
    seen = heard.regions.get(pk=region.pk).moment
    client.post(url, data | {"decision": "rejected", "seen": seen}, headers={"HX-Request": "true"})
    assert heard.regions.get(pk=region.pk).decision == "rejected"
    for _click in range(2):
        client.post(reverse("region_mark", args=["ward", note.pk]), {"start": "0.1", "end": "0.2"})
    assert heard.regions.filter(cause="person").count() == 1


def test_hearing_any_part_of_a_recording_is_recorded_once_in_an_hour(heard, client_of):
    client, url = client_of("viewer"), reverse("recording_file", args=["ward", heard.document_id])
    for first in (1, 500, 1000):
        client.get(url, headers={"Range": f"bytes={first}-"})
    assert Event.objects.filter(verb="note.read").count() == 1
    DocumentSource.objects.update(original=None)
    assert client.get(url).status_code == 404


@pytest.mark.parametrize(
    ("header", "status", "bounds"),
    [
        (None, 200, (0, None)), ("bytes=0-9", 206, (0, 10)), ("bytes=44-", 206, (44, None)),
        ("bytes=-5", 206, (-5, None)),
        ("bytes=99999999-", 416, None), ("bytes=-0", 416, None),
        (f"bytes={'9' * 5000}-", 200, (0, None)), ("lines=1-2", 200, (0, None)), ("bytes=-", 200, (0, None)),
    ],
)  # fmt: skip
def test_the_recording_is_sent_in_ranges_and_never_stored(heard, speech, client_of, header, status, bounds):
    url = reverse("recording_file", args=["ward", heard.document_id])
    response = client_of("viewer").get(url, headers={"Range": header} if header else {})
    assert response.status_code == status
    if bounds:
        content = b"".join(response.streaming_content)
        assert content == speech.file().getvalue()[slice(*bounds)]
        assert int(response["Content-Length"]) == len(content)
        assert "no-store" in response["Cache-Control"]
        assert Event.objects.filter(verb="note.read").exists()


def test_the_page_shows_what_a_set_mutes(heard, client_of):
    note = heard.document
    run = make_member(note.project, "annotator", "ann")
    made = make_set(note, run, [(0, 6, "DOCTOR")], submitted=True)
    client = client_of("reviewer")
    state = json.loads(client.get(reverse("recording", args=["ward", note.pk]), {"set": made.pk}).context["state"])
    assert any("DOCTOR" in cause for _start, _end, cause in state["intervals"])
    region = heard.regions.first()
    url = reverse("region_decide", args=["ward", note.pk, region.pk])
    data = {"start": region.start, "end": region.end, "decision": "rejected", "sort": "noise"}
    part = client.post(f"{url}?set={made.pk}", data, headers={"HX-Request": "true"})
    assert part.status_code == 200 and b'id="regions"' in part.content
    assert heard.regions.get(pk=region.pk).sort == "noise"
    assert client.post(url, data | {"end": "0"}, headers={"HX-Request": "true"}).context["problem"]


def test_the_import_page_starts_the_job_and_refuses_what_is_no_recording(speech, client_of):
    client = client_of("manager")
    url = reverse("recording_import", args=["ward"])
    file = speech.file()
    file.name = "second.wav"
    answer = client.post(url, {"file": file, "recognizer": "pocketsphinx", "margin": "100"})
    assert answer.status_code == 302 and "/jobs/" in answer.url
    file = speech.file()
    file.name = "visit.wav"
    assert client.post(url, {"file": file, "recognizer": "pocketsphinx"}).status_code == 422


def test_pages_say_what_a_base_installation_lacks(client_of, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "soundfile", None)
    client = client_of("manager")
    assert b"data-lacking" in client.get(reverse("recording_import", args=["ward"])).content
    assert b"setup-audio" in client.get(reverse("recordings", args=["ward"])).content
