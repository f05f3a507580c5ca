"""Undo and redo against a simple model: two stacks of whole annotation sets."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.core import changes as undoing
from annotations.core.changes import ChangeRefused
from annotations.models import Document, Event, Span
from tests import factories as make
from tests.annotate.conftest import TEXT, alter, do, made, merge, step
from tests.worlds.checks import refused

Places = frozenset[tuple[int, int, int]]


def now(world: SimpleNamespace) -> Places:
    rows = Span.objects.filter(annotation_set__author__user=world.ann, annotation_set__document=world.note)
    return frozenset(rows.values_list("start", "end", "label_id"))


SIZES, KINDS = st.integers(1, 4), st.integers(0, 2)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["create", "create_many"]), st.integers(0, 12), SIZES, KINDS),
        st.tuples(st.sampled_from(["relabel", "resize", "delete"]), st.integers(0, 5), SIZES, KINDS),
        st.tuples(st.sampled_from(["undo", "undo", "redo"]), st.just(0), st.just(0), st.just(0)),
    ),
    max_size=24,
)  # fmt: skip


@given(acts=ACTS)
def test_any_sequence_of_changes_undos_and_redos(world: SimpleNamespace, acts: list[tuple[str, int, int, int]]) -> None:
    world = SimpleNamespace(**vars(world) | {"note": make.make_note(world.project, TEXT, annotators=[world.ann])})
    labels = list(world.labels.values())
    past: list[Places] = []
    future: list[Places] = []
    state: Places = frozenset()
    for kind, where, size, label in acts:
        data = to_change(world.note, kind, where, size, labels[label])
        if data is None:
            continue
        if kind in ("undo", "redo"):
            come_from, go_to = (past, future) if kind == "undo" else (future, past)
            if not come_from:
                with refused("nothing"):
                    do(world, data)
                continue
            do(world, data)
            go_to.append(state)
            state = come_from.pop()
        else:
            answer = do(world, data)
            if answer.made or not (answer.already or data["kind"] == "create_many"):
                past.append(state)
                future.clear()
                state = now(world)
        assert now(world) == state
    while past:
        do(world, step("undo"))
        state = past.pop()
        assert now(world) == state
    assert state == frozenset()


def to_change(note: Document, kind: str, where: int, size: int, label: int) -> dict[str, Any] | None:
    """A change as a page would send it; None where its span doesn't exist."""
    if kind in ("undo", "redo"):
        return step(kind)
    if kind == "create":
        start, end = where * 5, where * 5 + size * 2
        return step(kind, label=label, start=start, end=end, quote=TEXT[start:end])
    if kind == "create_many":
        starts = range(where * 5, len(TEXT) - 1, 11)
        wanted = [{"start": at, "end": at + 2, "label": label, "quote": TEXT[at : at + 2]} for at in starts[: size + 1]]
        return step(kind, spans=wanted)
    spans = spans_of(note)
    if where >= len(spans):
        return None
    span = spans[where]
    if kind == "resize":
        start, end = span["start"], min(span["end"] + size, len(TEXT))
        return alter(kind, span, start=start, end=end, quote=TEXT[start:end])
    return alter(kind, span, label=label)


def spans_of(note: Document) -> list[dict[str, int]]:
    rows = Span.objects.filter(annotation_set__document=note).values_list("pk", "start", "end", "label_id")
    return [dict(zip(("id", "start", "end", "label"), row, strict=True)) for row in rows]


def test_each_undo_says_what_it_reverts_and_a_span_that_comes_back_has_its_old_id(world: SimpleNamespace) -> None:
    span = made(world, "Torino", "CITY")
    answer = do(world, step("undo"))
    assert (answer.span, answer.removed) == (None, span["id"])
    answer = do(world, step("redo"))
    assert (answer.span, answer.removed) == (span, None)
    first, undo, redo = Event.objects.all()
    assert (undo.verb, undo.reverts, undo.data["kind"]) == ("span.deleted", first.pk, "undo")
    assert (redo.verb, redo.reverts, redo.data["kind"]) == ("span.created", undo.pk, "redo")


def test_nobody_undoes_anothers_change(world: SimpleNamespace) -> None:
    made(world, "Torino", "CITY")
    with refused("nothing"):
        do(world, step("undo"), world.ben)
    assert len(spans_of(world.note)) == 1


def test_more_changes_than_one_look_at_the_log(world: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undoing, "CHUNK", 5)
    span = made(world, "Torino", "CITY")
    for number in range(12):
        label = world.labels["AGE" if number % 2 == 0 else "CITY"]
        do(world, alter("relabel", span, label=label))
        span["label"] = label
    for _ in range(13):
        do(world, step("undo"))
    assert spans_of(world.note) == []
    for _ in range(13):
        do(world, step("redo"))
    assert spans_of(world.note) == [span]


def test_undo_follows_a_merged_label(world: SimpleNamespace) -> None:
    span = made(world, "Torino", "CITY")
    do(world, alter("relabel", span, label=world.labels["AGE"]))
    merge(world, "CITY", "HOSPITAL")
    assert do(world, step("undo")).span == span | {"label": world.labels["HOSPITAL"]}
    do(world, step("undo"))
    assert spans_of(world.note) == []
    assert do(world, step("redo")).span == span | {"label": world.labels["HOSPITAL"]}


def test_an_undo_that_no_longer_fits_says_so_and_the_next_one_goes_on(world: SimpleNamespace) -> None:
    made(world, "54", "AGE")
    made(world, "Torino", "CITY")
    span = made(world, "Torino", "HOSPITAL")
    merge(world, "HOSPITAL", "CITY")  # two spans become one: the second has nothing left to undo
    data = step("undo")
    answer = do(world, data)
    assert "can't be undone because" in answer.message
    assert (answer.span, answer.removed) == (None, None)
    assert Event.objects.order_by("-id")[0].verb == "span.undo_skipped"
    assert span["id"] not in [left["id"] for left in spans_of(world.note)]
    replay = do(world, data)
    assert (replay.span, replay.removed, replay.version) == (None, None, answer.version)
    do(world, step("undo"))
    do(world, step("undo"))
    assert spans_of(world.note) == []
    do(world, step("redo"))
    do(world, step("redo"))
    assert len(spans_of(world.note)) == 2
    with pytest.raises(ChangeRefused):
        do(world, step("redo"))
