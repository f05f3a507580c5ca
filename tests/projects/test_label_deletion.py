"""Deleting labels that nothing uses, and saying where a used label is used."""

import pytest
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.gold.services.making import freeze
from annotations.models import Event, Job, Label, PersonalKey, Span
from annotations.projects.events import LABEL_DELETED
from annotations.projects.services.labels import delete_label, merge_labels
from tests import factories as make
from tests.worlds.checks import check_page


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)


@pytest.fixture
def city(world):
    return make.label_of(world.project, "CITY")


def page_of(label):
    return reverse("label_delete", args=["covid", label.pk])


def test_an_unused_label_is_deleted_once(world, mia, city):
    PersonalKey.objects.create(user=world.ann, label=city, key="c")
    assert page_of(city) in check_page(mia.get(reverse("labels", args=["covid"])))
    assert "Nothing uses this label" in check_page(mia.get(page_of(city)))
    for _click in range(2):
        assert mia.post(page_of(city)).url == reverse("labels", args=["covid"])
    assert not Label.objects.filter(pk=city.pk).exists() and not PersonalKey.objects.exists()
    assert [event.data for event in Event.objects.filter(verb=LABEL_DELETED)] == [{"label": "CITY", "id": city.pk}]
    assert "deleted an unused label" in check_page(mia.get(reverse("audit", args=["covid"])))
    assert mia.get(page_of(city)).status_code == 404


def test_a_used_label_says_where_it_is_used(world, mia, city):
    make.make_set(world.note, world.ann, [(44, 50, "CITY")])
    html = check_page(mia.get(page_of(city)))
    assert "Spans: 1, in notes: 1" in html and reverse("label_merge", args=["covid", city.pk]) in html
    assert "Delete label" not in html
    response = mia.post(page_of(city))
    assert response.status_code == 409 and "is used, so it can&#x27;t be deleted" in response.content.decode()
    assert Label.objects.filter(pk=city.pk).exists()


def test_a_label_of_undoable_changes_is_used(world, mia, sign_in, city):
    ann = sign_in(world.ann)
    make.make_set(world.note, world.ann)
    change = {
        "change_id": "6f0c6d5e-0000-4000-8000-000000000001",
        "kind": "create",
        "start": 0,
        "end": 5,
        "label": city.pk,
        "quote": world.note.text[0:5],
        "person": world.ann.pk,
    }
    url = reverse("changes", args=["covid", world.note.pk])
    assert ann.post(url, change, content_type="application/json").status_code == 200
    Span.objects.all().delete()
    assert "people can still undo" in check_page(mia.get(page_of(city)))
    assert mia.post(page_of(city)).status_code == 409


def test_a_label_with_merged_labels_is_used(world, mia, city):
    merge_labels(source=make.label_of(world.project, "PATIENT"), target=city, actor=None)
    assert "1 label that was merged into it" in check_page(mia.get(page_of(city)))
    assert mia.post(page_of(city)).status_code == 409


def test_a_label_of_a_gold_version_is_used(world, mia, city):
    author = make.make_author(world.project, kind="gold", name="gold")
    gold = make.make_set(world.note, author, [(44, 50, "CITY")], submitted=True)
    freeze(project=world.project, actor=world.mia, reason="")
    Span.objects.filter(annotation_set=gold).delete()
    assert "Gold versions: 1" in check_page(mia.get(page_of(city)))
    assert mia.post(page_of(city)).status_code == 409


def test_a_label_is_kept_while_a_job_runs(world, mia, city):
    Job.objects.create(kind="export", project=world.project, key="k", state=Job.State.RUNNING)
    response = mia.post(page_of(city))
    assert response.status_code == 409 and "Jobs are running" in response.content.decode()
    assert Label.objects.filter(pk=city.pk).exists()


def test_the_last_label_stays(world, city):
    Label.objects.filter(label_set__project=world.project).exclude(pk=city.pk).delete()
    with pytest.raises(ServiceError, match="only label"):
        delete_label(label=city, actor=None)
