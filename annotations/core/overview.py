"""The parts of a project's overview. Each feature has its own in its module `overview`.

The page calls each part once for a request. A part may run a few queries, whose number must not grow with notes or
people, and computes no figures: it shows stored ones with their time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from django.utils.module_loading import autodiscover_modules

from annotations.core.access import Access, Can


@dataclass(frozen=True)
class Need:
    """Something that waits for this person: a sentence with the count, and the page where it is done."""

    text: str
    url: str
    action: str


@dataclass(frozen=True)
class Stage:
    """A stage on the way from imported notes to a frozen version, and the page about it (empty: no page).

    `notes` is the number of notes that have come so far, where the picture shows it.
    """

    name: str
    value: str
    url: str = ""
    detail: str = ""
    notes: int | None = None


@dataclass(frozen=True)
class Step:
    """A step of a new project. `text` says in one sentence what to do.

    The overview offers the first step that is not done, without optional ones: as a link, or as a button that sends
    `do` to the page `begin`.
    """

    title: str
    text: str
    url: str
    action: str
    done: bool
    do: str = ""
    optional: bool = False


@dataclass(frozen=True)
class OverviewCard:
    """A template of the feature, which gets `found` beside the page's context."""

    template: str
    found: object


Item = TypeVar("Item")
Make = TypeVar("Make", bound=Callable[[Access], Iterable[Any]])


class Parts(Generic[Item]):
    """Functions that return items for a person; only functions whose right the person has are called."""

    def __init__(self) -> None:
        self._makers: list[tuple[int, Can, Callable[[Access], Iterable[Item]]]] = []

    def part(self, position: int, right: Can) -> Callable[[Make], Make]:
        """Add the decorated function; `position` orders the functions."""

        def add(make: Make) -> Make:
            self._makers.append((position, right, make))
            return make

        return add

    def of(self, access: Access) -> list[Item]:
        load_parts()
        makers = sorted(self._makers, key=lambda maker: maker[0])
        return [item for _position, right, make in makers if access.can(right) for item in make(access)]


@cache
def load_parts() -> None:
    """Import the modules `overview` of all features, whose functions are the parts."""
    autodiscover_modules("overview")


needs = Parts[Need]()
stages = Parts[Stage]()
steps = Parts[Step]()
# The person's own notes. They are part of the first response even in a large project.
own = Parts[OverviewCard]()
# Work that is not assigned to one person.
queues = Parts[OverviewCard]()
# The state of the project.
cards = Parts[OverviewCard]()
