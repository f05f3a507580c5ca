"""Surrogates by a language model, over HTTP with a scripted server."""

import json

import pytest

from annotations.core.errors import ServiceError
from annotations.models import SurrogateEntity
from annotations.surrogates.services.makers import checked_maker, maker_choices, maker_of, queue_of
from annotations.surrogates.services.making import surrogates_for
from models_runtime.backends.llm.servers import read_servers
from tests import factories as make
from tests.backends.llm.scripted import Reply, note_of, serving
from tests.surrogates.conftest import said, with_mentions

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
        return [
            {"id": at, "kind": kind, "mentions": ids} for at, ((kind, _), ids) in enumerate(groups.items(), start=1)
        ]

    def entities(self, shown):
        return [{"id": one["id"], "names": one["forms"][:1]} for one in shown["entities"]]

    def candidates(self, shown):
        return [{"id": one["id"], "same": "N"} for one in shown["candidates"]]

    def taken(self, shown):
        digits = str.maketrans("0123456789", "5678901234")
        return [
            {
                "id": one["id"],
                "kind": one["kind"],
                "replacement": NAMES.get(one["forms"][0])
                or one["forms"][0].translate(digits).replace("Spring", "West"),
            }
            for one in shown["entities"]
        ]


@pytest.fixture
def model(settings):
    script = Model()
    with serving(script) as server:
        settings.LLM_SERVERS = read_servers(
            {
                "DEIDREVIEW_LLM_SERVERS": f"ward={server.url} cloud=http://llm.example.org/v1",
                "DEIDREVIEW_LLM_WARD_MODELS": "small",
                "DEIDREVIEW_LLM_CLOUD_MODELS": "large",
            }
        )
        script.server = server
        yield script


@pytest.fixture
def by_model(ward, model):
    maker = checked_maker(ward.project, "ward/small", may_leave=False)
    return lambda: ward.make(maker=maker)


def made_by():
    return set(SurrogateEntity.objects.values_list("made_by", flat=True))


def test_the_four_questions(ward, model, by_model):
    found = by_model()
    one, two, three = (note.pk for note in ward.notes)
    assert found[one, "Adam Wilson"] == "Gregory Fletcher" and found[two, "Wilson"] == "Fletcher"
    assert found[one, "Dr. Emily Carter"] == found[three, "Dr. Emily Carter"] == "Dr. Irene Holloway"
    assert found[two, "4711-22"] == "9266-77" and found[one, "Springfield"] == "Westfield"
    assert {name.split()[0] for name in made_by()} == {"small"} and {len(name) for name in made_by()} == {16}
    assert set(model.asked) == {"first", "entities", "taken"}
    asked = len(model.asked)
    assert by_model() == found and len(model.asked) == asked, "nothing is new"


def test_nothing_of_one_patient_is_shown_with_another(ward, model, by_model):
    by_model()
    for body in model.server.requests:
        shown = note_of(body)
        assert not ("Adam" in shown and "Betty" in shown)


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


@pytest.mark.parametrize(
    "replacement", ["Adam Wilson", "adam wilson", "Betty Carter", "Wilson", "12 345", "Emily Carter", ""]
)
def test_replacements_that_can_not_be_used(ward, model, by_model, replacement):
    model.spoil["taken"] = lambda entries: [
        one | {"replacement": replacement} if one["replacement"] == "Gregory Fletcher" else one for one in entries
    ]
    found = by_model()
    written = found[ward.notes[0].pk, "Adam Wilson"]
    assert written.casefold() not in ("adam wilson", "betty carter", "emily carter") and len(written.split()) == 2
    assert "rules" in made_by() and len(made_by()) == 2


def test_consent_and_choices(ward, model, settings):
    assert [(one.value, one.host) for one in maker_choices()] == [
        ("ward/small", ""),
        ("cloud/large", "llm.example.org"),
    ]
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
