"""annotate.services.spans: one change at a time, and every way it can be refused."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError

from annotations.annotate.services import spans
from annotations.annotate.services.annotation_set import reopen, submit
from annotations.annotate.services.spans import apply_change
from annotations.core.access import enter
from annotations.core.changes import ChangeRefused, read_change
from annotations.core.services import Verb
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, Event, Project, Span
from tests import factories as make
from tests.annotate.conftest import alter, at, create, do, made, many, merge, refused, step


def bounds() -> list[tuple[int, int, str]]:
    return list(Span.objects.order_by("start", "end", "label_id").values_list("start", "end", "label__name"))


def test_the_first_span_makes_author_and_set_and_an_event_without_text(world: SimpleNamespace) -> None:
    data = create(world.note, world.labels, "Mario Rossi", "PATIENT")
    answer = do(world, data)
    span = Span.objects.get()
    assert answer.version == 1
    assert answer.span == {"id": span.pk, "start": 0, "end": 11, "label": world.labels["PATIENT"]}
    annotation_set = AnnotationSet.objects.get()
    author = annotation_set.author
    assert (annotation_set.version, annotation_set.state, annotation_set.blind) == (1, "draft", True)
    assert (author.user, author.kind, author.name) == (world.ann, AuthorKind.ANNOTATOR, "ann")
    event = Event.objects.get()
    assert (event.verb, str(event.change_id)) == ("span.created", data["change_id"])
    assert (event.actor, event.project_id, event.document_id) == (world.ann, world.project.pk, world.note.pk)
    after = [0, 11, world.labels["PATIENT"]]
    assert event.data == {"kind": "create", "span": span.pk, "before": None, "after": after}


def test_an_author_that_an_import_made_meanwhile_becomes_the_persons(world: SimpleNamespace) -> None:
    author = make.make_author(world.project, name="ann")
    assert do(world, create(world.note, world.labels, "Torino", "CITY")).version == 1
    assert make.reread(author).user == world.ann


def test_spans_are_trimmed_and_may_overlap_nest_and_touch(world: SimpleNamespace) -> None:
    span = made(world, " 54 ", "AGE")
    assert (span["start"], span["end"]) == at(world.note.text, "54")
    for part, label in [("Mario Rossi", "PATIENT"), ("Rossi", "DOCTOR"), ("Rossi, 54", "AGE"), ("Mario", "CITY")]:
        assert not do(world, create(world.note, world.labels, part, label)).already
    assert Span.objects.count() == 5


def test_the_same_span_with_the_same_label_is_there_already(world: SimpleNamespace) -> None:
    first, again = (do(world, create(world.note, world.labels, "Torino", "CITY")) for _ in range(2))
    assert (again.already, again.span, again.version) == (True, first.span, first.version)
    assert Event.objects.count() == 1


@pytest.mark.parametrize("kind", ["create", "relabel", "resize", "delete", "undo", "redo"])
def test_a_replay_has_no_second_effect(world: SimpleNamespace, kind: str) -> None:
    span = made(world, "Torino", "CITY")
    made(world, "54", "AGE")
    start, end = at(world.note.text, "Torino dal")
    data = {
        "create": create(world.note, world.labels, "Rossi", "PATIENT"),
        "relabel": alter("relabel", span, label=world.labels["HOSPITAL"]),
        "resize": alter("resize", span, start=start, end=end, quote="Torino dal"), "delete": alter("delete", span),
        "undo": step("undo"), "redo": step("redo"),
    }[kind]  # fmt: skip
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
    assert refused(world, step("undo" if kind != "undo" else "redo", change_id=data["change_id"])).code == "change-id"


def test_relabel_resize_and_delete_keep_the_id(world: SimpleNamespace) -> None:
    span = made(world, "Torino", "CITY")
    relabeled = do(world, alter("relabel", span, label=world.labels["HOSPITAL"])).span
    assert relabeled == span | {"label": world.labels["HOSPITAL"]}
    start, end = at(world.note.text, "a Torino")
    resized = do(world, alter("resize", relabeled, start=start, end=end, quote="a Torino")).span
    assert resized == relabeled | {"start": start, "end": end}
    gone = do(world, alter("delete", resized))
    assert (gone.removed, gone.span, gone.version) == (span["id"], None, 4)
    assert bounds() == []
    verbs = [event.verb for event in Event.objects.all()]
    assert verbs == ["span.created", "span.changed", "span.changed", "span.deleted"]


@pytest.mark.parametrize("kind", ["relabel", "resize", "delete"])
@pytest.mark.parametrize("meanwhile", ["relabel", "delete"])
def test_what_changed_in_the_meantime_is_not_overwritten(world: SimpleNamespace, kind: str, meanwhile: str) -> None:
    span = made(world, "Torino", "CITY")
    do(world, alter(meanwhile, span, label=world.labels["AGE"]))
    start, end = at(world.note.text, "a Torino")
    error = refused(world, alter(kind, span, label=world.labels["HOSPITAL"], start=start, end=end, quote="a Torino"))
    assert (error.code, error.status, error.version) == ("changed", 409, 2)
    assert error.spans is not None
    assert [span["label"] for span in error.spans] == ([world.labels["AGE"]] if meanwhile == "relabel" else [])


def test_a_relabel_into_a_twin_keeps_both_and_says_so(world: SimpleNamespace) -> None:
    span, twin = made(world, "Torino", "CITY"), made(world, "Torino", "HOSPITAL")
    answer = do(world, alter("relabel", span, label=world.labels["HOSPITAL"]))
    assert (answer.already, answer.span, len(bounds())) == (True, twin, 2)


def test_what_does_not_fit_the_note_is_refused(world: SimpleNamespace) -> None:
    foreign = make.label_of(make.make_project("other"), "CITY").pk
    cases: list[tuple[dict[str, Any], str]] = [
        ({"quote": "Milano"}, "quote"), ({"start": 5, "end": 5, "quote": ""}, "empty"),
        ({"start": 9, "end": 5, "quote": ""}, "empty"), ({"start": 60, "end": 1000, "quote": ""}, "outside"),
        ({"start": 5, "end": 6, "quote": " "}, "white"), ({"label": 10**9}, "label"), ({"label": foreign}, "label"),
    ]  # fmt: skip
    for over, code in cases:
        assert refused(world, create(world.note, world.labels, "Torino", "CITY") | over).code == code
    # Nothing at all stays of a refused first change.
    assert not AnnotationSet.objects.exists() and not Author.objects.exists()
    assert refused(world, alter("relabel", made(world, "Torino", "CITY"), label=foreign)).code == "label"


def test_a_merged_label_means_what_it_became(world: SimpleNamespace) -> None:
    """A page that was offline meanwhile loses none of its spans."""
    shown = made(world, "54", "AGE")
    merge(world, "CITY", "HOSPITAL")
    data = create(world.note, world.labels, "Torino", "CITY")
    answer = do(world, data)
    assert "merged" in answer.message
    assert do(world, data).span == answer.span
    assert "merged" in do(world, alter("relabel", shown, label=world.labels["CITY"])).message
    assert len(do(world, many(world, [(part, "CITY") for part in ("Torino", "Bianchi", "visto")])).made or []) == 2
    assert {span.label.name for span in Span.objects.select_related("label")} == {"HOSPITAL"}


@pytest.mark.parametrize("kind", ["relabel", "resize", "delete"])
def test_a_span_whose_label_was_merged_is_the_one_that_the_page_saw(world: SimpleNamespace, kind: str) -> None:
    shown = made(world, "Torino", "CITY")
    merge(world, "CITY", "HOSPITAL")
    start, end = shown["start"], shown["end"]
    over = {"relabel": {"label": world.labels["AGE"]}, "resize": {"start": start, "end": end - 1, "quote": "Torin"}}
    assert not do(world, alter(kind, shown, **over.get(kind, {}))).message
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
        with pytest.raises(ChangeRefused, match=f"“{field}”") as caught:
            read_change(change | over)
        assert (caught.value.code, caught.value.status) == ("malformed", 400)


def test_another_tab_is_told_what_it_missed_and_another_person_nothing(world: SimpleNamespace) -> None:
    do(world, create(world.note, world.labels, "Torino", "CITY", version=0))
    stale = do(world, create(world.note, world.labels, "54", "AGE", version=0))
    assert stale.changed_elsewhere and len(stale.spans or []) == 2
    fresh = do(world, create(world.note, world.labels, "Rossi", "PATIENT", version=2))
    assert (fresh.changed_elsewhere, fresh.spans) == (False, None)
    bens = do(world, create(world.note, world.labels, "Torino", "CITY", version=0), world.ben)
    assert not bens.already and not bens.changed_elsewhere and AnnotationSet.objects.count() == 2


def test_nobody_can_change_anothers_span(world: SimpleNamespace) -> None:
    span = made(world, "Torino", "CITY", world.ben)
    made(world, "54", "AGE")
    assert refused(world, alter("delete", span)).code == "changed"
    assert refused(world, alter("relabel", span, label=world.labels["AGE"])).code == "changed"


def test_a_submitted_or_withdrawn_set_can_not_change(world: SimpleNamespace) -> None:
    made(world, "Torino", "CITY")
    data = create(world.note, world.labels, "54", "AGE")
    submit(document=world.note, user=world.ann)
    error = refused(world, data)
    assert (error.code, error.status, error.state) == ("submitted", 409, "submitted")
    assert error.spans is not None
    assert refused(world, step("undo")).code == "submitted"
    reopen(document=world.note, user=world.ann)
    assert do(world, data).span
    AnnotationSet.objects.update(state=AnnotationSetState.WITHDRAWN)
    assert refused(world, create(world.note, world.labels, "Rossi", "AGE")).code == "withdrawn"


def test_a_set_is_no_longer_blind_once_the_person_is_not(world: SimpleNamespace) -> None:
    made(world, "Torino", "CITY")
    Project.objects.update(candidates=True)
    do(world, create(world.note, world.labels, "54", "AGE"))
    assert AnnotationSet.objects.get().blind is False


def test_what_an_imported_span_carries_comes_back_with_it(world: SimpleNamespace) -> None:
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")]).spans.update(source="rules/7", confidence=0.5)
    span = Span.objects.get()
    answer = do(world, create(world.note, world.labels, "Torino", "CITY", version=0))
    assert not answer.changed_elsewhere and AnnotationSet.objects.count() == 1
    do(world, alter("delete", {"id": span.pk, "start": 0, "end": 11, "label": span.label_id}))
    for kind in ("undo", "redo", "undo"):
        do(world, step(kind))
    back = Span.objects.get(start=0)
    assert (back.pk, back.source, back.confidence) == (span.pk, "rules/7", 0.5)


def test_offsets_are_code_points_in_any_script(db: None) -> None:
    text = "\ufeffÀ 👩‍👧 e\u0301\r\n\r\nמרים כהן\tNBSP\u00a0\r\n</div><script>alert(1)</script>"
    project = make.make_project()
    ann = make.make_member(project)
    note = make.make_note(project, text, annotators=[ann])
    labels = {"PATIENT": make.label_of(project, "PATIENT").pk}
    for part in ("👩‍👧", "e\u0301", "מרים כהן", "<script>", "e\u0301\r\n\r\nמרים"):
        change = read_change(create(note, labels, part, "PATIENT"))
        span = apply_change(access=enter(ann, project.slug), note=note, change=change).span
        assert span and text[span["start"] : span["end"]] == part


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


# ── The limits on the spans of one annotation set apply to every way of writing it, and nothing is lost ──


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of four spans, two over one character, is full."""
    for module in ("annotations.text.spans", "annotations.core.spans"):
        monkeypatch.setattr(f"{module}.MOST_SPANS", 4)
        monkeypatch.setattr(f"{module}.DEEPEST", 2)


def no_room(world: SimpleNamespace, data: dict[str, Any]) -> ChangeRefused:
    error = refused(world, data)
    assert (error.code, error.status) == ("room", 422)
    return error


@pytest.mark.usefixtures("few")
def test_a_full_set_takes_no_further_span_and_can_be_emptied(world: SimpleNamespace) -> None:
    spans = [made(world, part, "CITY") for part in ("Mario", "54", "Torino", "Bianchi")]
    assert "at most 4 spans" in str(no_room(world, create(world.note, world.labels, "anni", "AGE")))
    no_room(world, many(world, [("anni", "AGE"), ("visto", "AGE")]))
    # Existing spans can be changed, moved, deleted and restored.
    do(world, alter("relabel", spans[0], label=world.labels["PATIENT"]))
    start, end = at(world.note.text, "Torino dal")
    do(world, alter("resize", spans[2], start=start, end=end, quote="Torino dal"))
    do(world, step("undo"))
    do(world, alter("delete", spans[1]))
    do(world, step("undo"))
    do(world, step("redo"))
    made(world, "anni", "AGE")
    assert Span.objects.count() == 4


@pytest.mark.usefixtures("few")
def test_only_so_many_spans_lie_over_one_character(world: SimpleNamespace) -> None:
    made(world, "Mario Rossi", "PATIENT")
    made(world, "Mario", "CITY")
    assert "at most 2 spans" in str(no_room(world, create(world.note, world.labels, "Mario", "DOCTOR")))
    beside = made(world, "Rossi", "DOCTOR")
    start, end = at(world.note.text, "Mario Rossi,")
    no_room(world, alter("resize", beside, start=start, end=end, quote="Mario Rossi,"))
    no_room(world, many(world, [("o R", "AGE")]))
    made(world, "54", "AGE")  # touching and standing elsewhere is no crowd
    assert Span.objects.count() == 4


def test_a_set_that_was_too_large_before_can_be_mended(world: SimpleNamespace, few: None) -> None:
    age = made(world, "54", "AGE")
    held = AnnotationSet.objects.get()
    Span.objects.bulk_create(
        Span(annotation_set=held, start=start, end=12, label_id=world.labels["CITY"]) for start in range(8)
    )
    first = Span.objects.filter(start=7).get()
    do(world, alter("delete", {"id": first.pk, "start": 7, "end": 12, "label": world.labels["CITY"]}))
    start, end = at(world.note.text, "54 anni")
    do(world, alter("resize", age, start=start, end=end, quote="54 anni"))
    no_room(world, create(world.note, world.labels, "Torino", "CITY"))
