"""Edits of the index by services, on pages and by the API, each as one event without text; and erasures."""

import json
from datetime import date, timedelta

import pytest
from django.urls import reverse

from annotations.core.sealing import project_key
from annotations.models import Event, SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.release.rules.surrogates.identifiers import birth_in
from annotations.release.selectors.surrogates import edited_since, opened
from annotations.release.services.surrogates import editing
from annotations.release.services.surrogates.editing import draw
from annotations.release.services.surrogates.making import surrogates_for
from annotations.release.services.surrogates.patients import date_offset
from tests import factories as make
from tests.release.surrogates.conftest import said, with_mentions
from tests.worlds.checks import check_page, refused
from tests.worlds.programs import Program


@pytest.fixture
def made(made, sign_in):
    made.one, made.client = (made.notes[0].pk, "Adam Wilson"), sign_in(made.mia)
    return made


def entity_of(ward, note=0, text="Adam Wilson"):
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


# Pages


def send(ward, row, **data):
    return ward.client.post(reverse("surrogate_change", args=["ward", row.pk]), {"version": row.version} | data)


def page_of(ward, row):
    return check_page(ward.client.get(reverse("surrogate", args=["ward", row.pk])))


def test_the_list_shows_originals_surrogates_and_whose_they_are(made, django_assert_max_num_queries):
    index = reverse("surrogates", args=["ward"])
    with django_assert_max_num_queries(20):
        html = check_page(made.client.get(index))
    for words in ("Adam Wilson", made.found[made.notes[0].pk, "Adam Wilson"], "P-1", "Springfield", "all patients"):
        assert words in html
    html = check_page(made.client.get(f"{index}?kind=staff"))
    assert "Emily Carter" in html and "Adam Wilson" not in html
    assert "Adam Wilson" not in made.client.get(f"{index}?state=locked").content.decode()
    assert made.client.get(f"{index}?kind=nothing").status_code == 404
    SurrogateEntity.objects.all().delete()
    html = check_page(made.client.get(index))
    assert f"{reverse('release_new', args=['ward'])}?policy=surrogate" in html
    assert 'role="search"' not in html, "there is nothing to search"


def test_an_entity_with_its_mentions_counts_as_reading_the_notes(made):
    html = page_of(made, entity_of(made))
    for words in ("is well.", "came back", "Adam Wilson", made.found[made.notes[1].pk, "Wilson"]):
        assert words in html
    read = Event.objects.filter(verb="note.read", data={"what": "surrogates"})
    assert {event.document_id for event in read} == {note.pk for note in made.notes[:2]}


def test_replacing_drawing_undoing_and_locking(made):
    row = entity_of(made)
    response = send(made, row, act="replace", text="Emily Carter")
    assert response.status_code == 422 and 'value="Emily Carter"' in check_page(response)
    assert send(made, row, act="explode").status_code == 422
    for act, shown in (("replace", True), ("draw", False), ("restore", True)):
        before = entity_of(made)
        assert send(made, before, act=act, text="Gregory Fletcher").status_code == 302
        assert ("Gregory Fletcher" in page_of(made, row)) is shown
        assert send(made, before, act=act, text="Nora Sandoval").status_code == 422, "another editor was first"
    assert send(made, entity_of(made), act="lock").status_code == 302
    html = page_of(made, row)
    assert "Unlock" in html and "Draw another" not in html
    assert send(made, entity_of(made), act="unlock").status_code == 302
    SurrogateEntity.objects.filter(pk=row.pk).delete()
    assert send(made, row, act="draw").status_code == 404


def test_splitting_and_merging(made):
    row, merge = entity_of(made), reverse("surrogates_merge", args=["ward"])
    mention = SurrogateMention.objects.get(document=made.notes[1], start=0)
    response = send(made, row, act="split", mention=[mention.pk])
    new = SurrogateEntity.objects.get(pk=int(response.url.rstrip("/").rpartition("/")[2]))
    assert new != row and new.mentions.get() == mention
    chosen = [f"{one.pk}-{one.version}" for one in (new, entity_of(made))]
    response = made.client.post(merge, {"entity": chosen})
    assert response.url == reverse("surrogate", args=["ward", row.pk]) and entity_of(made).mentions.count() == 3
    response = made.client.post(f"{merge}?kind=name", {"entity": [chosen[0], "x"]})
    assert response.url == f"{reverse('surrogates', args=['ward'])}?kind=name", "too few entities; the filter stays"


def test_searching_for_an_original_or_a_surrogate(made):
    index = reverse("surrogates", args=["ward"])
    surrogate = made.found[made.notes[0].pk, "Dr. Emily Carter"].removeprefix("Dr. ")
    names = dict.fromkeys(["wilson", "ADAM wilson", "Wilson Adam"], "Adam Wilson")
    others = {text: text for text in ("4711-22", "Springfield")} | {surrogate.upper(): "Emily Carter", "Nobody": "No "}
    for words, found in (names | others).items():
        html = check_page(made.client.post(index, {"text": words}))
        assert found in html and ("Carter" in html) == (found == "Emily Carter")
        assert ("Adam Wilson" in html) == (found == "Adam Wilson")
    assert made.client.post(index, {"text": ""}).status_code == 422


# Erasing a patient or a note takes what only they said from the index.


def forms(ward):
    key = project_key(ward.project)
    return {form for row in SurrogateEntity.objects.filter(project=ward.project) for form in opened(key, row).forms}


@pytest.mark.both_databases
def test_words_whose_label_changed_are_erased_too(made):
    """The entity that had them first is shared by all patients, and no mention leads from the note to it."""
    SurrogateEntity.objects.all().delete()
    texts = (("P-1", "Seen by Dr. Zelda Quux."), ("P-2", "Dr. Zelda Quux"), ("P-1", "Quux again, of Zwolle."))
    about = {"project": made.project, "language": "en"}
    notes = [make.make_note(**about, text=text, patient_id=patient) for patient, text in texts]

    def release(*labeled):
        mentions = [with_mentions(note, *some) for note, some in zip(notes, labeled, strict=True)]
        surrogates_for(project=made.project, notes=mentions)

    doctor = ("Dr. Zelda Quux", "staff")
    release([doctor], [doctor], [("Quux", "staff"), ("Zwolle", "hospital")])
    release([doctor], [doctor], [("Quux", "name"), ("Zwolle", "city")])
    assert {"Quux", "Zwolle"} <= forms(made)
    erase_patient(project=made.project, patient_id="P-1", actor=made.mia)
    assert forms(made) == {"Dr. Zelda Quux"}


@pytest.mark.both_databases
def test_deleting_one_note_of_a_patient(made):
    delete_note(project=made.project, note=made.notes[0].pk, actor=made.mia)
    assert forms(made) == {"Wilson", "Dr. Carter", "4711-22", "Betty Wilson", "Dr. Emily Carter", "9918-31"}


@pytest.mark.both_databases
def test_erasing_patients(made):
    other = make.make_project("other")
    note = make.make_note(other, "Adam Wilson", "n", patient_id="P-1")
    surrogates_for(project=other, notes=[with_mentions(note, ("Adam Wilson", "name"))])
    keys = SurrogateKey.objects.count()
    erase_patient(project=made.project, patient_id="P-1", actor=made.mia)
    own = SurrogateEntity.objects.filter(project=made.project)
    assert forms(made) == {"Betty Wilson", "Dr. Emily Carter", "9918-31"}, "“Dr. Carter” was only P-1's"
    mentions = SurrogateMention.objects.filter(entity__project=made.project)
    assert set(mentions.values_list("document_id", flat=True)) == {made.notes[2].pk}
    assert SurrogateKey.objects.count() < keys and not own.filter(mentions=None).exists()
    # What others say keeps its surrogate.
    rest, last = made.mentions[2:], made.notes[2].pk
    kept = {key: text for key, text in made.found.items() if key[0] == last}
    assert said(rest, surrogates_for(project=made.project, notes=rest)) == kept
    erase_patient(project=made.project, patient_id="P-2", actor=made.mia)
    assert not own.exists() and SurrogateEntity.objects.filter(project=other).count() == 1


# The API


INDEX = "/projects/ward/surrogates"


def test_edits_of_an_entity(made):
    program, row = Program(made.mia), entity_of(made)
    listed = {one["id"]: (one["mentions"], one["whose"]) for one in program.get(INDEX).json()["items"]}
    assert listed[row.pk] == (3, "P-1") and len(listed) == SurrogateEntity.objects.count()
    adam = {one["id"]: one for one in program.post(f"{INDEX}/search", {"text": "Adam Wilson"}).json()}[row.pk]
    one = f"{INDEX}/{adam['id']}"
    etag = program.get(one).headers["ETag"]
    assert program.post(f"{one}/change", {"act": "lock"}).status_code == 428
    locked = program.post(f"{one}/change", {"act": "lock"}, if_match=etag)
    assert locked.json()["locked"]
    assert program.post(f"{one}/change", {"act": "unlock"}, if_match=etag).status_code == 412
    program.post(f"{one}/change", {"act": "unlock"}, if_match=locked.headers["ETag"])
    replaced = program.post(f"{one}/change", {"act": "replace", "text": "Carl Fonts"}, if_match="*").json()
    assert (replaced["forms"][0]["surrogate"], replaced["edited_by"]) == ("Carl Fonts", "mia")
    wrong = program.post(f"{one}/change", {"act": "replace", "text": "Adam Wilson"}, if_match="*")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "text")

    mentions = program.get(f"{one}/mentions").json()["items"]
    text = made.notes[0].text
    assert (mentions[0]["start"], mentions[0]["marked"]) == (text.index("Adam"), "Adam Wilson") and len(mentions) == 3
    new = program.post(f"{one}/split", {"mentions": [mentions[2]["id"]]}, if_match="*").json()
    assert new["id"] != adam["id"] and new["mentions"] == 1
    both = [{"entity": row["id"], "version": row["version"]} for row in (program.get(one).json(), new)]
    assert program.post(f"{INDEX}/merge", {"entities": both}).json()["mentions"] == 3
    assert program.get(f"{INDEX}?state=edited").json()["items"][0]["mentions"] == 3
