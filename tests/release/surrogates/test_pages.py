"""The pages of the index of surrogates."""

import pytest
from django.urls import reverse

from annotations.models import Event, SurrogateEntity, SurrogateMention
from tests.worlds.checks import check_page


@pytest.fixture
def made(made, sign_in):
    made.client = sign_in(made.mia)
    return made


def entity(ward, note=0, text="Adam Wilson"):
    mention = next(one for one in ward.mentions[note].mentions if one.text == text)
    return SurrogateMention.objects.get(document=ward.notes[note], start=mention.start).entity


def change(ward, row, **data):
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
    html = page_of(made, entity(made))
    for words in ("is well.", "came back", "Adam Wilson", made.found[made.notes[1].pk, "Wilson"]):
        assert words in html
    read = Event.objects.filter(verb="note.read", data={"what": "surrogates"})
    assert {event.document_id for event in read} == {note.pk for note in made.notes[:2]}


def test_replacing_drawing_undoing_and_locking(made):
    row = entity(made)
    response = change(made, row, act="replace", text="Emily Carter")
    assert response.status_code == 422 and 'value="Emily Carter"' in check_page(response)
    assert change(made, row, act="explode").status_code == 422
    for act, shown in (("replace", True), ("draw", False), ("restore", True)):
        before = entity(made)
        assert change(made, before, act=act, text="Gregory Fletcher").status_code == 302
        assert ("Gregory Fletcher" in page_of(made, row)) is shown
        assert change(made, before, act=act, text="Nora Sandoval").status_code == 422, "another editor was first"
    assert change(made, entity(made), act="lock").status_code == 302
    html = page_of(made, row)
    assert "Unlock" in html and "Draw another" not in html
    assert change(made, entity(made), act="unlock").status_code == 302
    SurrogateEntity.objects.filter(pk=row.pk).delete()
    assert change(made, row, act="draw").status_code == 404


def test_splitting_and_merging(made):
    row, merge = entity(made), reverse("surrogates_merge", args=["ward"])
    mention = SurrogateMention.objects.get(document=made.notes[1], start=0)
    response = change(made, row, act="split", mention=[mention.pk])
    new = SurrogateEntity.objects.get(pk=int(response.url.rstrip("/").rpartition("/")[2]))
    assert new != row and new.mentions.get() == mention
    chosen = [f"{one.pk}-{one.version}" for one in (new, entity(made))]
    response = made.client.post(merge, {"entity": chosen})
    assert response.url == reverse("surrogate", args=["ward", row.pk]) and entity(made).mentions.count() == 3
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
