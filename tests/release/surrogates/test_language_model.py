"""Surrogates by a language model, over HTTP with a scripted server."""

import json
import re
from functools import partial

import pytest
from django.urls import reverse

from annotations.core.sealing import project_key
from annotations.core.services import ServiceError
from annotations.models import Document, Release, ReleasePolicy, SurrogateEntity
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.release.services.surrogates.makers import checked_maker, maker_choices, maker_of, paid_by, queue_of
from annotations.release.services.surrogates.making import NoteMentions, surrogates_for
from models_runtime.core.llm import Bill
from models_runtime.models import LlmAnswer, LlmUsage
from models_runtime.refining.services.relexicalizing import SealedAnswers
from tests import factories as make
from tests.backends.llm.scripted import Reply, note_of, offered
from tests.release.surrogates.conftest import said, with_mentions
from tests.worlds.checks import check_page

NAMES = {"Adam Wilson": "Gregory Fletcher", "Betty Wilson": "Nora Sandoval", "Dr. Emily Carter": "Irene Holloway"}


class Model:
    """Answers all four questions well. `spoil` by task changes the entries of an answer."""

    def __init__(self):
        self.asked, self.spoil = [], {}

    def __call__(self, body):
        shown = json.loads(note_of(body))
        task = next(task for task in ("first", "candidates", "taken", "entities") if task in shown)
        self.asked.append(task)
        entries = getattr(self, task)(shown)
        spoil = self.spoil.get(task)
        if isinstance(spoil, Reply):
            return spoil
        return json.dumps({"entities": spoil(entries) if spoil else entries})

    def first(self, shown):
        groups = {}
        for one in [*shown["first"], *shown["second"]]:
            groups.setdefault((one["kind"], one["text"].split()[-1]), []).append(one["id"])
        numbered = enumerate(groups.items(), start=1)
        return [{"id": at, "kind": kind, "mentions": ids} for at, ((kind, _), ids) in numbered]

    def entities(self, shown):
        return [{"id": one["id"], "names": one["forms"][:1]} for one in shown["entities"]]

    def candidates(self, shown):
        return [{"id": one["id"], "same": "N"} for one in shown["candidates"]]

    def taken(self, shown):
        def new(text):
            return NAMES.get(text) or text.translate(str.maketrans("0123456789", "5678901234")).replace(
                "Spring", "West"
            )

        asked = shown["entities"]
        return [{"id": one["id"], "kind": one["kind"], "replacement": new(one["forms"][0])} for one in asked]


@pytest.fixture
def model(settings):
    script = Model()
    servers = "ward={url} cloud=http://llm.example.org/v1"
    with offered(settings, script, SERVERS=servers, CLOUD_MODELS="large") as script.server:
        yield script


@pytest.fixture
def by_model(ward, model):
    maker = checked_maker(ward.project, "ward/small", may_leave=False)
    return lambda: ward.make(maker=maker)


def text_of(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def made_by():
    return set(SurrogateEntity.objects.values_list("made_by", flat=True))


def test_the_four_questions(ward, model, by_model, sign_in):
    page, manager = reverse("surrogates", args=["ward"]), sign_in(ward.mia)
    assert "Language models" not in check_page(manager.get(page))
    found = by_model()
    one, two, three = (note.pk for note in ward.notes)
    assert found[one, "Adam Wilson"] == "Gregory Fletcher" and found[two, "Wilson"] == "Fletcher"
    assert found[one, "Dr. Emily Carter"] == found[three, "Dr. Emily Carter"] == "Dr. Irene Holloway"
    assert found[two, "4711-22"] == "9266-77" and found[one, "Springfield"] == "Westfield"
    assert {name.split()[0] for name in made_by()} == {"small"} and {len(name) for name in made_by()} == {16}
    assert set(model.asked) == {"first", "entities", "taken"}
    for body in model.server.requests:
        shown = note_of(body)
        assert not ("Adam" in shown and "Betty" in shown), "nothing of one patient is shown with another"
    asked = len(model.asked)
    assert f"{asked} sent" in text_of(check_page(manager.get(page))), "what filling the index cost"
    assert by_model() == found and len(model.asked) == asked, "nothing is new"


def test_the_model_decides_what_the_rules_doubt(ward, model, by_model):
    by_model()
    later = make.make_note(ward.project, "Seen by Dr. Carter.", "later", language="en", patient_id="P-9")
    mentions = [with_mentions(later, ("Dr. Carter", "staff"))]
    maker = checked_maker(ward.project, "ward/small", may_leave=False)
    model.spoil["candidates"] = lambda entries: [one | {"same": "Y"} for one in entries]
    found = said(mentions, surrogates_for(project=ward.project, notes=mentions, maker=maker))
    assert found[later.pk, "Dr. Carter"] == "Dr. Holloway" and "candidates" in model.asked


SPOILED = [
    ("first", lambda entries: entries[1:], "a mention in no entity"),
    ("first", lambda entries: [*entries, entries[0] | {"id": 99}], "a mention in two entities"),
    ("first", lambda entries: [one | {"id": 1} for one in entries], "identifiers twice"),
    ("first", lambda entries: [one | {"kind": "city"} for one in entries], "another kind"),
    ("first", lambda entries: [one | {"mentions": [*one["mentions"], 77]} for one in entries], "invented mentions"),
    ("first", Reply("I can't help with that."), "no JSON"),
    ("entities", lambda entries: entries[:-1], "queries for some only"),
    ("taken", lambda entries: [one | {"id": 1} for one in entries], "replacements of one entity"),
]


@pytest.mark.parametrize(("task", "spoil", "why"), SPOILED, ids=[case[2] for case in SPOILED])
def test_rules_take_a_step_without_a_usable_answer(ward, model, by_model, task, spoil, why):
    model.spoil[task] = spoil
    found = by_model()
    one, two, three = (note.pk for note in ward.notes)
    assert found[one, "Adam Wilson"].split()[-1] == found[two, "Wilson"]
    assert found[one, "Dr. Emily Carter"] == found[three, "Dr. Emily Carter"]
    assert "wilson" not in " ".join(found.values()).casefold()
    if task == "taken":
        assert made_by() == {"rules"}


def test_replacements_that_can_not_be_used(ward, model, by_model):
    wrong = ["Adam Wilson", "adam wilson", "Betty Carter", "Wilson", "12 345", "Emily Carter", ""]
    for replacement in wrong:
        SurrogateEntity.objects.all().delete()
        LlmAnswer.objects.all().delete()
        model.spoil["taken"] = lambda entries, text=replacement: [
            one | {"replacement": text} if one["replacement"] == "Gregory Fletcher" else one for one in entries
        ]
        written = by_model()[ward.notes[0].pk, "Adam Wilson"]
        assert written.casefold() not in ("adam wilson", "betty carter", "emily carter") and len(written.split()) == 2
        assert "rules" in made_by() and len(made_by()) == 2


def test_consent_and_choices(ward, model, settings):
    hosts = [(one.value, one.host) for one in maker_choices()]
    assert hosts == [("ward/small", ""), ("cloud/large", "llm.example.org")]
    with pytest.raises(ServiceError, match=r"llm\.example\.org"):
        checked_maker(ward.project, "cloud/large", may_leave=False)
    params = checked_maker(ward.project, "cloud/large", may_leave=True)
    assert params == {"kind": "llm", "server": "cloud", "model": "large"} and queue_of(params) == "llm"
    assert checked_maker(ward.project, "", may_leave=False) == {} and queue_of({}) == ""
    with pytest.raises(ServiceError, match="ward/small"):
        checked_maker(ward.project, "nothing", may_leave=True)
    settings.LLM_SERVERS = {}
    with pytest.raises(ServiceError, match="no longer listed"):
        maker_of(ward.project, params)


def release_of(project):
    policy = ReleasePolicy.objects.create(project=project, slug="surrogate", version=1, name="Surrogates", rules={})
    maker = checked_maker(project, "ward/small", may_leave=False)
    about = {"project": project, "number": 1, "set_spec": "gold", "policy": policy, "state": "prepared"}
    return Release.objects.create(**about, surrogate_maker=maker)


def test_a_release_pays_for_its_questions_and_shows_them(ward, model, by_model, sign_in):
    release = release_of(ward.project)
    model.spoil["first"] = lambda entries: entries[1:]
    ward.make(maker=paid_by(release))
    usage = LlmUsage.objects.get()
    asked = len(model.server.requests)
    assert (usage.release, usage.project, usage.requests, usage.kept) == (release, None, asked, 0)
    assert (usage.broken, usage.tokens_in) == (2, 100 * asked), "one answer about each patient"
    SurrogateEntity.objects.all().delete()
    ward.make(maker=paid_by(release))
    usage.refresh_from_db()
    assert (usage.requests, usage.broken, usage.kept) == (asked, 2, asked), "nothing is asked or counted again"
    html = text_of(check_page(sign_in(ward.mia).get(reverse("release", args=["ward", 1]))))
    assert "ward/small" in html and f"{asked} sent, of which 0 retries; {asked} answered from cache" in html
    assert "2 answers or entries that could not be read" in html
    # An answer that is no JSON is counted and asked again.
    LlmAnswer.objects.all().delete()
    model.spoil["first"] = Reply("I can't help with that.")
    for count in (2, 4):
        SurrogateEntity.objects.all().delete()
        by_model()
        assert LlmUsage.objects.get(project=ward.project).broken == count


def test_stored_answers_are_sealed_and_go_with_their_notes(ward, model, by_model):
    by_model()
    rows = LlmAnswer.objects.all()
    words = json.dumps(list(rows.values("key", "found")))
    assert rows.exists() and not any(word in words for word in ("Wilson", "Fletcher", "Carter"))
    run = LlmAnswer.objects.create(document=ward.notes[1], key="k", found=[])
    delete_note(project=ward.project, note=ward.notes[0].pk, actor=ward.mia)
    left = rows.exclude(pk=run.pk)
    assert set(left.values_list("document_id", flat=True)) == {ward.notes[2].pk}, "all answers about P-1 showed note 1"
    assert rows.filter(pk=run.pk).exists(), "a run's answer about another note"
    erase_patient(project=ward.project, patient_id="P-2", actor=ward.mia)
    assert not left.exists()


def test_an_answer_about_a_note_that_is_erased_meanwhile_is_not_stored(ward):
    about = partial(SealedAnswers, ward.project, project_key(ward.project), Bill(ward.project, None))
    one, two = ward.notes[0].pk, ward.notes[1].pk
    about({one, two}).keep("k", "", [{"id": 1}])
    assert about({two, one}).find("k") == [{"id": 1}] and about({one}).find("k") is None
    Document.objects.filter(pk=two).delete()
    about({one, two}).keep("l", "", [{"id": 1}])
    assert about({one, two}).find("l") is None


def test_clusters_are_made_from_two_notes_at_a_time(ward, model, by_model):
    third = make.make_note(ward.project, "Mr. Wilson called.", "n9", language="en", patient_id="P-1")
    ward.mentions.append(with_mentions(third, ("Wilson", "name")))
    found = by_model()
    asked = [shown for body in model.server.requests if "first" in (shown := json.loads(note_of(body)))]
    ours = [shown for shown in asked if "Adam" in json.dumps(shown)]
    later = [[one["text"] for one in shown["second"]] for shown in ours]
    assert later == [["Wilson", "Dr. Carter", "4711-22"], ["Wilson"]]
    assert [one["text"] for one in ours[1]["first"]] == ["Adam Wilson", "Springfield", "Dr. Emily Carter", "4711-22"]
    assert "called" in ours[1]["second"][0]["context"] and found[third.pk, "Wilson"] == "Fletcher"


def test_rules_cluster_what_is_too_much_for_a_question(ward, model, by_model, monkeypatch):
    monkeypatch.setattr("models_runtime.backends.llm.relexicalizing.MOST_MENTIONS", 4)
    by_model()
    assert model.asked.count("first") == 1 and LlmUsage.objects.get().too_long == 1


def test_prompts_are_in_the_language_of_the_notes(ward, model, by_model):
    for language, word, count in (("es", "Comparas", 3), ("it", "Confronti", 3), ("fr", "You", 1)):
        SurrogateEntity.objects.all().delete()
        LlmAnswer.objects.all().delete()
        model.server.requests.clear()
        for at, one in enumerate(ward.mentions):
            ward.mentions[at] = NoteMentions(one.document, one.patient, language, one.text, one.mentions)
        by_model()
        systems = {body["messages"][0]["content"].split()[0] for body in model.server.requests}
        assert word in systems and len(systems) == count
