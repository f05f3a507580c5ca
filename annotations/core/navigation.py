"""The tabs of a project's header. Each feature registers its own in its AppConfig.ready()."""

from dataclasses import dataclass

from annotations.core.access import Can


@dataclass(frozen=True)
class Entry:
    """A tab. `position` orders the tabs; `name` is translated where it is shown; `right` is what opening it needs.

    `page` is the URL name that it leads to, `pages` are the URL names of the same feature that belong under it.
    """

    position: int
    name: str
    page: str
    right: Can
    pages: frozenset[str] = frozenset()


_ENTRIES: dict[str, Entry] = {}
_MORE: dict[str, set[str]] = {}


def register(*entries: Entry) -> None:
    """Tabs of a feature."""
    _ENTRIES.update({entry.page: entry for entry in entries})


def extend(page: str, *pages: str) -> None:
    """Pages of a feature that belong under the tab of a lower one, which leads to `page`."""
    _MORE.setdefault(page, set()).update(pages)


def entries() -> list[Entry]:
    """All tabs in their order."""
    return sorted(_ENTRIES.values(), key=lambda entry: entry.position)


def belongs(entry: Entry, here: str) -> bool:
    """Whether the page with the URL name `here` belongs under the tab."""
    return here == entry.page or here in entry.pages or here in _MORE.get(entry.page, ())
