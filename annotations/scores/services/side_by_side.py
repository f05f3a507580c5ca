"""Several authors' readings side by side against gold, on the notes that all of them have read. Kept as scores are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.erasures import ErasedMeanwhile, erasures_of, unerased
from annotations.core.errors import ServiceError
from annotations.core.kept import forget, keep, kept, key_of
from annotations.core.progress import Progress, silent
from annotations.domain.scoring.side_by_side import SideBySide
from annotations.domain.spans import Span
from annotations.models import Author, Project
from annotations.scores.selectors import Compared, LabelWords, Reference, compared, label_words, note_pairs
from annotations.scores.services.scoring import REVISION, Asked, Words, asked

TABLE, PLACES = "side-by-side", "side-by-side-places"
FEWEST, MOST = 2, 6
# Places of each kind that are kept for looking at; of more, the first.
MOST_PLACES = 10_000


@dataclass(frozen=True)
class Together:
    """Whose readings are to be compared, against which gold, of one split or all."""

    reference: Reference
    authors: tuple[Author, ...]
    split: str = ""

    @property
    def params(self) -> dict[str, Any]:
        """As a job's parameters: ids and choices only."""
        return {
            "version": self.reference.number,
            "authors": [author.pk for author in self.authors],
            "split": self.split,
        }


def together(
    project: Project, *, version: int, ids: Sequence[int] = (), names: Sequence[str] = (), split: str = ""
) -> Together:
    """Check a wish: authors by their ids, or by name as `score` takes them. Raises ServiceError with the choices."""
    wishes = [asked(project, version=version, author_id=pk, split=split) for pk in dict.fromkeys(ids)]
    wishes += [asked(project, version=version, author=name, split=split) for name in names]
    authors = tuple({wish.author.pk: wish.author for wish in wishes}.values())
    if not FEWEST <= len(authors) <= MOST:
        raise ServiceError(
            _("choose %(fewest)s to %(most)s readers to compare, not %(count)s")
            % {"fewest": FEWEST, "most": MOST, "count": len(authors)},
            code="number",
        )
    return Together(wishes[0].reference, authors, split)


@dataclass(frozen=True)
class Common:
    """The notes that count for each author: those with gold that all have read. `key`: of all that is compared."""

    of: tuple[Compared, ...]
    words: LabelWords
    key: str

    @property
    def notes(self) -> int:
        return len(self.of[0].readings)


def common(wish: Together) -> Common:
    each = [compared(wish.reference, author, split=wish.split) for author in wish.authors]
    shared = set.intersection(*(set(one.readings) for one in each))
    words = label_words(wish.reference.project)
    of = tuple(
        replace(
            one,
            readings={note: pk for note, pk in one.readings.items() if note in shared},
            golds={note: pk for note, pk in one.golds.items() if note in shared},
        )
        for one in each
    )
    made_of = [REVISION, words.key, wish.split, wish.reference.number]
    made_of += [[author.pk, author.name, one.key] for author, one in zip(wish.authors, each, strict=True)]
    return Common(of, words, key_of(*made_of))


def kept_table(wish: Together, notes: Common) -> dict[str, Any] | None:
    """The figures, if they were computed of exactly what stands there now."""
    found: dict[str, Any] | None = kept(wish.reference.project, TABLE, notes.key)
    return found


def side_by_side(wish: Together, *, notes: Common | None = None, progress: Progress = silent) -> dict[str, Any]:
    """The figures, kept or computed now. Raises ServiceError where there is no note that all have read."""
    project = wish.reference.project
    begun = erasures_of(project.pk)
    notes = notes or common(wish)
    if not notes.notes:
        raise ServiceError(_("there is no note with this gold that all of these have read"), code="notes")
    table = kept_table(wish, notes)
    if table is None:
        table, places = _computed(wish, notes, progress)
        with transaction.atomic():
            unerased(project.pk, begun)
            keep(project, TABLE, notes.key, table)
            keep(project, PLACES, notes.key, places)
    return table


def telling_places(wish: Together) -> dict[str, list[list[Any]]]:
    """Gold spans by kind (domain.scoring.side_by_side): [note, kind, gold, nearest or null], MOST_PLACES of each."""
    project, notes = wish.reference.project, common(wish)
    side_by_side(wish, notes=notes)
    places = kept(project, PLACES, notes.key)
    if places is None:  # pruned between the two
        forget(project, TABLE, notes.key)
        side_by_side(wish, notes=notes)
        places = kept(project, PLACES, notes.key)
    return dict(places or {})


def run_side_by_side(*, project_id: int, params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The comparison as a job; returns what its page needs to lead on. Safe to repeat."""
    wish = together(
        Project.objects.get(pk=project_id),
        version=int(params["version"]),
        ids=[int(pk) for pk in params["authors"]],
        split=str(params.get("split", "")),
    )
    table = side_by_side(wish, progress=progress)
    return wish.params | {"names": [author.name for author in wish.authors], "notes": table["notes"]}


def _computed(wish: Together, notes: Common, progress: Progress) -> tuple[dict[str, Any], dict[str, list[list[Any]]]]:
    counted = SideBySide([str(author.pk) for author in wish.authors], notes.words.order, notes.words.category_of)
    places: dict[str, list[list[Any]]] = {}
    progress(0, notes.notes)
    for done, (note, text, gold, readings) in enumerate(_notes(wish, notes), start=1):
        for one in counted.add(text, gold, readings):
            listed = places.setdefault(one.kind, [])
            if len(listed) < MOST_PLACES:
                listed.append([note, one.kind, one.gold, one.near])
        if done % 100 == 0 or done == notes.notes:
            progress(done, notes.notes)
    figures = counted.figures()
    version = wish.reference.version
    return {
        "project": wish.reference.project.slug,
        "gold": wish.reference.name,
        "content_hash": version.content_hash if version else None,
        "split": wish.split or None,
        "notes": notes.notes,
        "readers": [
            {"author": author.name, "kind": author.kind, "author_id": author.pk}
            | {"table": figures["readers"][str(author.pk)], "only": figures["only"][str(author.pk)]}
            for author in wish.authors
        ],
        "missed_by_all": figures["missed_by_all"],
        "untouched": figures["untouched"],
    }, places


Read = tuple[int, str, list[Span], dict[str, list[Span]]]


def _notes(wish: Together, notes: Common) -> Iterator[Read]:
    """Each note with gold and all the readings, in the project's labels of today."""
    words = Words(Asked(wish.reference, wish.authors[0]), notes.words)
    sides = [note_pairs(wish.reference, author, one) for author, one in zip(wish.authors, notes.of, strict=True)]
    for pairs in zip(*sides, strict=False):
        first = pairs[0]
        if any(pair.pk != first.pk for pair in pairs):
            raise ErasedMeanwhile
        readings = {str(author.pk): words(pair.predicted) for author, pair in zip(wish.authors, pairs, strict=True)}
        yield first.pk, first.text, words(first.gold), readings
