"""The scores on a project's overview: stored ones only, each with the time at which it was computed."""

from dataclasses import dataclass
from datetime import datetime

from annotations.core import overview
from annotations.core.access import Access, Can, authors_for
from annotations.models import Author, Figures, GoldVersion
from annotations.scores.rules.intervals import FewNotes
from annotations.scores.services.scoring import TABLE

ROWS = 5


@dataclass(frozen=True)
class StoredScore:
    """A stored score of all notes of a version in the project's own labels.

    `few_notes` is the interval of `f1` on few notes, `own` the number of the `gold` spans copied from the author.
    """

    author: Author
    notes: int
    f1: float | None
    few_notes: FewNotes | None
    own: int
    gold: int
    at: datetime


@dataclass(frozen=True)
class Scores:
    version: int | None
    rows: list[StoredScore]

    @property
    def few_notes(self) -> bool:
        return any(row.few_notes for row in self.rows)


@overview.cards.part(30, Can.READ_NOTES)
def scores(access: Access) -> list[overview.OverviewCard]:
    """The stored scores against the last version, without authors whom this person may not see."""
    if access.can(Can.MANAGE):
        return []
    versions = GoldVersion.objects.filter(project=access.project).order_by("-number")
    version = versions.values_list("number", flat=True).first()
    rows = _stored(access, version) if version else []
    return [overview.OverviewCard("scores/overview.html", Scores(version, rows))]


def _stored(access: Access, version: int) -> list[StoredScore]:
    authors = {(author.kind, author.name): author for author in authors_for(access)}
    stored = Figures.objects.filter(
        project=access.project,
        kind=TABLE.name,
        value__gold=str(version),
        value__split=None,
        value__labels_of=None,
        value__language=None,
    )
    found: dict[int, StoredScore] = {}
    columns = ("author_kind", "author", "notes", "levels__0__micro__f1", "few_notes", "own_gold_spans",
               "levels__0__micro__gold")  # fmt: skip
    values = (f"value__{column}" for column in columns)
    for kind, name, notes, f1, few, own, gold, at in stored.order_by("-at").values_list(*values, "at"):
        author = authors.get((kind, name))
        if author and notes:
            # Older rows of the same author are of annotations that have changed since.
            found.setdefault(author.pk, StoredScore(author, notes, f1, few, own or 0, gold, at))
    return sorted(found.values(), key=lambda row: -(row.f1 or 0))[:ROWS]
