"""Addresses of pages that a lower feature links to without knowing which feature has them.

The lower feature names a purpose. The feature that has the page registers its URL name in its AppConfig.ready():

* `project.notes`: the list of notes; the page of a note is below it, at its id
* `project.new`: the page of a new project
* `project.next`: leads to the person's next note
* `note.annotate`: the page on which a person annotates a note
* `note.recording`: the page of the recording whose transcript a note is
* `note.surrogates`: surrogates for spans that a page sends, as JSON
* `note.outcome`: the page that compares a person's annotations with the adjudicated ones

A feature that links to one of a higher feature may add a purpose, named after the page it means.
An address is empty if no feature has registered a page; the lower feature then shows no link.
"""

from functools import lru_cache

from django.urls import reverse

_PAGES: dict[str, str] = {}


def register(purpose: str, page: str) -> None:
    """Make the page with the URL name `page` the one for this purpose."""
    _PAGES[purpose] = page


def address(purpose: str, *args: object) -> str:
    """Return the address of the page for this purpose; empty without one."""
    return path_to(_PAGES[purpose], *args) if purpose in _PAGES else ""


def path_to(page: str, *args: object) -> str:
    """Return the path of a page by its URL name, as `reverse` does. Paths that differ in numbers share the work."""
    numbers: list[int] = []
    shape: list[object] = []
    for arg in args:
        if type(arg) is int and arg >= 0:
            numbers.append(arg)
            shape.append(int)
        else:
            shape.append(arg)
    return _reversed(page, *shape).format(*numbers)


# Numbers that no address contains.
_NUMBER = 987_604_512_300_000_000


@lru_cache(maxsize=2048)
def _reversed(page: str, *args: object) -> str:
    """The path with {} in place of each number, which `int` stands for. No other brace can be in a path."""
    path = reverse(page, args=[_NUMBER + at if arg is int else arg for at, arg in enumerate(args)])
    for at in range(len(args)):
        path = path.replace(str(_NUMBER + at), "{}")
    return path


def around_note(purpose: str, slug: str) -> tuple[str, str] | None:
    """Return what is before and after the note's id in the addresses of one project; None without a page.

    A list reverses one address this way, not one for each note: reversing is slow.
    """
    found = address(purpose, slug, 0)
    if not found:
        return None
    before, after = found.rsplit("/0/", 1)
    return f"{before}/", f"/{after}"
