"""Pair clear and published decisions: import the clear ones, find the pairs, and store what the published ones hide.

Each step writes in short transactions and finds out from the rows what is left, so that a worker continues where
another one was killed. Only workers and commands load this module, since datasketch loads SciPy.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.bulk import batched, in_batches
from annotations.core.services import Fence, Progress, ServiceError, erasures_of, keep_labels, unerased
from annotations.exchange.services.importing import run_import, undo_import
from annotations.models import (
    Author,
    Document,
    Import,
    ImportState,
    PairCandidate,
    Project,
    PublishedDecision,
    PublishedState,
    User,
)
from annotations.pairs.events import DECISIONS_PAIRED
from annotations.pairs.rules.candidates import CandidateIndex, CandidateSearch, shingles
from annotations.pairs.rules.numbers import decision_key, is_published
from annotations.pairs.selectors import FLAGGED_BELOW
from annotations.pairs.services.pile import Pile, opened_pile
from annotations.pairs.services.starting import PairingOrder, omissis_label, parameters_of
from annotations.pairs.services.storing import align_decision, store_pairs
from annotations.text.hashes import text_sha256

BATCH = 100
CANDIDATES = 25
"""Of a published decision, at least so many candidates are kept, and at most twice as many."""
_OPEN = (PublishedState.NONE, PublishedState.AMBIGUOUS)


class ScoredNote(NamedTuple):
    """A candidate: the note's id, its Jaccard similarity, and whether number and office are the same."""

    note: int
    similarity: float
    fits: bool


class Pairing:
    """One run of a job. `begun` counts the project's erasures: after another one, nothing more is stored."""

    def __init__(
        self, *, row: Import, author: Author, order: PairingOrder, actor: User | None, progress: Progress, fence: Fence
    ) -> None:
        self.row, self.author, self.order, self.actor = row, author, order, actor
        self.project: Project = row.project
        self._progress, self._fence = progress, fence
        self._begun = erasures_of(row.project_id)
        self._search = CandidateSearch(threshold=order.threshold)
        self._step = self._steps = 0

    def run(self, finish: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Pair the stored pile. Return the counts, which `finish` gets inside the last transaction."""
        with opened_pile(self.row.stored_file) as pile:
            # The import of notes, the search through all notes, and the alignment report their progress in turn.
            self._steps = 2 * len(pile.clear) + 2 * len(pile.published) + 1
            hashes = self._store_published(pile)
            if self.row.state == ImportState.RUNNING:
                run_import(import_id=self.row.pk, progress=self._imported, fence=self._fence, source=pile)
            self._renew(hashes)
            self._settle()
            self._align()
            result = self._result(pile, hashes)
        with transaction.atomic():
            self._fence()
            DECISIONS_PAIRED.record(
                actor=self.actor,
                project_id=self.project.pk,
                data={
                    "imported": self.row.pk, "author": self.author.pk, "published": result["published"],
                    "pairs": result["pairs"], "spans": result["spans"],
                },
            )  # fmt: skip
            finish(result)
        return result

    def _imported(self, done: int, total: int) -> None:
        self._progress(min(done, self._steps - 1), self._steps)

    def _advance(self, steps: int = 1) -> None:
        self._step = min(self._step + steps, self._steps - 1)
        self._progress(self._step, self._steps)

    def _store_published(self, pile: Pile) -> list[str]:
        """Store the published decisions of the pile that the project doesn't have. Return the hashes of all of them."""
        hashes: list[str] = []
        for batch in batched(pile.published_texts(), BATCH):
            rows = [self._published(name, text) for name, text in batch]
            with transaction.atomic():
                self._fence()
                unerased(self.project.pk, self._begun)
                PublishedDecision.objects.bulk_create(rows, ignore_conflicts=True)
            hashes += [row.sha256 for row in rows]
            self._advance(len(batch))
        return list(dict.fromkeys(hashes))

    def _published(self, name: str, text: str) -> PublishedDecision:
        key = decision_key(text)
        return PublishedDecision(
            project=self.project, name=name[:255], sha256=text_sha256(text), text=text, office=key.office[:200],
            number=", ".join(sorted(key.heading))[:200],
        )  # fmt: skip

    def _renew(self, hashes: Sequence[str]) -> None:
        """Prepare decisions of the pile that were paired in another way: pairs to be aligned, others to be searched.

        What a person settled stays settled.
        """
        for batch in batched(hashes, BATCH):
            rows = PublishedDecision.objects.filter(project=self.project, sha256__in=batch)
            rows = rows.exclude(author=self.author).exclude(author=None)
            with transaction.atomic():
                self._fence()
                unerased(self.project.pk, self._begun)
                again = rows.filter(state__in=_OPEN, settled_by=None)
                PairCandidate.objects.filter(published__in=again).delete()
                again.update(state=PublishedState.NEW, author=None)
                rows.filter(state=PublishedState.PAIRED).update(aligned=None, **self._about)

    @property
    def _about(self) -> dict[str, Any]:
        """What a published decision records about how it was paired."""
        search = asdict(self._search)
        return {
            "author": self.author,
            "method": self.order.method,
            "parameters": {**parameters_of(self.order), **search},
        }

    def _settle(self) -> None:
        """Find the clear notes of the decisions that were not compared yet."""
        found = self._candidates()
        # A note that fits several published decisions belongs to none of them before a person settles it.
        wanted: dict[int, int] = defaultdict(int)
        for notes in found.values():
            for one in notes:
                wanted[one.note] += one.fits
        for batch in batched(found, BATCH):
            with transaction.atomic():
                self._fence()
                unerased(self.project.pk, self._begun)
                taken = _taken({one.note for pk in batch for one in found[pk]})
                new = PublishedDecision.objects.select_for_update().filter(pk__in=batch, state=PublishedState.NEW)
                rows = list(new.defer("text"))
                for row in rows:
                    row.author, row.method = self.author, self.order.method
                    row.parameters = self._about["parameters"]
                    self._decide(row, found[row.pk], wanted, taken)
                PairCandidate.objects.bulk_create(
                    (
                        PairCandidate(published=row, document_id=one.note, similarity=one.similarity, fits=one.fits)
                        for row in rows
                        for one in found[row.pk]
                    ),
                    ignore_conflicts=True,
                )
                PublishedDecision.objects.bulk_update(rows, ["document", "state", "author", "method", "parameters"])

    @staticmethod
    def _decide(
        row: PublishedDecision, candidates: Sequence[ScoredNote], wanted: Mapping[int, int], taken: set[int]
    ) -> None:
        """Pair a decision with the only note that fits; leave it to a person if several fit, or none does."""
        fitting = [one.note for one in candidates if one.fits]
        if len(fitting) == 1 and wanted[fitting[0]] == 1 and fitting[0] not in taken:
            row.document_id, row.state = fitting[0], PublishedState.PAIRED
        else:
            row.state = PublishedState.AMBIGUOUS if candidates else PublishedState.NONE

    def _candidates(self) -> dict[int, list[ScoredNote]]:
        """The candidates of each decision that was not compared yet: every clear note of the project is looked at."""
        new = PublishedDecision.objects.filter(project=self.project, state=PublishedState.NEW).order_by("pk")
        found: dict[int, list[ScoredNote]] = {pk: [] for pk in new.values_list("pk", flat=True)}
        if not found:
            return {}
        try:
            texts = chain.from_iterable(in_batches(new.values_list("pk", "text"), BATCH))
            index = CandidateIndex(self._search, texts)
        except ImportError as error:
            message = _("Pairing needs the library datasketch. Install the packages of requirements-models.lock.")
            raise ServiceError(message, code="library") from error
        notes = Document.objects.filter(project=self.project).values_list("pk", "text")
        for batch in in_batches(notes, BATCH):
            near = {pk: index.near(text) for pk, text in batch if not is_published(text)}
            wanted = new.filter(pk__in={pk for keys in near.values() for pk in keys}).values_list("pk", "text")
            published = {pk: (shingles(text, self._search.shingle), decision_key(text)) for pk, text in wanted}
            for note, text in batch:
                if keys := near.get(note):
                    own = decision_key(text)
                    for pk, similarity in index.exact(text, {pk: published[pk][0] for pk in keys if pk in published}):
                        _keep(found[pk], ScoredNote(note, similarity, own.fits(published[pk][1])))
            self._advance(len(batch))
        return found

    def _align(self) -> None:
        """Align the pairs that have no figures yet, and store their annotation sets."""
        label = omissis_label(self.project)
        rows = PublishedDecision.objects.filter(
            project=self.project, author=self.author, state=PublishedState.PAIRED, aligned=None
        ).order_by("pk")
        ids = list(rows.values_list("pk", flat=True))
        for batch in batched(ids, BATCH):
            loaded = list(rows.filter(pk__in=batch).select_related("document"))
            pairs = {row.pk: align_decision(row) for row in loaded}
            with transaction.atomic():
                keep_labels(self.project.pk)
                self._fence()
                unerased(self.project.pk, self._begun)
                store_pairs(author=self.author, label=label.pk, pairs=pairs, rows=loaded)
            self._advance(len(batch))

    def _result(self, pile: Pile, hashes: Sequence[str]) -> dict[str, Any]:
        """The counts of the pile's decisions."""
        rows: list[dict[str, Any]] = []
        for batch in batched(hashes, BATCH):
            own = PublishedDecision.objects.filter(project=self.project, sha256__in=batch)
            rows += [dict(row) for row in own.values("pk", "state", "aligned", "begin")]
        paired = [row for row in rows if row["state"] == PublishedState.PAIRED]
        candidates = PairCandidate.objects.filter(published__project=self.project)
        return {
            "documents": len(pile.clear) + len(pile.published),
            "published": len(pile.published),
            "candidates": candidates.filter(published__in=[row["pk"] for row in rows]).count(),
            "pairs": len(paired),
            "spans": sum(row["begin"] for row in paired),
            "author": self.author.name,
            "ambiguous": sum(row["state"] == PublishedState.AMBIGUOUS for row in rows),
            "flagged": sum((row["aligned"] or 0) < FLAGGED_BELOW for row in paired),
            "refused": len(pile.refused),
            "problems": [{"file": one.file, "reason": one.message} for one in pile.refused[:BATCH]],
        }


def _keep(candidates: list[ScoredNote], one: ScoredNote) -> None:
    """Add a candidate. The best ones are kept, those that fit first: texts of one kind may all be similar."""
    candidates.append(one)
    if len(candidates) > 2 * CANDIDATES:
        candidates.sort(key=lambda each: (not each.fits, -each.similarity, each.note))
        del candidates[CANDIDATES:]


def _taken(notes: set[int]) -> set[int]:
    """Those of these notes that belong, or may belong, to another published decision."""
    paired = PublishedDecision.objects.filter(document__in=notes).values_list("document", flat=True)
    fitting = PairCandidate.objects.filter(document__in=notes, fits=True)
    open_ones = fitting.filter(published__state=PublishedState.AMBIGUOUS).values_list("document", flat=True)
    return {*filter(None, paired), *open_ones}


def undo_pairing(*, import_id: int, state: str) -> None:
    """Remove the clear notes of an unfinished import, the pile, and decisions that were not compared yet.

    Pairs that are complete stay.
    """
    with transaction.atomic():
        row = Import.objects.select_related("stored_file").get(pk=import_id)
        PublishedDecision.objects.filter(project=row.project_id, state=PublishedState.NEW).delete()
        if row.state != ImportState.DONE:
            undo_import(import_id=import_id, state=state)
        elif row.stored_file is not None:
            row.stored_file.delete()
