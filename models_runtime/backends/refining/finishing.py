"""The last check of a to-do list, before its results become an annotation set."""

from collections import Counter

from annotations.text.spans import Span, SpanError, check_bounds, overlaps
from models_runtime.backends.refining.todo import Todo


def problems(todo: Todo) -> list[str]:
    """What is wrong with a to-do list, as sentences for the agent; empty if the note is finished.

    Open annotations, bounds outside the text, unknown labels, duplicates, and results far from their annotation.
    """
    return [*still_open(todo), *faults(todo)]


def still_open(todo: Todo) -> list[str]:
    """A sentence for each annotation without a decision."""
    return [f"Annotation {item.number} is still open." for item in todo.open()]


def faults(todo: Todo) -> list[str]:
    """What is wrong with the results, whether all are decided or not."""
    found = []
    results = {item.number: span for item in todo.items if (span := item.result) is not None}
    for number, span in results.items():
        try:
            check_bounds(span, len(todo.text))
        except SpanError as error:
            found.append(f"Annotation {number}: {error}")
        if span.label not in todo.labels:
            found.append(f"Annotation {number} has the unknown label “{span.label}”.")
        if not overlaps(span, todo.item(number).span):
            found.append(f"Annotation {number} no longer overlaps its original.")
    counted = Counter(results.values())
    found += [
        f"Annotation {number} is equal to another one. Remove one of them."
        for number, span in results.items()
        if counted[span] > 1
    ]
    return found


def settled(todo: Todo) -> Todo:
    """Decide what no refiner decided: an open annotation stays, and of equal results the first one stays.

    The results of a settled list have no problem.
    """
    for item in todo.open():
        todo = todo.keep(item.number, "No decision was made, so the annotation stays.")
    seen: dict[Span, int] = {}
    for item in todo.items:
        span = item.result
        if span is not None and seen.setdefault(span, item.number) != item.number:
            todo = todo.remove(item.number, f"The same as annotation {seen[span]}.")
    return todo
