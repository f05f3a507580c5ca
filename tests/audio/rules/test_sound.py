"""Muted copies: exactly zero inside, bit-identical outside, without tags, whatever the format."""

import io

import numpy
import pytest
import soundfile

from annotations.audio.rules import sound
from annotations.audio.rules.intervals import Interval
from annotations.audio.rules.sound import AudioError, decoded, facts_of, peaks_of, tags_of, write_muted

RATE = 8000
SOUND = (numpy.random.default_rng(7).integers(-9000, 9000, (RATE * 3, 2)) / 32768).astype("float64")


def file_of(format, subtype, channels=1):
    out = io.BytesIO()
    with soundfile.SoundFile(out, "w", samplerate=RATE, channels=channels, format=format, subtype=subtype) as sink:
        if subtype not in ("MPEG_LAYER_III", "ULAW"):
            sink.title, sink.artist = "Anna Rossi", "Dr. Bianchi"
        sink.write(SOUND[:, :channels])
    return out


@pytest.mark.parametrize(
    ("format", "subtype", "channels"),
    [
        ("WAV", "PCM_16", 2), ("WAV", "PCM_U8", 1), ("WAV", "PCM_24", 1), ("WAV", "FLOAT", 1), ("WAV", "DOUBLE", 1),
        ("WAV", "ULAW", 1), ("FLAC", "PCM_16", 2), ("FLAC", "PCM_24", 1), ("FLAC", "PCM_S8", 1), ("OGG", "VORBIS", 1),
        ("MP3", "MPEG_LAYER_III", 1),
    ],
)  # fmt: skip
def test_muting_changes_nothing_else(format, subtype, channels):
    source, out = file_of(format, subtype, channels), io.BytesIO()
    facts = facts_of(source)
    write_muted(source, out, [Interval(0.5, 1.00001, "X"), Interval(2.9, 99, "Y")])
    before = numpy.concatenate(list(decoded(source, facts.written[0])))
    after = numpy.concatenate(list(decoded(out, facts.written[0])))
    inside = numpy.zeros(len(before), bool)
    inside[RATE // 2 : RATE + 1] = inside[int(2.9 * RATE) :] = True
    assert len(before) == len(after)
    assert not after[inside].any()
    assert (after[~inside] == before[~inside]).all()
    assert before[inside].any()
    made = facts_of(out)
    assert (made.format, made.rate, made.channels) == ("FLAC" if format == "FLAC" else "WAV", RATE, channels)
    assert b"Rossi" not in out.getvalue()
    assert not tags_of(out)


def test_a_tone_and_an_excerpt():
    source, out, part = file_of("WAV", "PCM_16"), io.BytesIO(), io.BytesIO()
    write_muted(source, out, [Interval(1, 2, "X")], tone=True)
    after = numpy.concatenate(list(decoded(out, "int16")))[:, 0]
    assert numpy.abs(numpy.fft.rfft(after[RATE : 2 * RATE])).argmax() == 1000
    write_muted(source, part, [Interval(1, 2, "X")], start=RATE // 2, end=RATE * 2)
    some = numpy.concatenate(list(decoded(part, "int16")))[:, 0]
    assert len(some) == RATE * 3 // 2
    assert some[: RATE // 2].any()
    assert not some[RATE // 2 :].any()


def test_peaks_are_twenty_a_second():
    source = file_of("WAV", "PCM_16")
    peaks, frames = peaks_of(source, facts_of(source))
    assert (len(peaks), frames) == (60, RATE * 3)
    assert 20 < min(peaks) <= max(peaks) < 30


@pytest.mark.parametrize("content", [b"", b"RIFF", b"x" * 1000])
def test_what_is_no_recording_is_refused(content):
    with pytest.raises(AudioError):
        facts_of(io.BytesIO(content))


def unknown_length():
    """A FLAC file as a stream has it: the 36 bits that count its samples are zero."""
    data = bytearray(file_of("FLAC", "PCM_16").getvalue())
    data[21] &= 0xF0
    data[22:26] = bytes(4)
    return io.BytesIO(data)


def of_shape(rate, channels):
    out = io.BytesIO()
    soundfile.write(out, numpy.zeros((10, channels)), rate, format="WAV")
    return out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (unknown_length(), "how long"),
        (of_shape(2**31 - 1, 1), "samples a second"),
        (of_shape(7, 1), "samples a second"),
        (of_shape(RATE, 33), "channels"),
    ],
)
def test_recordings_of_impossible_shapes_are_refused(content, reason):
    with pytest.raises(AudioError, match=reason):
        facts_of(content)


def test_a_file_that_is_longer_than_it_says_is_refused_while_it_is_decoded(monkeypatch):
    source = file_of("WAV", "PCM_16")
    facts = facts_of(source)
    monkeypatch.setattr(sound, "MOST_SECONDS", 2)
    with pytest.raises(AudioError):
        peaks_of(source, facts)


def test_a_copy_that_is_too_large_for_wav_is_rf64(monkeypatch):
    monkeypatch.setattr(sound, "LARGEST_WAV", 1000)
    source, out = file_of("WAV", "PCM_16"), io.BytesIO()
    write_muted(source, out, [])
    assert facts_of(out).format == "RF64"
    assert (numpy.concatenate(list(decoded(out, "int16"))) == numpy.concatenate(list(decoded(source, "int16")))).all()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_ends_the_copy_with_a_sentence():
    class FullDisk(io.BytesIO):
        def write(self, data):
            if self.tell() + len(data) > 10_000:
                raise OSError(28, "No space left on device")
            return super().write(data)

    with pytest.raises(AudioError, match="disk"):
        write_muted(file_of("WAV", "PCM_16"), FullDisk(), [])
