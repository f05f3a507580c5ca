"""Pages of releases: the list, making one with a preview, one release and its notes; who makes the surrogates."""

import re

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotations.core.services import NOTE_READ
from annotations.jobs.runner import run as run_job
from annotations.models import Event, Job, JobState, Label, Release, ReleasePolicy, SurrogateEntity
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.settling import settle
from tests import factories as make
from tests.release.conftest import release_command
from tests.release.surrogates.test_language_model import model
from tests.worlds.checks import check_page

__all__ = ["model"]


RELEASES, NEW = reverse("releases", args=["covid"]), reverse("release_new", args=["covid"])


def url(name: str, *args: object) -> str:
    return reverse(name, args=["covid", 1, *args])


def form(**about: object) -> dict:
    token = "6f0c6d5e-0000-4000-8000-000000000009"
    return {"sets": ["gold"], "policy": "mask:1", "act": "start", "token": token, **about}


def test_the_list_shows_state_and_open_findings(clinic, sign_in):
    client = sign_in(clinic.mia)
    html = check_page(client.get(RELEASES))
    assert "Publication mask" in html
    assert html.partition(f'<a href="{url("release_findings")}">')[2].split("<")[0].strip() == "3"
    for page in (RELEASES, NEW, url("release_findings")):
        html = check_page(client.get(page)).lower()
        assert f'href="{reverse("known", args=["covid"])}">known identifiers<' in html
    Release.objects.all().delete()
    assert f'href="{NEW}"' in check_page(client.get(RELEASES))
    empty = sign_in(make.make_member(make.make_project("empty"), "manager"))
    check_page(empty.get(reverse("release_new", args=["empty"])))


def test_a_wrong_form_is_refused(clinic, sign_in):
    client = sign_in(clinic.mia)
    cases = [("sets", []), ("sets", ["gold:7"]), ("policy", ""), ("expires_on", "2020-01-01"), ("purpose", "x" * 301)]
    for field, wrong in cases:
        response = client.post(NEW, form(**{field: wrong}))
        assert response.status_code == 422 and list(response.context["form"].errors) == [field]
    check_page(response)
    assert Release.objects.count() == 1


def test_the_page_asks_once_for_the_kind_of_a_label_of_ones_own(clinic, sign_in):
    Label.objects.filter(pk=clinic.labels["CITY"].pk).update(code="TOWN", name="Town")
    client = sign_in(clinic.mia)
    assert 'name="kind-TOWN"' in check_page(client.get(NEW))
    shown = {}
    for kind in ("", "country"):
        sent = form(policy="limited:1", act="preview", **{"kind-TOWN": kind})
        shown[kind] = check_page(client.post(NEW, sent, headers={"HX-Request": "true"}), fragment=True)
    assert ">[CITY]</a>" in shown[""] and ">[CITY]</a>" not in shown["country"]
    assert not ReleasePolicy.objects.filter(slug="limited").exists()
    assert client.post(NEW, form(policy="limited:1", **{"kind-TOWN": "boat"})).status_code == 422
    about = {"purpose": "Research", "recipient": "A university", "expires_on": "2099-01-01", "kind-TOWN": "country"}
    first, second = (client.post(NEW, form(policy="limited:1", **about)) for _click in range(2))
    assert first.url == second.url and Release.objects.count() == 2
    release = Release.objects.get(number=2)
    assert release.policy.rules["TOWN"] == {"kind": "country", "action": "keep", "numbered": False}
    assert (release.purpose, release.recipient, str(release.expires_on)) == ("Research", "A university", "2099-01-01")
    assert "kind-TOWN" not in check_page(client.get(NEW))


def test_the_preview_shows_both_texts_and_the_findings(clinic, sign_in):
    client = sign_in(clinic.mia)
    before = Event.objects.filter(verb=NOTE_READ).count()
    html = check_page(client.post(NEW, form(act="preview"), headers={"HX-Request": "true"}), fragment=True)
    assert "Note 1 of 3" in html and ">Mario Rossi</a>" in html and ">[PATIENT]</a>" in html
    assert '<mark class="leak" title="Found by the leak gate">Rossi</mark>' in html
    read = Event.objects.filter(verb=NOTE_READ)
    assert read.count() == before + 1 and read.latest("id").data == {"what": "release preview"}
    third = clinic.notes[2].pk
    html = check_page(client.post(NEW, form(act="preview", note=third), headers={"HX-Request": "true"}), fragment=True)
    assert "Note 3 of 3" in html and 'class="leak"' not in html
    assert "disabled" in html.split('id="preview-next"')[1].split(">")[0]
    # Without scripts its buttons send the form, which keeps what was typed.
    html = check_page(client.post(NEW, form(act="", note=clinic.notes[1].pk, purpose="A purpose")))
    assert "Note 2 of 3" in html and 'value="A purpose"' in html and Release.objects.count() == 1


def test_the_page_shows_no_figures_until_the_job_has_computed_them(clinic, sign_in):
    """All notes are prepared, and the job still counts them: the page goes on loading its part again."""
    release = clinic.release
    Release.objects.filter(pk=release.pk).update(figures={"surrogates": {}}, content_hash="")
    Job.objects.filter(pk=release.job_id).update(state=JobState.RUNNING)
    path = url("release")
    html = check_page(sign_in(clinic.mia).get(path))
    assert f'hx-get="{path}"' in html and "What was done" not in html
    Job.objects.filter(pk=release.job_id).update(state=JobState.DONE)
    settle(release=release)
    html = check_page(sign_in(clinic.mia).get(path, headers={"HX-Request": "true"}))
    assert f'hx-get="{path}"' not in html and "What was done" in html
    answer, _folds, folded = html.partition('<div class="card folds">')
    assert re.search(r"What was done: \d+ spans in \d+ notes?<", answer) and "Spans by label" not in answer
    assert folded.index("<details>") < folded.index("Spans by label")
    # The header doesn't count the job any more.
    assert 'id="job-indicator" hx-swap-oob="true"' in html and "job is running" not in html


def test_the_page_says_first_whether_it_may_be_signed(clinic, sign_in):
    client, findings = sign_in(clinic.mia), 'href="' + url("release_findings")
    title = re.compile(r'<h2 id="verdict-title">([^<]*)</h2>')

    def shown(**query):
        return check_page(client.get(url("release"), query))

    html = shown()
    assert title.search(html)[1] == "Not ready to sign. 3 findings wait for a decision. Decide them, then sign."
    assert findings in html and '<details id="export">' in html and '<details open id="export">' in shown(open="export")
    assert '<details open id="notes">' in shown(page=1) and '<details id="notes">' in html
    answer_chosen(release=clinic.release, answer="allow", actor=clinic.mia)
    assert title.search(shown())[1].startswith("Ready to sign, without an audit: ")
    Release.objects.update(state="withdrawn")
    assert title.search(shown()) is None


def test_a_released_note_is_beside_its_original(clinic, sign_in):
    client, note = sign_in(clinic.mia), clinic.notes[0]
    html = check_page(client.get(url("release_note", note.pk)))
    assert 'id="o0" data-label="PATIENT">Mario Rossi</a>' in html
    assert 'href="#o0"' in html and 'href="#n0"' in html
    finding = clinic.release.notes.get(document=note).findings.get()
    assert f'<mark class="leak" id="f{finding.pk}"' in html
    event = Event.objects.filter(verb=NOTE_READ).latest("id")
    assert (event.document_id, event.data) == (note.pk, {"what": "released note"})
    assert url("release_note", clinic.notes[1].pk) in html


@pytest.mark.parametrize("state", ["prepared", "signed", "withdrawn"])
def test_figures_after_an_erasure_are_those_of_the_notes_that_are_left(clinic, sign_in, state):
    answer_chosen(release=clinic.release, answer="allow", actor=clinic.mia)
    clinic.release.refresh_from_db()
    before = clinic.release.figures
    assert (before["notes"], before["patients"], before["spans"], before["leaks"]["allowed"]) == (3, 2, 9, 3)
    Release.objects.update(state=state)
    erase_patient(project=clinic.project, patient_id="P-1", actor=clinic.mia)
    release = Release.objects.get()
    figures = release.figures
    assert (figures["notes"], figures["patients"], figures["spans"], figures["years"]) == (1, 1, 3, None)
    assert (figures["characters"], release.span_count) == (len(clinic.notes[2].text), 3)
    assert figures["spans_by_label"] == {"AGE": 1, "CITY": 1, "PATIENT": 1}
    assert figures["leaks"] == {"found": 0, "replaced": 0, "allowed": 0, "open": 0}
    client = sign_in(clinic.mia)
    assert "2 notes erased since</small>" in check_page(client.get(url("release")))
    assert '<span>1 <span class="tag warn">2 erased since</span></span>' in check_page(client.get(RELEASES))
    if state == "prepared":
        # Counting all notes again gives the same figures.
        assert settle(release=release).figures | {"text_hash": ""} == figures | {"text_hash": ""}
    else:
        assert release.figures["text_hash"] == before["text_hash"]


def test_an_erased_note_that_was_held_back_is_no_longer_counted(clinic):
    assert (clinic.release.figures["notes"], clinic.release.figures["held_back"]) == (1, 2)
    delete_note(project=clinic.project, note=clinic.notes[1].pk, actor=clinic.mia)
    figures = Release.objects.get().figures
    assert (figures["notes"], figures["held_back"], figures["patients"], figures["leaks"]["open"]) == (1, 1, 1, 1)


# ── Who makes the surrogates, on the page and by the command ──────────────────────────────────────────────────────────
CLOUD = {"policy": "surrogate:1", "maker": "cloud/large"}


def test_a_listed_model_makes_the_surrogates(clinic, model, sign_in):
    client = sign_in(clinic.mia)
    html = check_page(client.get(NEW))
    assert "Rules on this machine" in html and "small on ward" in html and "llm.example.org, another machine" in html
    client.post(NEW, form(policy="surrogate:1", maker="ward/small"))
    release = Release.objects.get(number=2)
    assert release.surrogate_maker == {"kind": "llm", "server": "ward", "model": "small"} and release.job.queue == "llm"
    run_job(release.job.pk)
    assert {"first", "entities", "taken"} <= set(model.asked)
    assert "small on ward" in check_page(client.get(reverse("release", args=["covid", 2])))


def test_text_leaves_the_machine_only_with_consent(clinic, model, sign_in):
    client = sign_in(clinic.mia)
    response = client.post(NEW, form(**CLOUD))
    assert response.status_code == 422 and "may be sent" in check_page(response)
    assert client.post(NEW, form(policy="surrogate:1", maker="ward/huge")).status_code == 422
    assert Release.objects.count() == 1
    client.post(NEW, form(**CLOUD, may_leave="yes"))
    assert Release.objects.get(number=2).surrogate_maker["server"] == "cloud"
    # A policy without surrogates needs no model.
    client.post(NEW, form(maker="cloud/large", token="6f0c6d5e-0000-4000-8000-000000000008"))
    assert Release.objects.get(number=3).surrogate_maker == {}


def test_the_command_takes_a_model_and_the_consent(ward, model, tmp_path):
    asked = ("ward", "--set", "gold", "--policy", "surrogate", "--out", tmp_path / "out", "--surrogates-by")
    with pytest.raises(CommandError, match=r"llm\.example\.org"):
        release_command(*asked, "cloud/large")
    assert not Release.objects.filter(project=ward.project).exists()
    release_command(*asked, "ward/small", "--decide", "replace")
    assert "small" in {name.split()[0] for name in SurrogateEntity.objects.values_list("made_by", flat=True)}
