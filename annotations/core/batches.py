"""Batches: many changes in one request of a page's script, each with its own outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from django.utils.translation import gettext_lazy as _

from annotations.core.changes import ChangeRefused, malformed
from annotations.core.services import ServiceError

Change = TypeVar("Change")
State = TypeVar("State")
MOST_CHANGES: Final = 500
"""The most changes in one batch."""


@dataclass(frozen=True, slots=True)
class BatchOutcome(Generic[State]):
    """The outcome of a batch: `errors` by the places of the refused changes, and the state afterwards.

    `steps`: how many of its changes are stored, now or because the same batch was sent before.
    """

    errors: dict[int, ServiceError]
    steps: int
    state: State


def read_batch(
    data: Mapping[str, Any], read: Callable[[dict[str, Any]], Change]
) -> tuple[dict[int, Change], dict[int, ServiceError]]:
    """Read the changes of a batch, `changes`, by their places. A malformed one is an error at its place.

    Raises ChangeRefused (`malformed`) if the batch itself is malformed.
    """
    given = data.get("changes")
    if (
        not isinstance(given, list)
        or not 1 <= len(given) <= MOST_CHANGES
        or not all(isinstance(each, dict) for each in given)
    ):
        raise malformed(_("The field “changes” must be a list of 1 to %(most)s objects."), most=MOST_CHANGES)
    changes: dict[int, Change] = {}
    errors: dict[int, ServiceError] = {}
    for place, each in enumerate(given):
        try:
            changes[place] = read(each)
        except ChangeRefused as error:
            errors[place] = error
    return changes, errors


def make_changes(
    data: Mapping[str, Any], read: Callable[[dict[str, Any]], Change], make: Callable[[Change], object]
) -> tuple[list[Change], list[dict[str, str] | None]]:
    """Read the changes of a batch, and make each one in their order. A refused one doesn't stop the others.

    Return those that could be read, and the outcome of each. Raises ChangeRefused as `read_batch` does.
    """
    changes, errors = read_batch(data, read)
    for place, change in changes.items():
        try:
            make(change)
        except ServiceError as error:
            errors[place] = error
    return list(changes.values()), outcomes(len(data["changes"]), errors)


def outcomes(count: int, errors: Mapping[int, ServiceError]) -> list[dict[str, str] | None]:
    """The outcome of each change of a batch: null, or the error's code and message."""
    said = (errors.get(place) for place in range(count))
    return [{"error": error.code, "message": str(error)} if error else None for error in said]
