"""Adjudicating: what is decided, kept, taken back, refused; what becomes gold; what stays out of sight."""

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from django.db import connection

from annotations.domain.majority import majority
from annotations.domain.spans import Span as DomainSpan
from annotations.models import (
    Adjudication,
    Amendment,
    AnnotationSet,
    Cause,
    Comparison,
    Difference,
    Event,
    Resolution,
    Span,
    Stale,
    Verb,
)
from annotations.selectors.adjudicating import desk, desk_state, has_seen_outcome
from annotations.selectors.adjudications import Show, adjudication_list, next_to_adjudicate, numbers
from annotations.selectors.disagreements import Filters, counts, differences, page, rounds
from annotations.services.adjudicating import close, close_unanimous, decide, reopen
from annotations.services.adjudication_plan import Act, Request, Seen
from annotations.services.amending import amend
from annotations.services.causes import set_cause
from annotations.services.comparing import bring_up_to_date, compare_note
from annotations.services.errors import ServiceError
from annotations.services.gold import make_gold, make_gold_bulk
from annotations.services.labels import merge_labels
from annotations.services.projects import set_guidelines
from annotations.services.reading import reopen as reopen_reading
from annotations.services.reading import submit
from tests import factories as make

pytestmark = pytest.mark.django_db

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
NAME, SURNAME, AGE, DATE, CITY, DOCTOR = (0, 11), (6, 11), (13, 15), (31, 41), (44, 50), (61, 68)


@pytest.fixture
def world():
    """Three readings: all have the date; two the whole name; each says something else of Torino; one the age."""
    project = make.make_project("covid")
    anna, bruno, carla = (make.make_member(project, user=name) for name in ("anna", "bruno", "carla"))
    rita, rosa = (make.make_member(project, "reviewer", name) for name in ("rita", "rosa"))
    note = make.make_note(project, TEXT, "caso-1", readers=[anna, bruno, carla])
    sets = {
        "anna": [(*NAME, "PATIENT"), (*DATE, "DATE"), (*CITY, "CITY")],
        "bruno": [(*NAME, "PATIENT"), (*DATE, "DATE"), (*CITY, "HOSPITAL"), (*AGE, "AGE")],
        "carla": [(*SURNAME, "PATIENT"), (*DATE, "DATE")],
    }
    people = {"anna": anna, "bruno": bruno, "carla": carla}
    readings = {name: make.make_set(note, people[name], spans, submitted=True) for name, spans in sets.items()}
    label = {each.name: each.pk for each in project.label_set.labels.all()}
    return SimpleNamespace(
        project=project, note=note, rita=rita, rosa=rosa, label=label, readings=readings, **people
    )  # fmt: skip


def state(world):
    return desk_state(world.project, desk(world.project, world.note))


def place_at(world, place):
    return next(each for each in state(world)["places"] if each["start"] <= place[0] < each["end"])


def seen(place):
    return Seen(place["start"], place["end"], place["key"])


def act(world, act, place=None, *, user=None, change_id=None, about=None, **more):
    shown = about if about is not None else [place_at(world, place)] if place else []
    request = Request(change_id or uuid.uuid4(), Act(act), tuple(seen(each) for each in shown), **more)
    return decide(project=world.project, document=world.note, user=user or world.rita, request=request)


def own(world, span, label, **more):
    found = [each for each in state(world)["places"] if each["start"] < span[1] and span[0] < each["end"]]
    whole = {"span": (*span, world.label[label]), "quote": TEXT[span[0] : span[1]]}
    return act(world, "own", about=more.pop("about", found), **(whole | more))


def unanimous(world, **more):
    return act(world, "unanimous", about=[p for p in state(world)["places"] if p["standing"] == "agreed"], **more)


def outcome(world):
    """(label, text) of the adjudicated set."""
    rows = Span.objects.filter(annotation_set__document=world.note, annotation_set__author__kind="adjudicated")
    found = rows.order_by("start", "end").values_list("label__name", "start", "end")
    return [(label, TEXT[start:end]) for label, start, end in found]


def provenance(world, place):
    return Span.objects.get(annotation_set__author__kind="adjudicated", start=place[0], end=place[1]).provenance


def standings(world):
    return [(place["start"], place["standing"]) for place in state(world)["places"]]


def decide_all(world):
    act(world, "majority", NAME)
    act(world, "nothing", AGE)
    unanimous(world)
    act(world, "reader", CITY, reader=1)


# ── What is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_places_consensus_and_majority(world):
    found = state(world)
    assert [(p["start"], p["end"], p["consensus"], p["standing"]) for p in found["places"]] == [
        (*NAME, "majority", "open"), (*AGE, "one", "open"), (*DATE, "all", "agreed"), (*CITY, "split", "open"),
    ]  # fmt: skip
    assert [reader["name"] for reader in found["readers"]] == ["anna", "bruno", "carla"]
    assert found["places"][0]["majority"] == [(*NAME, world.label["PATIENT"])]
    assert found["places"][1]["majority"] == []  # two of three say nothing
    assert found["places"][3]["majority"] is None
    assert (found["open"], found["closed"], found["ready"]) == (4, False, True)


def test_the_shown_majority_is_the_domain_s(world):
    readings = [
        [DomainSpan(s.start, s.end, str(s.label_id)) for s in each.spans.all()] for each in world.readings.values()
    ]
    vote = majority(TEXT, readings)
    shown = [span for place in state(world)["places"] for span in place["majority"] or []]
    shown += [span for place in state(world)["places"] if place["consensus"] == "all" for span in place["versions"][0]]
    assert sorted(shown) == [(s.start, s.end, int(s.label)) for s in vote.spans]
    assert [(place.start, place.end) for place in vote.open] == [CITY]


# ── Acts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_act_and_its_provenance(world):
    act(world, "majority", NAME)
    how = provenance(world, NAME)
    assert (how["choice"], how["by"], how["changed"]) == ("majority", "rita", [])
    assert how["annotators"] == [world.readings["anna"].author_id, world.readings["bruno"].author_id]
    act(world, "reader", CITY, reader=2)
    assert provenance(world, CITY)["annotators"] == [world.readings["bruno"].author_id]
    assert Resolution.objects.get(start=CITY[0]).reader == world.readings["bruno"].author_id
    assert own(world, CITY, "CITY")["open"] == 2  # decided otherwise
    act(world, "nothing", AGE)
    unanimous(world)
    assert provenance(world, DATE)["choice"] == "unanimous"
    assert len(provenance(world, DATE)["annotators"]) == 3
    own(world, DOCTOR, "DOCTOR")
    assert provenance(world, DOCTOR)["changed"] == ["added"]
    assert outcome(world) == [
        ("PATIENT", "Mario Rossi"), ("DATE", "12/03/2021"), ("CITY", "Torino"), ("DOCTOR", "Bianchi"),
    ]  # fmt: skip
    assert state(world)["open"] == 0


@pytest.mark.parametrize(
    ("span", "label", "changed"),
    [
        (CITY, "DATE", ["label"]),
        ((44, 54), "CITY", ["bounds"]),
        ((44, 54), "AGE", ["bounds", "label"]),
        ((41, 54), "CITY", ["bounds"]),  # it touches the date, and overlaps the city alone
        (DOCTOR, "DOCTOR", ["added"]),
    ],
)
def test_what_an_own_span_changed(world, span, label, changed):
    own(world, span, label)
    assert Span.objects.get(annotation_set__author__kind="adjudicated").provenance["changed"] == changed


def test_an_own_span_over_two_places_decides_both(world):
    own(world, (6, 15), "PATIENT")
    assert outcome(world) == [("PATIENT", "Rossi, 54")]
    assert standings(world)[0] == (0, "decided")
    assert len(state(world)["places"]) == 3


def test_a_majority_that_is_none_is_refused(world):
    with pytest.raises(ServiceError) as refused:
        act(world, "majority", CITY)
    assert refused.value.code == "tie"


def test_dropping_a_span_and_deciding_for_nothing(world):
    place = own(world, DOCTOR, "DOCTOR")
    act(world, "drop", DOCTOR, span=(*DOCTOR, world.label["DOCTOR"]))
    assert outcome(world) == []
    assert not any(each["start"] == DOCTOR[0] for each in state(world)["places"]), "nobody marks anything there"
    assert place["open"] == 4
    act(world, "reader", CITY, reader=1)
    act(world, "drop", CITY, span=(*CITY, world.label["CITY"]))
    assert Resolution.objects.get().choice == "nothing"


def test_undo_and_redo_without_limit(world):
    acts = [
        lambda: act(world, "majority", NAME),
        lambda: unanimous(world),
        lambda: act(world, "reader", CITY, reader=1),
        lambda: own(world, CITY, "HOSPITAL"),
        lambda: act(world, "nothing", AGE),
    ]
    seen_states = [outcome(world)]
    for each in acts:
        each()
        seen_states.append(outcome(world))
    for expected in reversed(seen_states[:-1]):
        act(world, "undo")
        assert outcome(world) == expected
    with pytest.raises(ServiceError, match="nothing to undo"):
        act(world, "undo")
    for expected in seen_states[1:]:
        act(world, "redo")
        assert outcome(world) == expected
    act(world, "undo")
    own(world, AGE, "AGE")
    with pytest.raises(ServiceError, match="nothing to redo"):
        act(world, "redo")


def test_what_changes_nothing_is_no_act(world):
    act(world, "majority", NAME)
    act(world, "majority", NAME)
    assert Event.objects.filter(verb=Verb.ADJUDICATED).count() == 1
    own(world, CITY, "CITY")
    own(world, CITY, "CITY")
    assert Event.objects.filter(verb=Verb.ADJUDICATED).count() == 2


def test_no_note_text_in_events(world):
    decide_all(world)
    own(world, DOCTOR, "DOCTOR")
    for event in Event.objects.all():
        assert not any(word in json.dumps(event.data) for word in ("Mario", "Rossi", "Torino", "Bianchi"))


# ── Two at once, replays, what is no longer so ───────────────────────────────────────────────────────────────────────


def test_a_replay_is_made_once(world):
    change = uuid.uuid4()
    shown = [place_at(world, NAME)]
    first = act(world, "majority", about=shown, change_id=change)
    assert act(world, "majority", about=shown, change_id=change) == first
    assert Event.objects.filter(verb=Verb.ADJUDICATED).count() == 1
    with pytest.raises(ServiceError) as refused:
        act(world, "nothing", about=shown, change_id=change)
    assert refused.value.code == "change-id"


def test_two_adjudicators_on_one_place(world):
    shown = [place_at(world, CITY)]
    act(world, "reader", CITY, reader=1, user=world.rosa)
    with pytest.raises(ServiceError) as refused:
        act(world, "reader", about=shown, reader=2)
    assert refused.value.code == "moved"
    assert outcome(world) == [("CITY", "Torino")]
    act(world, "majority", NAME)  # another place is free
    with pytest.raises(ServiceError, match="nothing to undo"):
        act(world, "undo", user=world.anna)  # each has their own to take back
    act(world, "reader", CITY, reader=2)
    with pytest.raises(ServiceError) as refused:
        act(world, "undo", user=world.rosa)  # rita has decided otherwise since
    assert refused.value.code == "moved"


def test_an_own_span_over_a_place_that_was_not_seen(world):
    with pytest.raises(ServiceError) as refused:
        own(world, CITY, "CITY", about=[])
    assert refused.value.code == "moved"


def test_a_reading_that_changed_after_the_page_was_loaded(world):
    shown = [place_at(world, NAME)]
    make.make_span(world.readings["carla"], *NAME, "DOCTOR")
    with pytest.raises(ServiceError) as refused:
        act(world, "majority", about=shown)
    assert refused.value.code == "moved"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"quote": "Milano"}, "quote"),
        ({"span": (44, 9_999, 1)}, "label"),
        ({"span": (44, 44, 0), "quote": ""}, "empty"),
        ({"span": (68, 999, 0), "quote": "x"}, "outside"),
        ({"span": (43, 44, 0), "quote": " "}, "white"),
    ],
)
def test_own_spans_that_are_refused(world, changes, code):
    start, end, label = changes.get("span", (*CITY, 0))
    span = (start, end, world.label["CITY"] if label == 0 else 0)
    with pytest.raises(ServiceError) as refused:
        act(world, "own", about=[place_at(world, CITY)], span=span, quote=changes.get("quote", "Torino"))
    assert refused.value.code == code


def test_an_annotator_who_is_not_there(world):
    with pytest.raises(ServiceError) as refused:
        act(world, "reader", CITY, reader=7)
    assert refused.value.code == "reader"


# ── Readings that change ─────────────────────────────────────────────────────────────────────────────────────────────


def test_remerge_keeps_decisions(world):
    decide_all(world)
    before = outcome(world)
    reopen_reading(document=world.note, user=world.carla)
    found = state(world)
    assert (found["missing"], found["open"], outcome(world)) == (["carla"], 0, before)
    # The same again: nothing to look at. Something else in one place, something new in another.
    submit(document=world.note, user=world.carla)
    assert state(world)["open"] == 0
    reopen_reading(document=world.note, user=world.carla)
    world.readings["carla"].spans.filter(start=SURNAME[0]).update(start=0)
    make.make_span(world.readings["carla"], *DOCTOR, "DOCTOR")
    submit(document=world.note, user=world.carla)
    assert outcome(world) == before
    assert [(start, how) for start, how in standings(world) if how != "decided"] == [
        (NAME[0], "changed"), (DOCTOR[0], "open"),
    ]  # fmt: skip
    act(world, "keep", NAME)
    assert Resolution.objects.get(start=0).choice == "majority"
    assert len(provenance(world, NAME)["annotators"]) == 3
    act(world, "nothing", DOCTOR)
    assert state(world)["open"] == 0


def test_fewer_than_two_readings(world):
    for person in (world.carla, world.bruno):
        reopen_reading(document=world.note, user=person)
    assert not state(world)["ready"]
    with pytest.raises(ServiceError) as refused:
        act(world, "nothing", NAME)
    assert refused.value.code == "readers"
    with pytest.raises(ServiceError) as refused:
        close(project=world.project, document=world.note, user=world.rita)
    assert refused.value.code == "readers"


def test_a_merged_label_stays_decided_under_its_new_name(world):
    decide_all(world)
    close(project=world.project, document=world.note, user=world.rita)
    bring_up_to_date(world.project)
    labels = world.project.label_set.labels
    merge_labels(source=labels.get(name="CITY"), target=labels.get(name="HOSPITAL"), actor=None)
    assert ("HOSPITAL", "Torino") in outcome(world)
    for _ in range(2):
        assert numbers(world.project)["again"] == 0, "nobody said anything else"
        bring_up_to_date(world.project)
    assert state(world)["open"] == 0
    reopen(project=world.project, document=world.note, user=world.rita)
    assert place_at(world, CITY)["outcome"] == [(*CITY, world.label["HOSPITAL"])]
    act(world, "undo")  # the choice of Torino, under its new name
    assert ("HOSPITAL", "Torino") not in outcome(world)
    act(world, "redo")
    assert ("HOSPITAL", "Torino") in outcome(world)


# ── The end, gold, the rule ──────────────────────────────────────────────────────────────────────────────────────────


def test_closing_wants_every_place_decided(world):
    with pytest.raises(ServiceError, match="4 places are still open"):
        close(project=world.project, document=world.note, user=world.rita)
    decide_all(world)
    close(project=world.project, document=world.note, user=world.rita)
    close(project=world.project, document=world.note, user=world.rosa)
    assert Adjudication.objects.get().closed_by == world.rita
    assert AnnotationSet.objects.get(author__kind="adjudicated").state == "submitted"
    with pytest.raises(ServiceError) as refused:
        act(world, "nothing", NAME)
    assert refused.value.code == "closed"
    reopen(project=world.project, document=world.note, user=world.rosa)
    assert state(world)["open"] == 0
    assert not Adjudication.objects.exists()


def test_each_span_says_which_guidelines_held_when_it_was_decided(world):
    """In the adjudicated set, and beside the maker's own version in gold; also where a rule decides."""
    act(world, "majority", NAME)
    world.project = world.note.project = set_guidelines(project=world.project, text="Names whole.", actor=world.rita)
    act(world, "nothing", AGE)
    act(world, "reader", CITY, reader=1)
    world.project.unanimous_passes = True
    close(project=world.project, document=world.note, user=world.rita)
    assert [provenance(world, place)["guidelines"] for place in (NAME, CITY, DATE)] == [0, 1, 1]
    own_set = AnnotationSet.objects.get(author__kind="adjudicated")
    make_gold(document=world.note, annotation_set=own_set, actor=world.rosa)
    how = Span.objects.get(annotation_set__author__kind="gold", start=NAME[0]).provenance
    assert (how["guidelines"], how["adjudication"]["guidelines"]) == (1, 0)


def test_gold_carries_the_provenance(world):
    decide_all(world)
    close(project=world.project, document=world.note, user=world.rita)
    own_set = AnnotationSet.objects.get(author__kind="adjudicated")
    make_gold(document=world.note, annotation_set=own_set, actor=world.rosa)
    how = Span.objects.get(annotation_set__author__kind="gold", start=NAME[0]).provenance
    assert (how["from"], how["by"]) == ("adjudicated:adjudicated", "rosa")
    assert how["adjudication"]["choice"] == "majority"
    assert how["adjudication"]["by"] == "rita"
    assert len(how["adjudication"]["annotators"]) == 2


def test_gold_in_bulk_takes_closed_notes_only(world):
    decide_all(world)
    author = AnnotationSet.objects.get(author__kind="adjudicated").author_id
    made = make_gold_bulk(project_id=world.project.pk, author_id=author, actor_id=None, progress=lambda *_: None)
    assert made["made"] == 0
    close(project=world.project, document=world.note, user=world.rita)
    made = make_gold_bulk(project_id=world.project.pk, author_id=author, actor_id=None, progress=lambda *_: None)
    assert made["made"] == 1


def test_what_all_say_passes_by_the_project_s_rule(world):
    world.project.unanimous_passes = True
    world.project.save()
    assert state(world)["open"] == 3
    for place in (NAME, AGE):
        act(world, "nothing", place)
    act(world, "reader", CITY, reader=1)
    close(project=world.project, document=world.note, user=world.rita)
    how = provenance(world, DATE)
    assert (how["rule"], how["by"], how["choice"]) == ("unanimous", None, "rule")


def test_notes_on_which_all_agree_are_closed_by_the_rule(world):
    other = make.make_note(world.project, TEXT, "caso-2")
    for name in ("anna", "bruno"):
        make.make_set(other, getattr(world, name), [(*DATE, "DATE")], submitted=True)
    bring_up_to_date(world.project)
    with pytest.raises(ServiceError) as refused:
        close_unanimous(project=world.project, user=world.rita, seconds=5)
    assert refused.value.code == "rule"
    world.project.unanimous_passes = True
    world.project.save()
    assert close_unanimous(project=world.project, user=world.rita, seconds=5) == (1, 0)
    assert Adjudication.objects.get().document == other
    assert Span.objects.get(annotation_set__author__kind="adjudicated").provenance["rule"] == "unanimous"


# ── The list of notes ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_has_the_lowest_agreement_first(world):
    alike, apart, alone, empty = (make.make_note(world.project, TEXT, name) for name in ("b", "c", "d", "e"))
    for person in (world.anna, world.bruno):
        make.make_set(alike, person, [(*DATE, "DATE")], submitted=True)
        make.make_set(empty, person, [], submitted=True)
    make.make_set(apart, world.anna, [(*DATE, "DATE")], submitted=True)
    make.make_set(apart, world.bruno, [(*CITY, "CITY")], submitted=True)
    make.make_set(alone, world.anna, [(*DATE, "DATE")], submitted=True)
    bring_up_to_date(world.project)
    found = adjudication_list(world.project, Show.TODO, 1)
    assert [line.name for line in found.lines] == ["c", "caso-1", "b", "e"]
    assert [line.agreement for line in found.lines][::3] == [0.0, None]
    assert (found.lines[1].disputed, found.lines[1].agreed, found.lines[1].still) == (3, 1, 3)
    assert next_to_adjudicate(world.project, None) == apart.pk
    assert next_to_adjudicate(world.project, apart.pk) == world.note.pk
    assert next_to_adjudicate(world.project, empty.pk) == apart.pk
    decide_all(world)
    close(project=world.project, document=world.note, user=world.rita)
    assert numbers(world.project) == {"todo": 3, "begun": 0, "again": 0, "closed": 1, "all": 4}
    # An annotator hands in something else after it was closed.
    reopen_reading(document=world.note, user=world.carla)
    make.make_span(world.readings["carla"], *DOCTOR, "DOCTOR")
    submit(document=world.note, user=world.carla)
    bring_up_to_date(world.project)
    assert numbers(world.project)["again"] == 1
    assert adjudication_list(world.project, Show.AGAIN, 1).lines[0].state == "again"


# ── Comparisons are never stale ──────────────────────────────────────────────────────────────────────────────────────


def found_places(world, **filters):
    bring_up_to_date(world.project)
    return [(row.start, row.kinds) for row in differences(world.project, Filters(**filters))]


def test_places_follow_every_change_of_a_reading(world):
    assert found_places(world) == [(0, ",boundary,"), (13, ",missed,"), (44, ",label,missed,")]
    reopen_reading(document=world.note, user=world.bruno)
    assert found_places(world) == [(0, ",boundary,"), (44, ",missed,")]
    world.readings["bruno"].spans.filter(start=CITY[0]).delete()
    submit(document=world.note, user=world.bruno)
    assert found_places(world) == [(0, ",boundary,"), (13, ",missed,"), (44, ",missed,")]
    labels = world.project.label_set.labels
    merge_labels(source=labels.get(name="CITY"), target=labels.get(name="AGE"), actor=None)
    assert [row.labels for row in differences(world.project, Filters())][2] != f",{world.label['AGE']},"
    bring_up_to_date(world.project)
    assert [row.labels for row in differences(world.project, Filters())][2] == f",{world.label['AGE']},"
    AnnotationSet.objects.filter(author__name="carla").update(state="withdrawn")
    assert found_places(world) == [(13, ",missed,"), (44, ",missed,")]
    world.readings["anna"].delete()
    assert found_places(world) == []
    assert Comparison.objects.get().readers == 1


def test_runs_gold_and_drafts_make_nothing_stale(world):
    bring_up_to_date(world.project)
    make.make_set(world.note, make.make_author(world.project, kind="run"), [(*DATE, "DATE")], submitted=True)
    draft = make.make_set(world.note, make.make_user("dora"), [(*DATE, "DATE")])
    draft.version = 7
    draft.save()
    assert not Stale.objects.exists()
    assert compare_note(world.note).readers == 3


def test_blind_readings_count_and_the_others_can_be_shown(world):
    AnnotationSet.objects.filter(author__name="carla").update(blind=False)
    assert found_places(world) == [(13, ",missed,"), (44, ",label,")]
    assert found_places(world, everyone=True) == [(0, ",boundary,"), (13, ",missed,"), (44, ",label,missed,")]
    AnnotationSet.objects.filter(author__name="bruno").update(seeded=True)
    assert found_places(world) == []
    assert Comparison.objects.get().blind_readers == 1


def test_filters(world):
    anna, bruno, carla = (world.readings[name].author_id for name in ("anna", "bruno", "carla"))
    assert [start for start, _ in found_places(world, kind="missed")] == [13, 44]
    assert [start for start, _ in found_places(world, label=world.label["HOSPITAL"])] == [44]
    assert [start for start, _ in found_places(world, pair=(bruno, anna))] == [13, 44]
    assert [start for start, _ in found_places(world, pair=(anna, carla), kind="missed")] == [44]
    assert [start for start, _ in found_places(world, pair=(anna, bruno), kind="label")] == [44]
    assert found_places(world, note=world.note.pk + 1) == []
    assert len(found_places(world, unit="token")) == 3
    assert counts(differences(world.project, Filters())).kinds == {"missed": 2, "boundary": 1, "label": 1, "both": 0}
    set_cause(document=world.note, start=0, end=11, kind="AM", user=world.rita)
    assert [start for start, _ in found_places(world, cause="AM")] == [0]
    assert [start for start, _ in found_places(world, cause="none")] == [13, 44]


def test_pages_go_on_by_place(world, monkeypatch):
    monkeypatch.setattr("annotations.selectors.disagreements.PAGE", 2)
    bring_up_to_date(world.project)
    first = page(world.project, Filters())
    assert [shown.row.start for shown in first.places] == [0, 13]
    assert (first.previous, first.next) == ("", f"{world.note.pk}-13")
    second = page(world.project, Filters(), after=(world.note.pk, 13))
    assert [shown.row.start for shown in second.places] == [44]
    assert (second.previous, second.next) == (f"{world.note.pk}-44", "")
    back = page(world.project, Filters(), before=(world.note.pk, 44))
    assert [shown.row.start for shown in back.places] == [0, 13]
    assert list(first.places[0].rows.tags) == [str(world.readings[n].author_id) for n in ("anna", "bruno", "carla")]


def test_the_database_marks_changed_readings_by_itself():
    """SQLite drops a table's triggers where a migration writes it anew."""
    table = "sqlite_master" if connection.vendor == "sqlite" else "pg_trigger"
    column = "name" if connection.vendor == "sqlite" else "tgname"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table} WHERE {column} LIKE 'reading_%_stale'")
        assert sorted(row[0] for row in cursor.fetchall()) == [
            "reading_delete_stale", "reading_insert_stale", "reading_update_stale",
        ]  # fmt: skip


# ── Causes, amendments, rounds ───────────────────────────────────────────────────────────────────────────────────────


def test_a_place_keeps_one_cause_when_its_ends_move(world):
    set_cause(document=world.note, start=6, end=11, kind="AB", user=world.rita)
    set_cause(document=world.note, start=0, end=11, kind="D", user=world.rosa)
    assert [(c.start, c.end, c.kind, c.by.username) for c in Cause.objects.all()] == [(0, 11, "D", "rosa")]
    set_cause(document=world.note, start=0, end=11, kind="D", user=world.rita)
    assert Event.objects.filter(verb=Verb.CAUSE_SET).count() == 2
    set_cause(document=world.note, start=0, end=11, kind="", user=world.rita)
    assert not Cause.objects.exists()
    for place, kind, code in (((0, 11), "X", "kind"), ((5, 5), "D", "place"), ((0, 999), "D", "place")):
        with pytest.raises(ServiceError) as refused:
            set_cause(document=world.note, start=place[0], end=place[1], kind=kind, user=world.rita)
        assert refused.value.code == code


def test_an_amendment_raises_the_guidelines_and_begins_a_round(world):
    project = world.project
    project.guidelines, project.guidelines_version = "# Names\n", 3
    project.save()
    bring_up_to_date(project)
    made = amend(
        project=project, text=" A title is no name. ", actor=world.rita, place=(world.note, 0, 11), seen_version=3
    )
    again = amend(project=project, text="A title is no name.", actor=world.rita, seen_version=3)
    assert (made.number, again.pk, made.guidelines_version) == (1, made.pk, 4)
    project.refresh_from_db()
    assert project.guidelines.startswith("# Names\n\n## Amendment 1 (")
    assert project.guidelines.endswith(")\n\nA title is no name.\n")
    with pytest.raises(ServiceError) as refused:
        amend(project=project, text="Another.", actor=world.rita, seen_version=3)
    assert refused.value.code == "stale"
    for text in (" ", "x" * 4001, "a\0b"):
        with pytest.raises(ServiceError) as refused:
            amend(project=project, text=text, actor=world.rita, seen_version=4)
        assert refused.value.code == "text"
    assert [each.number for each in rounds(project)] == [1, 2]
    # Read before the amendment, or without a date: the first round. Handed in again: the second.
    assert len(found_places(world, round=1)) == 3
    assert found_places(world, round=2) == []
    reopen_reading(document=world.note, user=world.bruno)
    submit(document=world.note, user=world.bruno)
    assert found_places(world, round=1) == []
    assert len(found_places(world, round=2)) == 3
    assert found_places(world, round=3) == []
    assert "title" not in json.dumps(list(Event.objects.values_list("data", flat=True)))
    assert Amendment.objects.count() == 1


# ── Anonymous ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_in_an_anonymous_project_nobody_is_named(world):
    world.project.anonymous_adjudication = True
    world.project.save()
    reopen_reading(document=world.note, user=world.carla)
    submit(document=world.note, user=world.carla)
    found = json.dumps(state(world))
    assert not any(name in found for name in ("anna", "bruno", "carla"))
    assert [reader["name"] for reader in state(world)["readers"]] == ["Annotator 1", "Annotator 2", "Annotator 3"]
    order = [reader.author for reader in desk(world.project, world.note).readers]
    assert order == [reader.author for reader in desk(world.project, world.note).readers]
    # Another order in some other note, so that a number says nothing about a person.
    orders = set()
    for number in range(12):
        note = make.make_note(world.project, TEXT, f"other-{number}")
        for name in ("anna", "bruno", "carla"):
            make.make_set(note, getattr(world, name), [], submitted=True)
        orders.add(tuple(reader.author for reader in desk(world.project, note).readers))
    assert len(orders) > 1
    # A digit takes the version of whom it stands for.
    digit = next(
        r.number for r in desk(world.project, world.note).readers if r.author == str(world.readings["bruno"].author_id)
    )
    act(world, "reader", CITY, reader=digit)
    assert outcome(world) == [("HOSPITAL", "Torino")]


# ── Blindness after the outcome ──────────────────────────────────────────────────────────────────────────────────────


def test_who_reads_again_after_seeing_the_outcome_is_not_blind(world):
    assert not has_seen_outcome(world.note.pk, world.carla)
    Event.objects.create(verb=Verb.NOTE_READ, actor=world.carla, document_id=world.note.pk, data={"what": "outcome"})
    for person in (world.carla, world.anna):
        reopen_reading(document=world.note, user=person)
        submit(document=world.note, user=person)
    assert not AnnotationSet.objects.get(author__name="carla").blind
    assert AnnotationSet.objects.get(author__name="anna").blind
    assert Difference.objects.count() == 0


# ── At one moment, with real connections ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db(transaction=True)
def test_acts_at_the_same_moment_take_turns(world):
    """Two adjudicators on one place: one decides, the other is told. One change twice: made once."""
    shown = {name: (seen(place_at(world, place)),) for name, place in (("city", CITY), ("name", NAME))}
    change = uuid.uuid4()
    calls = [
        (world.rita, Request(uuid.uuid4(), Act.READER, shown["city"], reader=1)),
        (world.rosa, Request(uuid.uuid4(), Act.READER, shown["city"], reader=2)),
        (world.rita, Request(change, Act.MAJORITY, shown["name"])),
        (world.rita, Request(change, Act.MAJORITY, shown["name"])),
    ]
    barrier = threading.Barrier(len(calls))

    def made(user, request):
        connection.ensure_connection()
        barrier.wait(10)
        try:
            decide(project=world.project, document=world.note, user=user, request=request)
            return "made"
        except ServiceError as error:
            return error.code
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        results = [each.result(60) for each in [pool.submit(made, *call) for call in calls]]
    assert sorted(results[:2]) == ["made", "moved"]
    assert results[2:] == ["made", "made"]
    assert Event.objects.filter(verb=Verb.ADJUDICATED).count() == 2
    assert len(outcome(world)) == 2
    assert AnnotationSet.objects.get(author__kind="adjudicated").version == 2
