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
    with django_assert_max_num_queries(20):
        html = check_page(made.client.get(reverse("surrogates", args=["ward"])))
    for words in ("Adam Wilson", made.found[made.notes[0].pk, "Adam Wilson"], "P-1", "Springfield", "all patients"):
        assert words in html
    html = check_page(made.client.get(reverse("surrogates", args=["ward"]) + "?kind=staff"))
    assert "Emily Carter" in html and "Adam Wilson" not in html
    assert (
        "No entities match" in made.client.get(reverse("surrogates", args=["ward"]) + "?state=locked").content.decode()
    )
    assert made.client.get(reverse("surrogates", args=["ward"]) + "?kind=nothing").status_code == 404


def test_an_empty_index(made):
    SurrogateEntity.objects.all().delete()
    html = check_page(made.client.get(reverse("surrogates", args=["ward"])))
    assert "No surrogates yet" in html and f"{reverse('release_new', args=['ward'])}?policy=surrogate" in html
    assert 'role="search"' not in html, "there is nothing to search"


def test_searching_for_an_original(made):
    names = dict.fromkeys(["wilson", "ADAM wilson", "Wilson Adam"], "Adam Wilson")
    for words, found in {**names, "4711-22": "4711-22", "springfield": "Springfield"}.items():
        html = check_page(made.client.post(reverse("surrogates", args=["ward"]), {"text": words}))
        assert found in html and "Carter" not in html


def test_choosing_too_few_entities_keeps_the_filter(made):
    answer = made.client.post(f"{reverse('surrogates_merge', args=['ward'])}?kind=name", {})
    assert answer.url == f"{reverse('surrogates', args=['ward'])}?kind=name"


def test_searching_for_a_surrogate(made):
    new = made.found[made.notes[0].pk, "Dr. Emily Carter"].removeprefix("Dr. ")
    html = check_page(made.client.post(reverse("surrogates", args=["ward"]), {"text": new.upper()}))
    assert "Emily Carter" in html and "Adam Wilson" not in html
    assert (
        "No entity found" in made.client.post(reverse("surrogates", args=["ward"]), {"text": "Nobody"}).content.decode()
    )
    assert made.client.post(reverse("surrogates", args=["ward"]), {"text": ""}).status_code == 422


def test_an_entity_with_its_mentions_counts_as_reading_the_notes(made):
    html = page_of(made, entity(made))
    for words in ("is well.", "came back", "Adam Wilson", made.found[made.notes[1].pk, "Wilson"]):
        assert words in html
    read = Event.objects.filter(verb="note.read", data={"what": "surrogates"})
    assert {event.document_id for event in read} == {note.pk for note in made.notes[:2]}


def test_replacing_drawing_undoing_and_locking(made):
    row = entity(made)
    assert change(made, row, act="replace", text="Gregory Fletcher").status_code == 302
    assert "Gregory Fletcher" in page_of(made, row)
    assert change(made, entity(made), act="draw").status_code == 302
    assert "Gregory Fletcher" not in page_of(made, row)
    assert change(made, entity(made), act="restore").status_code == 302
    assert "Gregory Fletcher" in page_of(made, row)
    assert change(made, entity(made), act="lock").status_code == 302
    html = page_of(made, row)
    assert "Unlock" in html and "Draw another" not in html
    assert change(made, entity(made), act="unlock").status_code == 302


def test_an_error_keeps_what_the_person_typed(made):
    response = change(made, entity(made), act="replace", text="Emily Carter")
    assert response.status_code == 422
    assert 'value="Emily Carter"' in check_page(response)
    assert change(made, entity(made), act="explode").status_code == 422


def test_two_editors(made):
    row = entity(made)
    assert change(made, row, act="draw").status_code == 302
    response = change(made, row, act="draw")
    assert response.status_code == 422
    SurrogateEntity.objects.filter(pk=row.pk).delete()
    assert change(made, row, act="draw").status_code == 404


def test_splitting_and_merging(made):
    row = entity(made)
    mention = SurrogateMention.objects.get(document=made.notes[1], start=0)
    response = change(made, row, act="split", mention=[mention.pk])
    new = SurrogateEntity.objects.get(pk=int(response.url.rstrip("/").rpartition("/")[2]))
    assert new != row and new.mentions.get() == mention
    chosen = [f"{one.pk}-{one.version}" for one in (new, entity(made))]
    response = made.client.post(reverse("surrogates_merge", args=["ward"]), {"entity": chosen})
    assert response.url == reverse("surrogate", args=["ward", row.pk])
    assert entity(made).mentions.count() == 3
    response = made.client.post(reverse("surrogates_merge", args=["ward"]), {"entity": [chosen[0], "x"]}, follow=True)
    assert "Choose two entities or more" in response.content.decode()
