"""F1 of a model on released against original text."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.domain.spans import Span
from annotations.models import Event, Release, ReleasedNote, ReleasePolicy
from models_runtime.core import registry
from tests import factories as make


class Knows:
    """Finds one name of the original and every “Gregory”."""

    revision = "k-1"

    def __init__(self, label_set):
        pass

    def predict(self, texts):
        found = []
        for text in texts:
            found.append(
                [
                    Span(text.index(name), text.index(name) + len(name), "PATIENT")
                    for name in ("Adam", "Gregory")
                    if name in text
                ]
            )
        return found


@pytest.fixture
def released(db, monkeypatch):
    kind = registry.BackendKind(title="Knows", factory=f"{__name__}.Knows", description="")
    monkeypatch.setitem(registry.BACKENDS, "knows", kind)
    monkeypatch.setattr("models_runtime.core.model_files.load_factory", lambda path: Knows)
    project = make.make_project("ward")
    policy = ReleasePolicy.objects.create(project=project, slug="surrogate", version=1, name="S", rules={})
    release = Release.objects.create(
        project=project,
        number=1,
        set_spec="gold",
        policy=policy,
        state="prepared",
        figures={"surrogates": {"entities": 2}},
    )
    for text, new, pieces in (
        ("Adam is well.", "Gregory is well.", [[0, 4, 0, 7, "PATIENT", "surrogate"]]),
        ("Adam is ill.", "Nora is ill.", [[0, 4, 0, 4, "PATIENT", "surrogate"]]),
    ):
        note = make.make_note(project, text)
        ReleasedNote.objects.create(
            release=release, document=note, name=note.name, state="done", text=new, pieces=pieces
        )
    return release


def scores(*words):
    out = io.StringIO()
    call_command("surrogate_scores", "ward", "--release", "1", "--run-backend", "knows", *words, stdout=out)
    return out.getvalue()


def test_both_f1_and_their_difference_are_stored_in_the_release(released):
    found = json.loads(scores("--json"))
    assert (found["original"], found["released"], found["notes"]) == (1.0, pytest.approx(2 / 3), 2)
    assert found["difference"] == pytest.approx(-1 / 3)
    released.refresh_from_db()
    assert released.figures["surrogates"] == {"entities": 2, "f1": found}
    assert Event.objects.get(verb="surrogates.scored").data == {"release": 1, "backend": "knows", "notes": 2}
    assert "F1 original: 1.0000, released: 1.0000" in scores("--notes", "1")


def test_a_signed_release_stays_as_it_is(released):
    Release.objects.update(state="signed")
    with pytest.raises(CommandError, match="nobody has signed"):
        scores()
    with pytest.raises(CommandError, match="no release 7"):
        scores("--release", "7")
    Release.objects.update(state="prepared")
    with pytest.raises(CommandError, match="nothing"):
        scores("--run-backend", "nothing")
