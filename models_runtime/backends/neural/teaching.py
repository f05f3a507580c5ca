"""A lesson from the first epoch to the last: what is reported, kept between epochs, and gone on from after a kill."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from annotations.domain.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Lesson, Step
from models_runtime.backends.neural.learning import Loop

W = TypeVar("W", bound=Any)


def labels_of(lesson: Lesson) -> tuple[str, ...]:
    """The labels to be learned. Raises BackendError (permanent) where there are none."""
    labels = tuple(sorted({span.label for _, spans in lesson.notes for span in spans}))
    if not labels:
        raise BackendError(
            f"{len(lesson.notes)} notes without a single span: there is nothing to learn", permanent=True
        )
    return labels


def taught(
    lesson: Lesson,
    loop: Loop,
    orders: Sequence[Sequence[Sequence[int]]],
    key: str,
    score: Callable[[], float | None],
    *,
    keep_last: bool = False,
) -> int:
    """Learn from `orders`, the batches of each epoch, or until it is said to be enough. Returns how many they were.

    After each epoch where the training stands goes into the lesson's checkpoint, under `key`; an attempt that finds
    one of the same key goes on from there. `score` is what the notes held out give; it decides nothing. `keep_last`:
    the last epoch leaves a checkpoint too, since more follows.
    """
    steps = _earlier(lesson, loop, key)
    for step in steps:
        lesson.report(step)
    for order in orders[len(steps) :]:
        losses = list(loop.epoch(order))
        steps.append(Step(len(steps) + 1, len(orders), round(sum(losses) / len(losses), 6), score()))
        lesson.report(steps[-1])
        if lesson.enough():
            break
        if lesson.checkpoint is not None and (keep_last or len(steps) < len(orders)):
            loop.save(lesson.checkpoint, key, [asdict(step) for step in steps])
    return len(steps)


def adapt(lesson: Lesson, loop: Loop, orders: Sequence[Sequence[Sequence[int]]], key: str) -> None:
    """Learn the notes' language before any label, in steps of their own. Where it stands is kept beside the lesson's
    checkpoint, after the last epoch too.
    """
    place = lesson.checkpoint
    own = replace(
        lesson,
        checkpoint=place and place.with_name(f"{place.name}-adapted"),
        report=lambda step: lesson.report(replace(step, adapting=True)),
    )
    taught(own, loop, orders, key, lambda: None, keep_last=True)


def _earlier(lesson: Lesson, loop: Loop, key: str) -> list[Step]:
    """What an attempt at this very lesson left; nothing: a fresh start."""
    if lesson.checkpoint is None or not lesson.checkpoint.exists():
        return []
    try:
        return [Step(**step) for step in loop.restore(lesson.checkpoint, key)]
    except ValueError:
        return []


def f1(pairs: Iterable[tuple[Iterable[Span], Iterable[Span]]]) -> float | None:
    """Exact spans, found and gold, over all notes; None where there is neither."""
    right = told = gold = 0
    for found, wanted in pairs:
        said, there = set(found), set(wanted)
        right, told, gold = right + len(said & there), told + len(said), gold + len(there)
    return round(2 * right / (told + gold), 4) if told + gold else None


def way_of(lesson: Lesson, ways: dict[str, W]) -> tuple[str, W]:
    """The lesson's algorithm and how it learns; the first one where it names none. Raises BackendError (permanent)."""
    name = lesson.algorithm or next(iter(ways))
    if name not in ways:
        raise BackendError(f"algorithm {name!r}: there are {', '.join(ways)}", permanent=True)
    return name, replace(ways[name], epochs=lesson.iterations) if lesson.iterations else ways[name]
