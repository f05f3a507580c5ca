"""Many spans in one change: all or nothing, one event, one undo."""

from types import SimpleNamespace

from annotations.core.changes import read_change
from annotations.models import Event, Span
from tests.annotate.conftest import PARTS, at, do, made, many, merge, step
from tests.worlds.checks import refused


def now(world: SimpleNamespace) -> list[dict[str, int]]:
    rows = Span.objects.filter(annotation_set__author__user=world.ann).order_by("start", "end", "pk")
    names = ("id", "start", "end", "label")
    return [dict(zip(names, row, strict=True)) for row in rows.values_list("pk", "start", "end", "label_id")]


def test_many_are_one_change_with_one_event_and_no_text(world: SimpleNamespace) -> None:
    data = many(world, version=0)
    answer = do(world, data)
    assert (answer.version, answer.already, answer.spans, answer.changed_elsewhere) == (1, 0, None, False)
    assert answer.made == now(world)
    assert [(span["start"], span["end"]) for span in answer.made] == [at(world.note.text, part) for part, _ in PARTS]
    event = Event.objects.get()
    assert (event.verb, str(event.change_id)) == ("spans.created", data["change_id"])
    rows = [[span["id"], span["start"], span["end"], span["label"]] for span in answer.made]
    assert event.data == {"kind": "create_many", "spans": rows}


def test_what_is_there_is_left_out(world: SimpleNamespace) -> None:
    made(world, "Torino", "CITY")
    answer = do(world, many(world, [*PARTS, (" 54 ", "AGE"), ("54", "DATE")], version=0))
    assert (len(answer.made or []), answer.already) == (4, 2)
    assert answer.changed_elsewhere
    assert answer.spans == now(world)
    assert len(now(world)) == 5
    again = do(world, many(world, version=2))
    assert (again.version, again.made, again.already, again.changed_elsewhere) == (2, [], 4, False)
    assert Event.objects.count() == 2


def test_one_that_does_not_fit_refuses_them_all(world: SimpleNamespace) -> None:
    wrong = {
        "quote": {"quote": "Turin"}, "outside": {"start": 60, "end": 99_999}, "empty": {"start": 3, "end": 3},
        "white": {"start": 5, "end": 6, "quote": " "}, "malformed": {"start": -1}, "label": {"label": 999_999},
    }  # fmt: skip
    for code, over in wrong.items():
        data = many(world)
        data["spans"][2] |= over
        with refused(code) as caught:
            do(world, data)
        assert "Torino" not in str(caught.value)
    assert now(world) == []
    assert not Event.objects.exists()


def test_lists_that_make_no_sense(world: SimpleNamespace) -> None:
    for spans in (None, [], {}, "x", [1], [None], [{}], [[0, 1, 2]], [{"start": 0}] * 2001):
        with refused("malformed"):
            read_change(many(world) | {"spans": spans})


def test_a_replay_has_no_second_effect(world: SimpleNamespace) -> None:
    made(world, "Torino", "CITY")
    data = many(world)
    first = do(world, data)
    again = do(world, data)
    assert (again.made, again.already, again.version) == (first.made, 1, first.version)
    assert again.spans == now(world)
    do(world, step("undo"))
    late = do(world, data)
    assert (late.made, late.version) == (first.made, 3)
    assert late.spans == now(world)
    assert len(now(world)) == 1


def test_one_undo_takes_them_away_and_one_redo_brings_them_back(world: SimpleNamespace) -> None:
    made(world, "dott", "DOCTOR")
    first = now(world)
    new = do(world, many(world)).made
    for _ in range(2):
        undone = do(world, step("undo"))
        assert undone.spans == now(world) == first
        assert (undone.span, undone.removed, undone.message) == (None, None, "")
        redone = do(world, step("redo"))
        assert redone.spans == now(world)
        assert [span for span in redone.spans or [] if span not in first] == new
    verbs = list(Event.objects.values_list("verb", flat=True))
    assert verbs[1:] == ["spans.created"] + ["spans.deleted", "spans.created"] * 2
    do(world, step("undo"))
    do(world, step("undo"))
    assert now(world) == []


def test_an_undo_leaves_what_was_changed_since(world: SimpleNamespace) -> None:
    new = do(world, many(world)).made
    assert new
    # Something outside the person's history (a merge, an import) has changed and removed spans.
    Span.objects.filter(pk=new[0]["id"]).update(label=world.labels["DOCTOR"])
    Span.objects.filter(pk=new[1]["id"]).delete()
    data = step("undo")
    answer = do(world, data)
    assert answer.message == "2 of the 4 spans were changed or removed since and stay as they are."
    assert [span["id"] for span in now(world)] == [new[0]["id"]]
    assert do(world, data).message == answer.message
    # Redo restores only the spans that the undo removed.
    do(world, step("redo"))
    assert [span["id"] for span in now(world)] == [new[0]["id"], new[2]["id"], new[3]["id"]]


def test_an_undo_of_which_nothing_is_left_says_so(world: SimpleNamespace) -> None:
    made(world, "dott", "DOCTOR")
    do(world, many(world))
    Span.objects.exclude(start=at(world.note.text, "dott")[0]).delete()
    data = step("undo")
    answer = do(world, data)
    assert "can't be undone because" in answer.message
    assert Event.objects.order_by("-pk")[0].verb == "span.undo_skipped"
    assert do(world, data).version == answer.version
    do(world, step("undo"))
    assert now(world) == []


def test_undo_and_redo_follow_a_merged_label(world: SimpleNamespace) -> None:
    do(world, many(world, [("54", "AGE"), ("54", "DATE"), ("Torino", "CITY")]))
    do(world, step("undo"))
    merge(world, "DATE", "AGE")
    answer = do(world, step("redo"))
    assert [span["label"] for span in now(world)] == [world.labels["AGE"], world.labels["CITY"]]
    assert answer.message.startswith("1 of the 3 spans could not be restored")
    merge(world, "CITY", "HOSPITAL")
    assert do(world, step("undo")).spans == []
