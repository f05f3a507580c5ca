"""The search over places by name: pages, acts, notes, labels and jobs of a project, or a person's own projects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotations.core import addresses, navigation
from annotations.core.access import Access, Can, notes_for
from annotations.core.labels import labels_of
from annotations.jobs.registry import JOBS
from annotations.models import Job, User
from annotations.projects.selectors.projects import my_projects

# At most so many places of each kind are shown, and so many of the newest jobs are looked at.
MOST, NEWEST = 12, 200
# Pages of the account menu that everybody has.
ACCOUNT = {"mfa_index": gettext_noop("Two-factor sign-in"), "api_tokens": gettext_noop("API tokens")}


@dataclass(frozen=True)
class Place:
    name: str
    url: str


@dataclass(frozen=True)
class PlaceGroup:
    name: str
    places: list[Place]


def places(access: Access, text: str) -> list[PlaceGroup]:
    """Return the places whose names contain all words of `text`, without empty groups.

    Without words: pages and actions only. Notes are those whose names contain the text as it is.
    """
    words = text.casefold().split()
    groups = [(_("Actions"), _acts(access, words)), (_("Pages"), _pages(access))]
    if words:
        groups += [(_("Labels"), _labels(access)), (_("Jobs"), _jobs(access))]
    found = [(name, [each for each in all_of if _has(each, words)][:MOST]) for name, all_of in groups]
    if words:
        found.insert(2, (_("Notes"), _notes(access, text.strip())))
    return [PlaceGroup(name, shown) for name, shown in found if shown]


def own_places(user: User, text: str) -> list[PlaceGroup]:
    """Return the person's projects and account pages whose names contain all words of `text`."""
    words = text.casefold().split()
    projects = [
        Place(line.name, addresses.path_to("project", line.slug)) for line in my_projects(user) if not line.closed
    ]
    account = [Place(_(name), addresses.path_to(page)) for page, name in ACCOUNT.items()]
    groups = ((_("Projects"), projects), (_("Account"), account))
    found = [PlaceGroup(name, [each for each in all_of if _has(each, words)][:MOST]) for name, all_of in groups]
    return [group for group in found if group.places]


def _has(place: Place | str, words: Iterable[str]) -> bool:
    name = (place if isinstance(place, str) else place.name).casefold()
    return all(word in name for word in words)


def _pages(access: Access) -> Iterator[Place]:
    for group, entries in navigation.allowed(lambda entry: access.can(entry.right)):
        for entry in entries:
            query = f"?{urlencode(entry.query)}" if entry.query else ""
            fragment = f"#{entry.fragment}" if entry.fragment else ""
            first, own = _(group.name), _(entry.name)
            url = addresses.path_to(entry.page, access.slug) + query + fragment
            yield Place(first if first == own else f"{first}: {own}", url)


def _acts(access: Access, words: Iterable[str]) -> Iterator[Place]:
    # Whether an act is offered takes queries, so this is asked only for those that the words name.
    for act in [act for act in navigation.SHORTCUTS if _has(_(act.name), words)]:
        if access.can(act.right) and (not act.offered or import_string(act.offered)(access)):
            fragment = f"#{act.fragment}" if act.fragment else ""
            yield Place(_(act.name), addresses.path_to(act.page, access.slug) + fragment)


def _notes(access: Access, text: str) -> list[Place]:
    rows = notes_for(access).filter(name__icontains=text).order_by("name").values_list("pk", "name")[:MOST]
    if access.can(Can.READ_NOTES):
        return [Place(name, addresses.path_to("note", access.slug, pk)) for pk, name in rows]
    return [Place(name, addresses.address("note.annotate", access.slug, pk)) for pk, name in rows]


def _labels(access: Access) -> Iterator[Place]:
    for label in labels_of(access.project.pk):
        page = ("label_edit", access.slug, label["id"]) if access.can(Can.MANAGE) else ("guidelines", access.slug)
        yield Place(label["name"], addresses.path_to(*page))


def _jobs(access: Access) -> Iterator[Place]:
    if access.can(Can.READ_NOTES):
        rows = Job.objects.filter(project=access.project).order_by("-pk").values_list("number", "kind")[:NEWEST]
        for number, kind in rows:
            title = _(JOBS[kind].title) if kind in JOBS else kind
            name = _("%(title)s, job %(n)d") % {"title": title, "n": number}
            yield Place(name, addresses.path_to("job", access.slug, number))
