"""The tabs of a project's header. Each feature registers its own in its AppConfig.ready()."""

from dataclasses import dataclass

from annotations.core.access import Can


@dataclass(frozen=True)
class Entry:
    """A tab. `position` orders the tabs; the template translates `name`; `right` is needed to open the tab.

    `page` is the URL name of its link; `pages` are the other URL names for which the tab is current.
    """

    position: int
    name: str
    page: str
    right: Can
    pages: frozenset[str] = frozenset()


_ENTRIES: dict[str, Entry] = {}
_MORE: dict[str, set[str]] = {}


def register(*entries: Entry) -> None:
    """Add the tabs of a feature."""
    _ENTRIES.update({entry.page: entry for entry in entries})


def extend(page: str, *pages: str) -> None:
    """Add pages of a feature to the tab of a lower feature, whose link has the URL name `page`."""
    _MORE.setdefault(page, set()).update(pages)


def entries() -> list[Entry]:
    """Return all tabs in their order."""
    return sorted(_ENTRIES.values(), key=lambda entry: entry.position)


def belongs(entry: Entry, here: str) -> bool:
    """Whether the tab is current on the page with the URL name `here`."""
    return here == entry.page or here in entry.pages or here in _MORE.get(entry.page, ())
