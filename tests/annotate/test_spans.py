"""annotate.services.spans: one change at a time, and every way it can be refused."""

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError

from annotations.annotate.services import spans
from annotations.annotate.services.annotation_set import reopen, submit
from annotations.annotate.services.spans import Answer, apply_change
from annotations.core.changes import Refused, read_change
from annotations.core.events import Verb
from annotations.models import AnnotationSet, Author, Event, Span, User
from annotations.projects.services import labels as label_services
from tests import factories as make
from tests.annotate.conftest import alter, at, create, step

pytestmark = pytest.mark.django_db


def do(world: SimpleNamespace, data: dict[str, Any], user: User | None = None, **kwargs: Any) -> Answer:
    return apply_change(document=world.note, user=user or world.ann, change=read_change(data), **kwargs)


def refused(world: SimpleNamespace, data: dict[str, Any]) -> Refused:
    before = list(Span.objects.values_list("pk", "start", "end", "label_id"))
    events = Event.objects.count()
    with pytest.raises(Refused) as caught:
        do(world, data)
    assert list(Span.objects.values_list("pk", "start", "end", "label_id")) == before
    assert Event.objects.count() == events
    return caught.value


def bounds() -> list[tuple[int, int, str]]:
    return list(Span.objects.order_by("start", "end", "label_id").values_list("start", "end", "label__name"))


def test_the_first_span_makes_author_and_set(world: SimpleNamespace) -> None:
    answer = do(world, create(world.note, world.labels, "Mario Rossi", "PATIENT"))
    assert answer.version == 1
    assert answer.span == {"id": Span.objects.get().pk, "start": 0, "end": 11, "label": world.labels["PATIENT"]}
    annotation_set = AnnotationSet.objects.get()
    assert (annotation_set.version, annotation_set.state, annotation_set.blind) == (1, "draft", True)
    assert (annotation_set.author.user, annotation_set.author.kind, annotation_set.author.name) == (
        world.ann,
        Author.Kind.ANNOTATOR,
        "ann",
    )


def test_the_event_holds_offsets_and_no_text(world: SimpleNamespace) -> None:
    data = create(world.note, world.labels, "Mario Rossi", "PATIENT")
    do(world, data)
    event = Event.objects.get()
    assert event.verb == "span.created"
    assert str(event.change_id) == data["change_id"]
    assert (event.actor, event.project_id, event.document_id) == (world.ann, world.project.pk, world.note.pk)
    assert event.data == {
        "kind": "create",
        "span": Span.objects.get().pk,
        "before": None,
        "after": [0, 11, world.labels["PATIENT"]],
    }


def test_white_space_is_trimmed_and_the_quote_is_of_what_was_selected(world: SimpleNamespace) -> None:
    answer = do(world, create(world.note, world.labels, " 54 ", "AGE"))
    assert answer.span
    assert (answer.span["start"], answer.span["end"]) == at(world.note.text, "54")


def test_spans_may_overlap_nest_and_touch(world: SimpleNamespace) -> None:
    for part, label in [("Mario Rossi", "PATIENT"), ("Rossi", "DOCTOR"), ("Rossi, 54", "AGE"), ("Mario", "CITY")]:
        assert not do(world, create(world.note, world.labels, part, label)).already
    assert Span.objects.count() == 4


def test_the_same_span_with_the_same_label_is_there_already(world: SimpleNamespace) -> None:
    first = do(world, create(world.note, world.labels, "Torino", "CITY"))
    again = do(world, create(world.note, world.labels, "Torino", "CITY"))
    assert again.already
    assert again.span == first.span
    assert again.version == first.version
    assert Event.objects.count() == 1


@pytest.mark.parametrize("kind", ["create", "relabel", "resize", "delete", "undo", "redo"])
def test_a_replay_has_no_second_effect(world: SimpleNamespace, kind: str) -> None:
    made = do(world, create(world.note, world.labels, "Torino", "CITY"))
    do(world, create(world.note, world.labels, "54", "AGE"))
    assert made.span
    start, end = at(world.note.text, "Torino dal")
    data = {
        "create": create(world.note, world.labels, "Rossi", "PATIENT"),
        "relabel": alter("relabel", made.span, label=world.labels["HOSPITAL"]),
        "resize": alter("resize", made.span, start=start, end=end, quote="Torino dal"),
        "delete": alter("delete", made.span),
        "undo": step("undo"),
        "redo": step("redo"),
    }[kind]
    if kind == "redo":
        do(world, step("undo"))
        do(world, step("undo"))
    first = do(world, data)
    after, events = bounds(), Event.objects.count()
    for _ in range(2):
        again = do(world, data)
        assert (again.span, again.removed, again.version) == (first.span, first.removed, first.version)
        assert again.spans is not None
    assert (bounds(), Event.objects.count()) == (after, events)


def test_a_change_id_stands_for_one_change(world: SimpleNamespace) -> None:
    data = create(world.note, world.labels, "Torino", "CITY")
    do(world, data)
    assert refused(world, step("undo", change_id=data["change_id"])).code == "change-id"


def test_relabel_resize_and_delete_keep_the_id(world: SimpleNamespace) -> None:
    made = do(world, create(world.note, world.labels, "Torino", "CITY")).span
    assert made
    relabeled = do(world, alter("relabel", made, label=world.labels["HOSPITAL"])).span
    assert relabeled == made | {"label": world.labels["HOSPITAL"]}
    start, end = at(world.note.text, "a Torino")
    resized = do(world, alter("resize", relabeled, start=start, end=end, quote="a Torino")).span
    assert resized == relabeled | {"start": start, "end": end}
    gone = do(world, alter("delete", resized))
    assert (gone.removed, gone.span, gone.version) == (made["id"], None, 4)
    assert bounds() == []
    assert [event.verb for event in Event.objects.all()] == [
        "span.created", "span.changed", "span.changed", "span.deleted",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["relabel", "resize", "delete"])
@pytest.mark.parametrize("meanwhile", ["relabel", "delete"])
def test_what_changed_in_the_meantime_is_not_overwritten(world: SimpleNamespace, kind: str, meanwhile: str) -> None:
    made = do(world, create(world.note, world.labels, "Torino", "CITY")).span
    assert made
    do(world, alter(meanwhile, made, label=world.labels["AGE"]))
    start, end = at(world.note.text, "a Torino")
    change = alter(kind, made, label=world.labels["HOSPITAL"], start=start, end=end, quote="a Torino")
    error = refused(world, change)
    assert (error.code, error.status, error.version) == ("changed", 409, 2)
    assert error.spans is not None
    assert [span["label"] for span in error.spans] == ([world.labels["AGE"]] if meanwhile == "relabel" else [])


def test_a_relabel_into_a_twin_keeps_both_and_says_so(world: SimpleNamespace) -> None:
    made = do(world, create(world.note, world.labels, "Torino", "CITY")).span
    twin = do(world, create(world.note, world.labels, "Torino", "HOSPITAL")).span
    assert made
    answer = do(world, alter("relabel", made, label=world.labels["HOSPITAL"]))
    assert (answer.already, answer.span) == (True, twin)
    assert len(bounds()) == 2


@pytest.mark.parametrize(
    ("over", "code"),
    [
        ({"quote": "Milano"}, "quote"),
        ({"start": 5, "end": 5, "quote": ""}, "empty"),
        ({"start": 9, "end": 5, "quote": ""}, "empty"),
        ({"start": 60, "end": 1000, "quote": ""}, "outside"),
        ({"start": 5, "end": 6, "quote": " "}, "white"),
        ({"label": 10**9}, "label"),
    ],
)
def test_what_does_not_fit_the_note_is_refused(world: SimpleNamespace, over: dict[str, Any], code: str) -> None:
    do(world, create(world.note, world.labels, "54", "AGE"))
    assert refused(world, create(world.note, world.labels, "Torino", "CITY") | over).code == code


def test_nothing_at_all_stays_of_a_refused_first_change(world: SimpleNamespace) -> None:
    refused(world, create(world.note, world.labels, "Torino", "CITY", label=10**9))
    assert not AnnotationSet.objects.exists()
    assert not Author.objects.exists()


def test_a_label_of_another_project_is_refused(world: SimpleNamespace) -> None:
    other = make.make_project("other")
    label = make.label_of(other, "CITY").pk
    assert refused(world, create(world.note, world.labels, "Torino", "CITY", label=label)).code == "label"
    made = do(world, create(world.note, world.labels, "Torino", "CITY")).span
    assert made
    assert refused(world, alter("relabel", made, label=label)).code == "label"


def merge(world: SimpleNamespace) -> None:
    city, hospital = make.label_of(world.project, "CITY"), make.label_of(world.project, "HOSPITAL")
    label_services.merge_labels(source=city, target=hospital, actor=world.mia)


def test_a_merged_label_means_what_it_became(world: SimpleNamespace) -> None:
    """A page that was offline meanwhile loses none of its spans."""
    shown = do(world, create(world.note, world.labels, "54", "AGE")).span
    merge(world)
    data = create(world.note, world.labels, "Torino", "CITY")
    made = do(world, data)
    assert "merged" in made.message
    assert do(world, data).span == made.span
    assert "merged" in do(world, alter("relabel", shown, label=world.labels["CITY"])).message
    many = [create(world.note, world.labels, part, "CITY") for part in ("Torino", "Bianchi", "visto")]
    assert len(do(world, step("create_many", spans=many)).made) == 2
    assert {span.label.name for span in Span.objects.select_related("label")} == {"HOSPITAL"}


@pytest.mark.parametrize("kind", ["relabel", "resize", "delete"])
def test_a_span_whose_label_was_merged_is_the_one_that_the_page_saw(world: SimpleNamespace, kind: str) -> None:
    shown = do(world, create(world.note, world.labels, "Torino", "CITY")).span
    merge(world)
    start, end = shown["start"], shown["end"]
    over = {"relabel": {"label": world.labels["AGE"]}, "resize": {"start": start, "end": end - 1, "quote": "Torin"}}
    answer = do(world, alter(kind, shown, **over.get(kind, {})))
    assert not answer.message
    assert bounds() == {"relabel": [(start, end, "AGE")], "resize": [(start, end - 1, "HOSPITAL")], "delete": []}[kind]


def test_a_malformed_change_names_the_field(world: SimpleNamespace) -> None:
    change = create(world.note, world.labels, "Torino", "CITY")
    for over, field in (
        ({"change_id": "no"}, "change_id"), ({"change_id": 7}, "change_id"), ({"change_id": None}, "change_id"),
        ({"kind": "explode"}, "kind"), ({"kind": None}, "kind"), ({"start": "0"}, "start"), ({"start": -1}, "start"),
        ({"start": True}, "start"), ({"end": 2**40}, "end"), ({"end": 1.5}, "end"), ({"label": None}, "label"),
        ({"quote": None}, "quote"), ({"version": "x"}, "version"), ({"kind": "delete"}, "span"),
        ({"kind": "delete", "span": 1}, "seen"), ({"kind": "delete", "span": 1, "seen": [1, 2]}, "seen"),
        ({"kind": "delete", "span": 1, "seen": [1, 2, "3"]}, "seen"),
    ):  # fmt: skip
        with pytest.raises(Refused, match=f"“{field}”") as caught:
            read_change(change | over)
        assert (caught.value.code, caught.value.status) == ("malformed", 400)
    for data in (None, [], "x", 3):
        with pytest.raises(Refused):
            read_change(data)


def test_another_tab_is_told_what_it_missed(world: SimpleNamespace) -> None:
    do(world, create(world.note, world.labels, "Torino", "CITY", version=0))
    stale = do(world, create(world.note, world.labels, "54", "AGE", version=0))
    assert stale.changed_elsewhere
    assert stale.spans is not None
    assert len(stale.spans) == 2
    fresh = do(world, create(world.note, world.labels, "Rossi", "PATIENT", version=2))
    assert (fresh.changed_elsewhere, fresh.spans) == (False, None)


def test_two_people_do_not_see_each_other(world: SimpleNamespace) -> None:
    do(world, create(world.note, world.labels, "Torino", "CITY"))
    answer = do(world, create(world.note, world.labels, "Torino", "CITY", version=0), world.ben)
    assert not answer.already
    assert not answer.changed_elsewhere
    assert AnnotationSet.objects.count() == 2


def test_nobody_can_change_anothers_span(world: SimpleNamespace) -> None:
    made = do(world, create(world.note, world.labels, "Torino", "CITY"), world.ben).span
    assert made
    do(world, create(world.note, world.labels, "54", "AGE"))
    assert refused(world, alter("delete", made)).code == "changed"
    assert refused(world, alter("relabel", made, label=world.labels["AGE"])).code == "changed"


def test_a_submitted_set_can_not_change_until_it_is_reopened(world: SimpleNamespace) -> None:
    do(world, create(world.note, world.labels, "Torino", "CITY"))
    submit(document=world.note, user=world.ann)
    error = refused(world, create(world.note, world.labels, "54", "AGE"))
    assert (error.code, error.status, error.state) == ("submitted", 409, "submitted")
    assert error.spans is not None
    assert refused(world, step("undo")).code == "submitted"
    reopen(document=world.note, user=world.ann)
    assert do(world, create(world.note, world.labels, "54", "AGE")).span


def test_a_withdrawn_set_can_not_change(world: SimpleNamespace) -> None:
    do(world, create(world.note, world.labels, "Torino", "CITY"))
    AnnotationSet.objects.update(state=AnnotationSet.State.WITHDRAWN)
    assert refused(world, create(world.note, world.labels, "54", "AGE")).code == "withdrawn"


def test_who_sees_other_sets_is_not_blind(world: SimpleNamespace) -> None:
    do(world, create(world.note, world.labels, "Torino", "CITY"), world.rev, blind=False)
    assert AnnotationSet.objects.get().blind is False


def test_a_set_is_no_longer_blind_once_the_person_is_not(world: SimpleNamespace) -> None:
    do(world, create(world.note, world.labels, "Torino", "CITY"))
    do(world, create(world.note, world.labels, "54", "AGE"), blind=False)
    assert AnnotationSet.objects.get().blind is False


def test_an_imported_set_under_the_persons_name_is_theirs(world: SimpleNamespace) -> None:
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    answer = do(world, create(world.note, world.labels, "Torino", "CITY", version=0))
    assert not answer.changed_elsewhere
    assert AnnotationSet.objects.count() == 1


def test_what_a_span_carries_comes_back_with_it(world: SimpleNamespace) -> None:
    annotation_set = make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    Span.objects.filter(annotation_set=annotation_set).update(source="rules/7", confidence=0.5)
    span = Span.objects.get()
    seen = {"id": span.pk, "start": 0, "end": 11, "label": span.label_id}
    do(world, alter("delete", seen))
    for kind in ("undo", "redo", "undo"):
        do(world, step(kind))
    span = Span.objects.get()
    assert (span.pk, span.source, span.confidence) == (seen["id"], "rules/7", 0.5)


def test_offsets_are_code_points_in_any_script(db: None) -> None:
    text = "\ufeffÀ 👩‍👧 e\u0301\r\n\r\nמרים כהן\tNBSP\u00a0\r\n</div><script>alert(1)</script>"
    project = make.make_project()
    ann = make.make_member(project)
    note = make.make_note(project, text, annotators=[ann])
    label = make.label_of(project, "PATIENT").pk
    for part in ("👩‍👧", "e\u0301", "מרים כהן", "<script>", "e\u0301\r\n\r\nמרים"):
        start, end = at(text, part)
        change = read_change(
            {
                "change_id": str(uuid.uuid4()),
                "kind": "create",
                "start": start,
                "end": end,
                "label": label,
                "quote": part,
            }
        )
        span = apply_change(document=note, user=ann, change=change).span
        assert span
        assert text[span["start"] : span["end"]] == part


@pytest.mark.parametrize("times", [1, 2, 3], ids=["once", "twice", "every time"])
def test_who_loses_a_race_tries_again(world: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Another request made the same row between the check and the write, which only the database notices."""
    lost, record = [], Verb.record

    def losing(verb: Verb[Any], **words: Any) -> Event:
        made = record(verb, **words)
        if len(lost) < times:
            lost.append(made)
            raise IntegrityError
        return made

    monkeypatch.setattr(Verb, "record", losing)
    data = create(world.note, world.labels, "Torino", "CITY")
    if times == spans.TRIES:
        error = refused(world, data)
        assert (error.code, error.status) == ("busy", 503)  # which a page takes for "not now", and sends it again
        return
    assert do(world, data).version == 1
    assert len(bounds()) == Event.objects.filter(verb__startswith="span.").count() == 1
