"""The navigation of a project: groups of entries. Each feature registers its own in its AppConfig.ready().

A group is an item of the first level; the entries are its second level. The order and the grouping are in the
registrations, so that this module and the header name no feature.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from annotations.core.access import Can

# A counter stops here; the page then shows "99+".
MOST = 99


class Area(StrEnum):
    """Where the header shows a group."""

    ROW = "row"  # in the row of the first level
    GEAR = "gear"  # in the menu behind the gear
    ACCOUNT = "account"  # in the account menu
    OWN = "own"  # by a template of the feature itself


@dataclass(frozen=True)
class NavigationGroup:
    """An item of the first level. `position` orders the groups of one area; the template translates `name`.

    `counter`: the dotted path of a function that takes an Access and counts what is left to do in the group, from 0 to
    MOST + 1, by at most one small query on an index. It returns None if this person must not know the number.
    """

    key: str
    name: str
    position: int
    area: Area = Area.ROW
    counter: str = ""


@dataclass(frozen=True)
class Entry:
    """A link of the second level, in the group with the key `group`. `right` is needed to open it.

    `page` is the URL name of the link; `query` and `fragment` are the rest of the link. `pages` are the URL names of
    other pages for which the entry is current. `keeps` are parameters that links from one page of the group to another
    carry along; `counter` is as in the group.
    """

    group: str
    position: int
    name: str
    page: str
    right: Can
    pages: frozenset[str] = frozenset()
    query: Mapping[str, str] = field(default_factory=dict)
    fragment: str = ""
    counter: str = ""
    keeps: tuple[str, ...] = ()

    def matches(self, here: str, query: Mapping[str, str]) -> int:
        """Return how well the entry fits the page with the URL name `here`; 0 where it does not."""
        if (
            here == self.page
            and not self.fragment
            and all(query.get(key) == value for key, value in self.query.items())
        ):
            return 2 + len(self.query)
        return int(here in self.pages or (not self.query and here in _MORE.get(self.page, ())))


@dataclass(frozen=True)
class Shortcut:
    """An action that the search of the header offers: a name that begins with a verb, and the page where it is done.

    `fragment` is the form on the page. `offered`: the dotted path of a function that says for an Access whether the
    page offers it now.
    """

    name: str
    page: str
    right: Can
    fragment: str = ""
    offered: str = ""


SHORTCUTS: list[Shortcut] = []
_GROUPS: dict[str, NavigationGroup] = {}
_ENTRIES: dict[tuple[str, int], Entry] = {}
_MORE: dict[str, set[str]] = {}
_FULL_WINDOW: set[str] = set()


def add_group(*groups: NavigationGroup) -> None:
    """Add groups. Features of any order may add entries to them."""
    _GROUPS.update({group.key: group for group in groups})
    all_groups.cache_clear()


def register(*entries: Entry) -> None:
    """Add the entries of a feature."""
    _ENTRIES.update({(entry.group, entry.position): entry for entry in entries})
    all_groups.cache_clear()


def extend(page: str, *pages: str) -> None:
    """Add pages of a feature to the entry of a lower feature, whose link has the URL name `page`."""
    _MORE.setdefault(page, set()).update(pages)


def fill_window(*pages: str) -> None:
    """Name pages that fill the window. On them the second level is a menu, so that the text has more height."""
    _FULL_WINDOW.update(pages)


def fills_window(here: str) -> bool:
    return here in _FULL_WINDOW


@cache
def all_groups() -> list[tuple[NavigationGroup, list[Entry]]]:
    """Return all groups with their entries, in order."""
    found: dict[str, list[Entry]] = {key: [] for key in _GROUPS}
    for _key, entry in sorted(_ENTRIES.items(), key=lambda item: item[0]):
        found[entry.group].append(entry)
    return [(group, found[group.key]) for group in sorted(_GROUPS.values(), key=lambda group: group.position)]


def allowed(may: Callable[[Entry], bool]) -> list[tuple[NavigationGroup, list[Entry]]]:
    """Return the groups with the entries that this person may open, without empty groups."""
    mine = ((group, [entry for entry in entries if may(entry)]) for group, entries in all_groups())
    return [(group, entries) for group, entries in mine if entries]


def current(here: str, query: Mapping[str, str], groups: Iterable[tuple[NavigationGroup, list[Entry]]]) -> Entry | None:
    """Return the entry of these groups to which the page belongs."""
    fitting = [(entry.matches(here, query), entry) for _group, entries in groups for entry in entries]
    return max((one for one in fitting if one[0]), key=lambda one: one[0], default=(0, None))[1]
