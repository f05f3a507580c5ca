"""Decisions about the findings of the leak gate, and preparing a release again after edits of surrogates."""

import pytest
from django.urls import reverse

from annotations.core.sealing import project_key
from annotations.jobs.runner import run as work
from annotations.models import Event, Job, LeakFinding, Release, ReleasedNote, ReleaseState, SurrogateEntity
from annotations.release.services import deciding
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.starting import outdated, prepare_again
from annotations.release.services.surrogates.editing import change
from annotations.release.services.surrogates.makers import MakerKind, RulesMaker
from tests.factories import make_member, reread
from tests.held import made_once
from tests.release.conftest import add_note, new_project
from tests.worlds.checks import check_page, refused
from tests.worlds.queue import worked
from tests.worlds.released import make_release, make_released_clinic

TEXTS = {
    "a": "«Nora Quimby|PATIENT» is well. Quimby slept. Call Quimby's son.\n",
    "b": "«Nora Quimby|PATIENT» left. Quimby paid.\n",
    "c": "«Lou Harker|DOCTOR» wrote to «Delia Stone|PATIENT».\n",
}


def make_three():
    """A prepared release of three notes, of a project with the manager `mara`."""
    project = new_project()
    for number, (name, text) in enumerate(TEXTS.items()):
        add_note(project, f"file-{name}", text, language="en", patient_id=f"P-{number:05}")
    release = make_release(project)
    release.project = project
    project.mara = make_member(project, "manager", "mara")
    return release


made_release, release = made_once(make_three, "no_redis", name="made_release")


@pytest.fixture
def ward(release):
    return release.project


def found(release):
    return list(LeakFinding.objects.filter(note__release=release).order_by("note", "start"))


def text_of(release, name):
    return ReleasedNote.objects.get(release=release, document__name=f"file-{name}").text


def states(release):
    rows = ReleasedNote.objects.filter(release=release).order_by("document__name")
    return "".join(row.state[0] for row in rows)


def test_findings_hold_notes_back(release, ward):
    assert states(release) == "hhd"
    first, second, third = found(release)
    assert text_of(release, "a")[first.start : first.end] == "Quimby"
    assert (first.origin, first.part, first.label, first.where) == ("note", True, "PATIENT", "text")
    assert (first.source_start, first.source_end) == (0, 11)
    assert first.string_key == second.string_key == third.string_key
    assert release.figures["leaks"] == {"found": 3, "replaced": 0, "allowed": 0, "open": 3}


def test_replacing_one_prepares_its_note_again(release, ward):
    before, hashed = found(release), release.content_hash
    assert answer_chosen(release=release, findings=[before[0].pk], answer="replace", actor=ward.mara) == 1
    assert text_of(release, "a") == "[PATIENT] is well. [PATIENT] slept. Call Quimby's son.\n"
    assert states(release) == "hhd"
    # The other finding of the note has moved with its text.
    second = LeakFinding.objects.get(pk=before[1].pk)
    assert text_of(release, "a")[second.start : second.end] == "Quimby" and not second.decision
    answer_chosen(release=release, findings=[second.pk], answer="replace", actor=ward.mara)
    assert states(release) == "dhd"
    assert reread(release).content_hash not in ("", hashed)
    assert release.figures["leaks"] == {"found": 3, "replaced": 2, "allowed": 0, "open": 1}


def test_equal_strings_are_decided_together_with_one_event(release, ward):
    key = found(release)[0].string_key
    assert answer_chosen(release=release, string_key=key, answer="replace", actor=ward.mara) == 3
    assert states(release) == "ddd" and text_of(release, "b") == "[PATIENT] left. [PATIENT] paid.\n"
    event = Event.objects.get(verb="release.decided")
    assert event.data == {"release": 1, "answer": "replace", "findings": 3, "notes": 2} and event.actor == ward.mara
    assert {one.decided_by for one in found(release)} == {ward.mara}


@pytest.mark.parametrize("answer", ["replace", "allow"])
def test_every_answer_can_be_undone(release, ward, answer):
    ids, texts = [one.pk for one in found(release)], [text_of(release, name) for name in TEXTS]
    assert answer_chosen(release=release, answer=answer, actor=ward.mara) == 3 and states(release) == "ddd"
    assert (texts == [text_of(release, name) for name in TEXTS]) is (answer == "allow"), "allowing keeps the text"
    release.refresh_from_db()
    assert release.figures["leaks"]["allowed" if answer == "allow" else "replaced"] == 3 and release.content_hash
    assert answer_chosen(release=release, answer="undo", findings=ids, actor=ward.mara) == 3
    assert [one.pk for one in found(release)] == ids and states(release) == "hhd"
    assert [text_of(release, name) for name in TEXTS] == texts
    assert {(one.decision, one.decided_by) for one in found(release)} == {("", None)}
    assert answer_chosen(release=release, answer="undo", findings=ids, actor=ward.mara) == 0


def test_an_answer_stays_when_somebody_else_answers_too(release, ward):
    ids = [one.pk for one in found(release)]
    answer_chosen(release=release, findings=ids[:1], answer="allow", actor=ward.mara)
    assert answer_chosen(release=release, findings=ids[:1], answer="replace", actor=None) == 0
    assert answer_chosen(release=release, findings=ids, answer="replace", actor=None) == 2
    assert [one.decision for one in found(release)] == ["allow", "replace", "replace"]
    assert text_of(release, "a") == "[PATIENT] is well. Quimby slept. Call [PATIENT]'s son.\n"


def test_many_notes_are_prepared_by_a_job(release, ward, monkeypatch):
    monkeypatch.setattr(deciding, "AT_ONCE", 1)
    assert answer_chosen(release=release, answer="replace", actor=None) == 3
    assert reread(release).state == ReleaseState.PREPARING and states(release) == "ppd"
    assert Job.objects.filter(kind="release").count() == 2
    worked(release)
    assert (release.state, states(release)) == (ReleaseState.PREPARED, "ddd")
    assert text_of(release, "b") == "[PATIENT] left. [PATIENT] paid.\n"


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_two_people_decide_at_once(release, at_once):
    ids = [one.pk for one in found(release)]

    def act(answer):
        return answer_chosen(release=Release.objects.get(), findings=ids, answer=answer, actor=None)

    counts = at_once(lambda: act("replace"), lambda: act("allow"))
    assert sorted(counts) == [0, 3] and states(release) == "ddd" and len({one.decision for one in found(release)}) == 1
    assert Event.objects.filter(verb="release.decided").count() == 1
    replaced = found(release)[0].decision == "replace"
    assert ("Quimby" in text_of(release, "b")) is not replaced


def test_a_language_model_is_never_called_by_a_page(ward, monkeypatch):
    """A release whose surrogates a language model makes is prepared again by a job, on the queue of the model."""
    kind = MakerKind(list, dict, lambda project, params: RulesMaker(project_key(project)), "llm")
    monkeypatch.setattr("annotations.release.services.surrogates.makers.maker_kinds", lambda: {"model": kind})
    release = make_release(ward, policy="surrogate", surrogate_maker={"kind": "model"})
    assert answer_chosen(release=release, answer="replace", actor=None) == 3
    assert (release.state, release.job.queue) == (ReleaseState.PREPARING, "llm")
    work(release.job_id)
    assert states(release) == "ddd"


def test_an_unknown_answer_or_another_state_is_refused(release, ward):
    other = make_release(ward)
    assert answer_chosen(release=release, findings=[one.pk for one in found(other)], answer="allow", actor=None) == 0
    assert states(other) == "hhd", "findings of another release are not touched"
    other.delete()
    for call in (
        lambda: answer_chosen(release=release, findings=[], answer="no", actor=None),
        lambda: answer_chosen(release=release, string_key=1, answer="no", actor=None),
        lambda: answer_chosen(release=release, answer="", actor=None),
    ):
        with refused("answer"):
            call()
    for state in ("preparing", "signed", "withdrawn"):
        Release.objects.update(state=state)
        with refused("state"):
            answer_chosen(release=release, answer="replace", actor=None)
    assert states(release) == "hhd" and not Event.objects.filter(verb="release.decided").exists()


def test_measures_of_surrogates_include_what_decisions_replace(ward):
    """A surrogate in place of a finding is measured as the others are, also after the decision was undone."""
    made = make_release(ward, policy="surrogate")
    before = made.figures["surrogates"]["mentions"]
    open_ones = [one.pk for one in found(made)]
    assert before and len(open_ones) == 3
    for answer, more in (("replace", 3), ("undo", 0)):
        answer_chosen(release=made, answer=answer, findings=open_ones, actor=ward.mara)
        made.refresh_from_db()
        measures = made.figures["surrogates"]
        assert (measures["mentions"], measures["notes"], measures["originals_left"]) == (before + more, 3, 0)


# A prepared release whose surrogates were edited since: what its page says, and preparing it again.


def replace_city(clinic):
    row = SurrogateEntity.objects.filter(project=clinic.project, kind="city").first()
    about = {"project": clinic.project, "entity": row.pk, "version": row.version, "actor": clinic.mia}
    change(**about, act="replace", text="Zarelloburgo")


def make_edited():
    """Release 2 of the clinic with surrogates, of which one was replaced after it was prepared."""
    clinic = make_released_clinic()
    clinic.release = make_release(clinic.project, clinic.mia, "surrogate")
    assert not outdated(clinic.release)
    replace_city(clinic)
    return clinic


made_edited, edited = made_once(make_edited, name="made_edited")


def texts():
    return " ".join(ReleasedNote.objects.filter(release__number=2).values_list("text", flat=True))


def test_the_page_offers_to_prepare_it_again(edited, sign_in):
    client, page = sign_in(edited.mia), reverse("release", args=["covid", 2])
    assert "Prepare again" in check_page(client.get(page)) and "Zarelloburgo" not in texts()
    url = reverse("release_prepare", args=["covid", 2])
    assert [client.post(url).status_code for _click in range(2)] == [302, 302]
    assert Event.objects.filter(verb="release.prepared_again").count() == 1
    release = Release.objects.get(number=2)
    assert release.state == "preparing" and release.revision == edited.release.revision + 1
    assert Job.objects.filter(kind="release", state="queued").count() == 1
    worked(release)
    assert release.state == "prepared" and release.content_hash and "Zarelloburgo" in texts()
    assert "Prepare again" not in check_page(client.get(page))
    prepare_again(release=release, actor=edited.mia)
    assert Event.objects.filter(verb="release.prepared_again").count() == 1


def test_decisions_stay_where_the_place_is_found_again(edited):
    kept = LeakFinding.objects.filter(note__release__number=2)
    count = kept.update(decision="allow", decided_by=edited.mia)
    prepare_again(release=edited.release, actor=edited.mia)
    work(Release.objects.get(number=2).job.pk)
    assert kept.count() == count > 0 and set(kept.values_list("decision", "decided_by")) == {("allow", edited.mia.pk)}


def test_a_signed_release_and_one_without_surrogates_stay_as_they_are(edited):
    assert outdated(edited.release) and not outdated(Release.objects.get(project=edited.project, number=1))
    for state in ("signed", "withdrawn"):
        Release.objects.filter(number=2).update(state=state)
        release = Release.objects.get(number=2)
        assert not outdated(release)
        with refused("state"):
            prepare_again(release=release, actor=edited.mia)
