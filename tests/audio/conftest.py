"""What the tests of this feature share with others."""

import io
import json

import pytest

from annotations.audio.services.starting import start_recording
from annotations.models import Recording
from fixtures.quality.speech import speak
from tests.worlds.queue import worked

SAID = "Doctor Smith saw the patient in Boston on Monday"


@pytest.fixture(scope="session")
def speech():
    return speak(SAID)


def store(project, speech, name="visit.wav", words=True, run=True, **options):
    """Store a recording by its job. Return the job, and the recording if it became a note."""
    given = ("words.json", json.dumps(speech.as_json).encode()) if words is True else words or None
    content = io.BytesIO(speech.file().getvalue())
    job = start_recording(project=project, name=name, content=content, actor=None, words=given, **options)
    if run:
        worked(job)
    return job, Recording.objects.filter(document__project=project).order_by("-pk").first()
