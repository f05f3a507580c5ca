"""Editing the index: merging, splitting, locking, replacing and drawing, each as one event without text."""

import json
from datetime import date, timedelta

import pytest

from annotations.core.sealing import project_key
from annotations.models import Event, SurrogateEntity, SurrogateMention
from annotations.release.rules.surrogates.identifiers import birth_in
from annotations.release.selectors.surrogates import edited_since, opened
from annotations.release.services.surrogates import editing
from annotations.release.services.surrogates.editing import draw
from annotations.release.services.surrogates.making import surrogates_for
from annotations.release.services.surrogates.patients import date_offset
from tests import factories as make
from tests.release.surrogates.conftest import said, with_mentions
from tests.worlds.checks import refused


@pytest.fixture
def made(made):
    made.one = (made.notes[0].pk, "Adam Wilson")
    return made


def entity_of(ward, note, text):
    mention = next(one for one in ward.mentions[note].mentions if one.text == text)
    return SurrogateMention.objects.get(document=ward.notes[note], start=mention.start).entity


def edit(ward, act, entity, **more):
    who = {"project": ward.project, "entity": entity.pk, "version": entity.version, "actor": ward.mia}
    return editing.split(**who, **more) if act == "split" else editing.change(**who, act=act, **more)


def test_a_typed_surrogate_is_used_by_later_releases(made):
    edit(made, "replace", entity_of(made, 0, "Adam Wilson"), text="  Gregory  Fletcher ")
    changed = {(made.notes[at].pk, "Wilson"): "Fletcher" for at in (0, 1)} | {made.one: "Gregory Fletcher"}
    assert made.make() == made.found | changed
    for note, text in ((2, "Betty Wilson"), (0, "Dr. Emily Carter")):
        with refused("taken"):
            edit(made, "replace", entity_of(made, note, text), text="gregory fletcher")


def test_what_may_not_be_a_surrogate(made):
    cases = [("Adam Wilson", "original"), ("adam WILSON", "original"), ("Emily Carter", "original"), ("", "empty")]
    for text, code in [*cases, ("x" * 201, "long"), ("12345", "format")]:
        with refused(code):
            edit(made, "replace", entity_of(made, 0, "Adam Wilson"), text=text)
    assert made.make() == made.found


def test_drawing_another_and_undoing_it(made):
    edit(made, "draw", entity_of(made, 0, "Adam Wilson"))
    second = made.make()
    assert second[made.one] != made.found[made.one]
    edit(made, "draw", entity_of(made, 0, "Adam Wilson"))
    third = made.make()
    assert third[made.one] not in (second[made.one], made.found[made.one])
    edit(made, "restore", entity_of(made, 0, "Adam Wilson"))
    assert made.make() == second and entity_of(made, 0, "Adam Wilson").made_by == "rules"
    edit(made, "restore", entity_of(made, 0, "Adam Wilson"))
    assert made.make() == third
    with refused("none"):
        edit(made, "restore", entity_of(made, 2, "Betty Wilson"))


def test_a_locked_entity_is_not_changed(made):
    edit(made, "lock", entity_of(made, 0, "Adam Wilson"))
    for act, more in (("draw", {}), ("replace", {"text": "Gregory Fletcher"}), ("restore", {})):
        with refused("locked"):
            edit(made, act, entity_of(made, 0, "Adam Wilson"), **more)
    assert made.make() == made.found
    edit(made, "unlock", entity_of(made, 0, "Adam Wilson"))
    edit(made, "draw", entity_of(made, 0, "Adam Wilson"))


def test_what_may_not_be_merged(made):
    adam, betty = entity_of(made, 0, "Adam Wilson"), entity_of(made, 2, "Betty Wilson")
    carter, city = entity_of(made, 0, "Dr. Emily Carter"), entity_of(made, 0, "Springfield")
    for rows, code in (([adam], "few"), ([adam, betty], "patients"), ([carter, city], "kinds")):
        with refused(code):
            editing.merge(project=made.project, versions={row.pk: row.version for row in rows}, actor=made.mia)
    with refused("gone"):
        editing.merge(project=make.make_project("x"), versions={adam.pk: 1, betty.pk: 1}, actor=made.mia)


def test_nobody_undoes_what_somebody_else_has_changed(made):
    entity = entity_of(made, 0, "Adam Wilson")
    edit(made, "replace", entity, text="Gregory Fletcher")
    for act, more in (("replace", {"text": "Oliver Hughes"}), ("draw", {}), ("lock", {})):
        with refused("changed"):
            edit(made, act, entity, **more)
    assert made.make()[made.one] == "Gregory Fletcher"


def test_events_hold_no_text_and_tell_what_was_done(made):
    before = made.project.created_at
    assert not edited_since(made.project, before)
    edit(made, "lock", entity_of(made, 0, "Springfield"))
    assert not edited_since(made.project, before), "locking changes no surrogate"
    edit(made, "replace", entity_of(made, 0, "Adam Wilson"), text="Gregory Fletcher")
    edit(made, "draw", entity_of(made, 0, "Adam Wilson"))
    assert edited_since(made.project, before)
    events = list(Event.objects.filter(project_id=made.project.pk).order_by("pk"))
    assert [event.verb for event in events] == ["surrogate.locked", "surrogate.replaced", "surrogate.drawn"]
    for event in events:
        assert set(event.data) == {"entity"} and event.actor == made.mia
        assert "Wilson" not in json.dumps(event.data) and "Fletcher" not in json.dumps(event.data)


def test_the_birth_date_in_a_code_moves_as_the_dates_of_the_patient_do(db):
    project = make.make_project("codes", language="it")
    note = make.make_note(project, "Nato il 1/1/1980, CF RSSMRA80A01H501U.", "n", language="it", patient_id="P-1")
    mentions = with_mentions(note, ("RSSMRA80A01H501U", "national id"))
    key = project_key(project)
    days = timedelta(days=date_offset(key, "P-1", note.pk))
    (made,) = surrogates_for(project=project, notes=[mentions]).values()
    assert birth_in(made)[0] == date(1980, 1, 1) + days
    row = SurrogateEntity.objects.get(project=project)
    drawn = draw(project, key, row, opened(key, row)).parts["value"]
    assert drawn != made and birth_in(drawn)[0] == date(1980, 1, 1) + days


def test_splitting_makes_somebody_else_of_the_mentions_and_merging_undoes_it(made):
    entity = entity_of(made, 0, "Adam Wilson")
    everything = list(entity.mentions.values_list("pk", flat=True))
    foreign = list(entity_of(made, 2, "Betty Wilson").mentions.values_list("pk", flat=True))
    for mentions, code in (([], "few"), (foreign, "few"), (everything, "all")):
        with refused(code):
            edit(made, "split", entity, mentions=mentions)
    wilson = SurrogateMention.objects.get(document=made.notes[1], start=0)
    new = edit(made, "split", wilson.entity, mentions=[wilson.pk])
    found = made.make()
    secret = project_key(made.project)
    old = opened(secret, entity_of(made, 0, "Adam Wilson"))
    assert found[made.one] == made.found[made.one] and old.forms == ("Adam Wilson", "Wilson")
    moved = opened(secret, new)
    assert moved.forms == ("Wilson",) and moved.parts["given"] != old.parts["given"]
    assert found[made.notes[1].pk, "Wilson"] == moved.parts["family"]
    later = make.make_note(made.project, "Adam Wilson phoned.", "later", language="en", patient_id="P-1")
    mentions = [with_mentions(later, ("Adam Wilson", "name"))]
    texts = said(mentions, surrogates_for(project=made.project, notes=mentions))
    assert texts[later.pk, "Adam Wilson"] == found[made.one]
    old, new = entity_of(made, 0, "Adam Wilson"), SurrogateEntity.objects.get(pk=new.pk)
    kept = editing.merge(project=made.project, versions={old.pk: old.version, new.pk: new.version}, actor=made.mia)
    assert kept.pk == old.pk, "it has more mentions"
    assert made.make() == made.found and not SurrogateEntity.objects.filter(pk=new.pk).exists()
