"""Recordings in a release: muted files in the export, Safe Harbor refused, the certificate, and audit by listening."""

import io
import json

import numpy
import pytest
import soundfile
from django.urls import reverse

from annotations.audio.services.regions import mark_region
from annotations.core.services import ServiceError
from annotations.exchange.services.label_mappings import ExportLabels
from annotations.jobs.runner import run as work
from annotations.models import (
    AudioRegion,
    AuditNote,
    AuditPlan,
    Label,
    LeakFinding,
    Recording,
    ReleasedNote,
    Span,
    StoredChunk,
    StoredFile,
)
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.projects import create_project
from annotations.release.selectors.recordings import excerpts_of
from annotations.release.services.certificates.drafting import Terms
from annotations.release.services.certificates.signing import content_of, sign
from annotations.release.services.exporting import export_release_to_path, start_release_export
from annotations.release.services.policies import policy_named, save_policy
from tests import factories as make
from tests.audio.conftest import store
from tests.worlds.released import make_release


@pytest.fixture
def clinic(db, speech):
    """A recording whose gold has the doctor and the city; the date is not labeled."""
    project = create_project(name="Ward", slug="ward", label_set_key="i2b2-2014", language="en")
    _job, recording = store(project, speech, name="anna-rossi.wav", patient="P1", margin=0.05)
    note = recording.document
    gold = make.make_set(note, "gold")
    labels = {one.code: one for one in Label.objects.filter(label_set__project=project)}
    for text, code in (("Smith", "DOCTOR"), ("Boston", "CITY")):
        start = note.text.index(text)
        Span.objects.create(annotation_set=gold, start=start, end=start + len(text), label=labels[code])
    return recording


def samples(content):
    return soundfile.read(content, dtype="int16")[0]


def silent(speech, heard, word):
    found = next(one for one in speech.as_json if one["word"] == word)
    rate = len(speech.samples) / speech.words[-1][2]
    part = slice(int((found["start"] + 0.02) * rate), int((found["end"] - 0.02) * rate))
    same = (heard[part] == speech.samples[part]).all()
    assert same or not heard[part].any()
    return not same


def test_an_export_has_the_muted_recording_under_the_note_s_neutral_name(clinic, speech, tmp_path):
    release = make_release(clinic.document.project, keep_names=False)
    out = tmp_path / "out"
    export_release_to_path(release=release, out=out, format="text")
    (wav,) = (out / "recordings").glob("*.wav")
    assert "anna" not in wav.name
    heard = samples(wav)
    assert len(heard) == len(speech.samples)
    assert [silent(speech, heard, word) for word in ("Smith", "patient", "Boston")] == [True, False, True]
    intervals = json.loads((out / "recordings" / f"{wav.stem}.intervals.json").read_text())
    assert {cause for *_bounds, cause in intervals["intervals"]} >= {"DOCTOR", "CITY"}
    manifest = json.loads((out / "release.json").read_text())
    assert manifest["voice"] == "kept"
    assert f"recordings/{wav.name}" in {file["name"] for file in manifest["files"]}
    assert "Smith" not in (out / f"{wav.stem}.txt").read_text()


def test_the_intervals_have_the_labels_that_the_export_writes(clinic, tmp_path):
    release = make_release(clinic.document.project, keep_names=False)
    label = dict(Label.objects.filter(label_set__project=release.project).values_list("code", "pk"))
    labels = ExportLabels({label["DOCTOR"]: "PERSON", label["CITY"]: ""})
    export_release_to_path(release=release, out=tmp_path / "out", format="text", labels=labels)
    (file,) = (tmp_path / "out" / "recordings").glob("*.json")
    causes = {cause for *_bounds, joined in json.loads(file.read_text())["intervals"] for cause in joined.split("+")}
    assert causes >= {"PERSON", "words"} and not causes & {"DOCTOR", "CITY"}


def test_safe_harbor_is_refused_with_the_regulation(clinic):
    with pytest.raises(ServiceError, match=r"164\.514\(b\)\(2\)\(i\)\(P\)") as error:
        make_release(clinic.document.project, policy="safe-harbor")
    assert error.value.code == "voice"


def test_a_copy_of_safe_harbor_is_refused_under_any_name(clinic, client):
    """Copied in the editor and changed, or built rule by rule."""
    project = clinic.document.project
    client.force_login(make.make_member(project, "manager"))
    url = reverse("release_policy", args=["ward", "safe-harbor"])
    form = client.get(url).context["form"]
    sent = {field.html_name: value for field in form if (value := field.value())}
    client.post(url, sent | {"action-CITY": "keep", "act": "copy", "new_name": "Ours", "new_slug": "ours"})
    rules = policy_named(project, "safe-harbor").rules
    save_policy(project=project, slug="built", name="Built", rules=rules, actor=None, new=True)
    for slug in ("ours", "built"):
        with pytest.raises(ServiceError) as error:
            make_release(project, policy=slug)
        assert error.value.code == "voice"
    assert b"HIPAA Safe Harbor" in client.get(reverse("release_policy", args=["ward", "ours"])).content
    rules = policy_named(project, "limited").rules
    assert save_policy(project=project, slug="own", name="Own", rules=rules, actor=None).basis == "limited"


def test_a_word_that_a_person_muted_as_a_name_is_a_finding_in_the_transcript(clinic, client):
    rita = make.make_member(clinic.document.project, "reviewer")
    monday = next(word for word in clinic.words if clinic.document.text[word[0] : word[1]] == "Monday")
    mark_region(recording=clinic, start=monday[2] + 0.05, end=monday[3] - 0.05, actor=rita)
    release = make_release(clinic.document.project)
    (finding,) = LeakFinding.objects.filter(note__release=release, origin="muted")
    assert clinic.document.text[finding.original_start : finding.original_end] == "Monday"
    client.force_login(make.make_member(clinic.document.project, "manager"))
    assert b"muted in the recording" in client.get(reverse("release_findings", args=["ward", release.number])).content


def test_the_certificate_and_the_page_say_that_the_voice_is_kept(clinic, client):
    release = make_release(clinic.document.project)
    certificate = sign(release=release, terms=Terms("research", "lab", None), accepted=(), actor=None, everything=True)
    content = content_of(certificate)
    biometric = next(one for one in content["identifiability"]["identifiers"] if one["letter"] == "P")
    assert biometric["status"] == "kept"
    safe_harbor = content["context"]["statements"][0]["text"]
    assert "Not met." in safe_harbor and "Voice kept" in safe_harbor
    client.force_login(make.make_member(release.project, "manager"))
    pages = [reverse("release", args=["ward", release.number]), reverse("release_policies", args=["ward"])]
    for page in (*pages, reverse("release_new", args=["ward"])):
        assert b'data-voice="kept"' in client.get(page).content


def test_erasing_the_patient_removes_the_recording_and_every_copy(clinic, client):
    release = make_release(clinic.document.project)
    manager = make.make_member(release.project, "manager")
    work(start_release_export(release=release, format="text", actor=manager).pk)
    assert StoredFile.objects.filter(kind="original").exists() and StoredFile.objects.filter(kind="release").exists()
    erase_patient(project=release.project, patient_id="P1", actor=manager)
    assert not any(table.objects.exists() for table in (Recording, AudioRegion, StoredFile, StoredChunk))


def test_an_auditor_hears_the_muted_recording_with_the_planted_leak(clinic, speech, client):
    release = make_release(clinic.document.project)
    rita = make.make_member(release.project, "reviewer")
    note = ReleasedNote.objects.get(release=release)
    start = clinic.document.text.index("Smith")
    plan = AuditPlan.objects.create(
        release=release, target=0.05, confidence=0.95, seed="s", planted_share=1, leaks_allowed=0, strata={}, looks=[],
        drawn=1,
    )  # fmt: skip
    row = AuditNote.objects.create(
        plan=plan,
        note=note,
        position=1,
        look=0,
        reader=rita,
        state="reading",
        planted_start=start,
        planted_end=start + 5,
    )
    assert excerpts_of(row, clinic) == [(0.0, clinic.duration)]
    client.force_login(rita)
    page = client.get(reverse("audit_read", args=["ward", release.number]))
    assert page.status_code == 200 and b"<audio" in page.content
    assert "media-src 'self'" in page["Content-Security-Policy"]
    url = reverse("audit_listen", args=["ward", release.number, 0])
    answer = client.get(url)
    assert "no-store" in answer["Cache-Control"]
    heard = samples(io.BytesIO(answer.content))
    assert [silent(speech, heard, word) for word in ("Smith", "Boston")] == [False, True]
    assert client.get(reverse("audit_listen", args=["ward", release.number, 1])).status_code == 404
    client.force_login(make.make_member(release.project, "reviewer"))
    assert client.get(url).status_code == 404


def test_excerpts_of_a_long_recording_are_random_and_have_the_planted_leak(clinic):
    clinic.frames = clinic.rate * 600
    row = AuditNote(plan_id=7, position=3, planted_start=7, planted_end=12)
    found = excerpts_of(row, clinic)
    assert len(found) == 3 and all(round(end - start, 6) == 20 for start, end in found)
    begin = next(word[2] for word in clinic.words if word[0] <= 7 < word[1])
    assert any(start <= begin < end for start, end in found)
    assert found == excerpts_of(row, clinic)
    assert numpy.ptp([start for start, _end in found]) > 0


def test_a_release_whose_recording_was_deleted_says_so_at_once_and_its_auditor_reads_on(clinic, client, tmp_path):
    release = make_release(clinic.document.project, keep_names=False)
    manager = make.make_member(release.project, "manager")
    note = ReleasedNote.objects.get(release=release)
    plan = AuditPlan.objects.create(
        release=release, target=0.05, confidence=0.95, seed="s", planted_share=0, leaks_allowed=0, strata={}, looks=[],
        drawn=1,
    )  # fmt: skip
    AuditNote.objects.create(plan=plan, note=note, position=1, look=0, reader=manager, state="reading")
    StoredFile.objects.filter(kind="original").delete()
    for export in (
        lambda: start_release_export(release=release, format="text", actor=manager),
        lambda: export_release_to_path(release=release, out=tmp_path / "out", format="text"),
    ):
        with pytest.raises(ServiceError, match=f"was deleted.*{note.name}.*backup") as error:
            export()
        assert error.value.code == "recording"
    assert not (tmp_path / "out").exists()
    client.force_login(manager)
    page = client.get(reverse("audit_read", args=["ward", release.number]))
    assert page.status_code == 200 and "was deleted" in page.context["lost"] and b"<audio" not in page.content
    assert page.context["lost"] in page.content.decode()
    assert client.get(reverse("audit_listen", args=["ward", release.number, 0])).status_code == 404
