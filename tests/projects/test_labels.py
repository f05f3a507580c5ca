"""Label sets, and labels in use: rename, merge, preview of a merge, and deletion of unused labels."""

import pytest

from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze
from annotations.models import Event, Job, JobState, Label, PersonalKey, Span
from annotations.projects.events import LABEL_DELETED
from annotations.projects.services import labels
from annotations.projects.services.projects import create_project, shipped_label_sets
from tests import factories as make
from tests.factories import label_of
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(world):
    return world.project


@pytest.fixture
def city(project):
    return label_of(project, "CITY")


def test_every_shipped_set_becomes_a_project():
    assert next(iter(shipped_label_sets())) == "i2b2-2014"
    for key, definition in shipped_label_sets().items():
        project = create_project(name=f"With {key}", label_set_key=key)
        assert project.label_set.labels.count() == len(list(definition.labels()))
    for name, wanted, words in (("x", "nothing", "i2b2-2014"), (f"with-{key}", key, "already exists")):
        with pytest.raises(ServiceError, match=words):
            create_project(name=name, label_set_key=wanted)


def test_merging_moves_spans_drops_duplicates_and_keeps_frozen_gold(world, project):
    make.make_set(world.note, world.ann, [(0, 5, "DOCTOR"), (0, 5, "PATIENT"), (6, 11, "DOCTOR")])
    gold = make.make_author(project, kind="gold", name="gold")
    make.make_set(world.note, gold, [(0, 11, "DOCTOR")], submitted=True)
    version, _ = freeze(project=project, actor=None)
    source, target = label_of(project, "DOCTOR"), label_of(project, "PATIENT")

    preview = labels.merge_preview(source=source, target=target)
    assert (preview["spans"], preview["notes"], preview["already_there"]) == (3, 1, 1)
    assert labels.merge_labels(source=source, target=target, actor=None) == preview

    left = sorted(Span.objects.values_list("start", "end", "label__code"))
    assert left == [(0, 5, "PATIENT"), (0, 11, "PATIENT"), (6, 11, "PATIENT")]
    assert version.notes.get().spans[0][2] == "DOCTOR"
    again, new = freeze(project=project, actor=None)
    assert new and again.number == 2

    # The merged label frees its name and key.
    labels.update_label(label=target, actor=None, name="DOCTOR", hotkey="2")
    for other, words in ((label_of(project, "CITY"), "already merged"), (label_of(world.other, "CITY"), "different")):
        with pytest.raises(ServiceError, match=words):
            labels.merge_labels(source=source if words.startswith("a") else target, target=other, actor=None)


# ── Deletion ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def address(city):
    return f"/projects/covid/labels/{city.pk}/delete/"


def test_an_unused_label_is_deleted_once(world, mia, city, address):
    PersonalKey.objects.create(user=world.ann, label=city, key="c")
    assert address in check_page(mia.get(f"/projects/covid/labels/{city.pk}/"))
    assert "Nothing uses this label" in check_page(mia.get(address))
    for _click in range(2):
        assert mia.post(address).url == "/projects/covid/labels/"
    assert not Label.objects.filter(pk=city.pk).exists() and not PersonalKey.objects.exists()
    assert [event.data for event in Event.objects.filter(verb=LABEL_DELETED)] == [{"label": "CITY", "id": city.pk}]
    assert mia.get(address).status_code == 404


def annotated(world, city):
    make.make_set(world.note, world.ann, [(44, 50, "CITY")])


def with_changes_that_can_be_undone(world, city):
    from annotations.annotate.services.spans import apply_change
    from annotations.core.changes import read_change

    make.make_set(world.note, world.ann)
    change = {"change_id": "6f0c6d5e-0000-4000-8000-000000000001", "kind": "create", "start": 0, "end": 5}
    change |= {"label": city.pk, "quote": world.note.text[:5]}
    apply_change(document=world.note, user=world.ann, change=read_change(change))
    Span.objects.all().delete()


def merged_into(world, city):
    labels.merge_labels(source=label_of(world.project, "PATIENT"), target=city, actor=None)


def frozen(world, city):
    gold = make.make_author(world.project, kind="gold", name="gold")
    made = make.make_set(world.note, gold, [(44, 50, "CITY")], submitted=True)
    freeze(project=world.project, actor=world.mia, reason="")
    Span.objects.filter(annotation_set=made).delete()


def during_a_job(world, city):
    Job.objects.create(kind="export", project=world.project, key="k", state=JobState.RUNNING)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (annotated, "Spans: 1, in notes: 1"), (with_changes_that_can_be_undone, "people can still undo"),
        (merged_into, "1 label that was merged into it"), (frozen, "Gold versions: 1"),
        (during_a_job, "Jobs are running"),
    ],
)  # fmt: skip
def test_a_used_label_is_kept_and_says_where_it_is_used(world, mia, city, address, use, words):
    use(world, city)
    shown, answer = check_page(mia.get(address)), mia.post(address)
    assert answer.status_code == 409 and Label.objects.filter(pk=city.pk).exists()
    assert words in (answer.text if use is during_a_job else shown)
    if use is annotated:
        assert f"/projects/covid/labels/{city.pk}/merge" in shown and "Delete label" not in shown


def test_the_last_label_stays(project, city):
    Label.objects.filter(label_set__project=project).exclude(pk=city.pk).delete()
    with pytest.raises(ServiceError, match="only label"):
        labels.delete_label(label=city, actor=None)
