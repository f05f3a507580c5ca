"""F1 of a model on released against original text."""

from uuid import uuid4

import pytest
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.jobs.runner import run as run_job
from annotations.models import Event, Job, JobState, Release, ReleasedNote, ReleasePolicy
from annotations.release.services.starting import enqueue_job
from annotations.text.spans import Span
from models_runtime.core import registry
from models_runtime.refining.jobs.model_scores import compare, store
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.queue import worked
from tests.worlds.released import make_release

RULES = {
    "PATIENT": {"kind": "name", "action": "surrogate", "numbered": False},
    "RELATIVE": {"kind": "family", "action": "mask", "numbered": False},
}


class Knows:
    """Finds one name of the original and every “Gregory”."""

    revision = "k-1"

    def __init__(self, label_set):
        pass

    def predict(self, texts):
        names = ("Adam", "Gregory")
        return [
            [Span(text.index(name), text.index(name) + len(name), "PATIENT") for name in names if name in text]
            for text in texts
        ]


@pytest.fixture
def released(db, monkeypatch):
    kind = registry.BackendKind(title="Knows", factory=f"{__name__}.Knows", description="")
    monkeypatch.setitem(registry.BACKENDS, "knows", kind)
    monkeypatch.setattr("models_runtime.core.model_files.load_factory", lambda path: Knows)
    project = make.make_project("ward")
    policy = ReleasePolicy.objects.create(project=project, slug="surrogate", version=1, name="S", rules=RULES)
    release = Release.objects.create(
        project=project, number=1, set_spec="gold", policy=policy, state="prepared",
        figures={"surrogates": {"entities": 2}},
    )  # fmt: skip
    both = [[0, 4, 0, 4, "PATIENT", "surrogate"], [13, 16, 13, 18, "RELATIVE", "mask"]]
    for text, new, pieces in (
        ("Adam is well.", "Gregory is well.", [[0, 4, 0, 7, "PATIENT", "surrogate"]]),
        ("Adam is ill, son too.", "Nora is ill, [KIN] too.", both),
    ):
        note = make.make_note(project, text)
        about = {"document": note, "name": note.name, "state": "done", "text": new, "pieces": pieces}
        ReleasedNote.objects.create(release=release, **about)
    return release


def test_both_f1_and_their_difference_are_stored_in_the_release(released):
    found = store(compare(released, "knows"), None)
    assert (found["original"], found["released"], found["notes"]) == (1.0, pytest.approx(2 / 3), 2)
    assert found["difference"] == pytest.approx(-1 / 3)
    rates = {"spans": 2, "original": 1.0, "released": found["released"], "difference": found["difference"]}
    assert (found["labels"], found["left_out"]) == ({"PATIENT": rates}, ["RELATIVE"])
    assert make.reread(released).figures["surrogates"] == {"entities": 2, "f1": found}
    assert Event.objects.get(verb="surrogates.scored").data == {"release": 1, "backend": "knows", "notes": 2}


@pytest.fixture
def manager(released, sign_in, no_redis):
    return sign_in(make.make_member(released.project, "manager", "mia"))


def start(client, backend="knows"):
    """The page to which starting leads, and its address."""
    data = {"backend": backend, "token": "6d2f"}
    answer = client.post(reverse("surrogate_scores_start", args=["ward", 1]), data, follow=True)
    return answer.content.decode(), answer.redirect_chain[-1][0]


def test_the_page_of_a_release_starts_the_comparison_and_shows_it(released, manager):
    page = reverse("release", args=["ward", 1])
    assert "Compare a model on originals and surrogates" in check_page(manager.get(page))
    _html, address = start(manager)
    assert start(manager)[1] == address, "a double click starts one job"
    job = worked(Job.objects.get())
    assert (job.state, job.result["release"], job.result["original"]) == (JobState.DONE, 1, 1.0)
    assert "0.67" in check_page(manager.get(address))
    html = check_page(manager.get(page))
    assert "-0.33" in html and "Knows" in html and Event.objects.get(verb="surrogates.scored").actor.username == "mia"


def test_what_can_not_be_compared_is_said(released, manager):
    assert "There is no backend" in start(manager, "nothing")[0] and not Job.objects.exists()
    Release.objects.update(state="signed")
    assert "Compare a model" not in check_page(manager.get(reverse("release", args=["ward", 1])))
    assert "nobody has signed" in start(manager)[0]


def test_figures_of_texts_that_have_changed_meanwhile_are_not_stored(released):
    found = compare(released, "knows")
    Release.objects.update(revision=released.revision + 1)
    with pytest.raises(ServiceError, match="have changed"):
        store(found, None)
    assert "f1" not in make.reread(released).figures["surrogates"]


def test_the_f1_of_texts_that_were_prepared_again_is_dropped_and_the_page_says_so(clinic, sign_in):
    release = make_release(clinic.project, clinic.mia, "surrogate")
    figures = release.figures["surrogates"] | {"f1": {"backend": "knows", "notes": 3, "original": 1.0}}
    for _time in range(2):
        whole = release.figures | {"surrogates": figures}
        Release.objects.filter(pk=release.pk).update(state="preparing", figures=whole)
        run_job_again(release)
        release.refresh_from_db()
        figures = release.figures["surrogates"]
        assert "f1" not in figures and figures["f1_dropped"] == {"backend": "knows"}
    page = reverse("release", args=["covid", release.number])
    assert "The F1 of knows was dropped" in check_page(sign_in(clinic.mia).get(page))
    store(compare(release, "rules"), clinic.mia)
    assert "dropped" not in check_page(sign_in(clinic.mia).get(page))


def run_job_again(release):
    release.job = enqueue_job(release, uuid4().hex, None, release.note_count)
    release.save(update_fields=["job"])
    run_job(release.job.pk)
