from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from django.core.management.base import CommandParser

from annotations.core.access import Access
from annotations.core.commands import find_label
from annotations.core.decision_files import DecisionFileCommand
from annotations.core.services import ServiceError
from annotations.formats.files.csv_files import DECISION, DecisionRow, RowError
from annotations.gold.services.splitting import wanted_set
from annotations.models import Author, Document, Label, Review
from annotations.review.selectors.reviewing import sets_of
from annotations.review.selectors.suggestions import Suggestion, of_run, suggestions
from annotations.review.services.deciding import ON_A_SUGGESTION, Request, decide
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act

ACTS = (Act.ACCEPT, Act.REJECT, Act.CORRECT, Act.ADD, Act.REMOVE)


class Command(DecisionFileCommand):
    help = (
        "Review the suggestions of a run by a CSV file. The column “decision” is accept, reject or correct for a "
        "suggestion, add for a missed span, or remove for a span of gold. A row names a suggestion by its bounds and "
        "label; “correct” gives the new ones in new_start, new_end and new_label. Write the open suggestions with "
        "--write, fill in the decisions, and run the command again. --by must name a reviewer or a manager."
    )
    needs = None
    needed = ("note", "start", "end", "label", DECISION)
    columns = ("note", "start", "end", "label", DECISION, "new_start", "new_end", "new_label", "confidence")

    def more_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="Name or ID of the run.")

    def begin(self, access: Access, **options: Any) -> None:
        author = wanted_set(access.project, f"run:{options['run'].removeprefix('run:')}").author
        if author is None:
            raise ServiceError(f"There is no run “{options['run']}”.", code="set")
        self.author: Author = author

    def notes(self, access: Access) -> Iterable[Document]:
        finished = Review.objects.filter(author=self.author, finished_at__isnull=False).values("document_id")
        sets = sets_of(self.author).exclude(document_id__in=finished).order_by("document_id")
        for pk in sets.values_list("document_id", flat=True):
            yield Document.objects.defer("text").get(pk=pk)

    def open_in(self, access: Access, note: Document) -> Iterable[Sequence[object]]:
        codes = dict(Label.objects.filter(label_set__project=access.project).values_list("pk", "code"))
        for one in suggestions(decision__isnull=True, order=["start", "end"], **of_run(note, self.author)):
            yield note.name, one.start, one.end, codes[one.label_id], "", "", "", "", one.confidence

    def decide(self, access: Access, note: Document, row: DecisionRow) -> None:
        try:
            act = Act(row.text(DECISION))
        except ValueError:
            act = Act.UNDO
        if act not in ACTS:
            raise RowError(f"The decision must be one of: {', '.join(ACTS)}.")
        bounds = row.offset("start"), row.offset("end"), find_label(access.project, row.text("label")).pk
        one = self._suggestion(note, bounds) if act in ON_A_SUGGESTION else None
        if act is Act.CORRECT:
            bounds = self._corrected(access, row, bounds)
        request = Request(
            uuid4(),
            act,
            suggestion=one.pk if one else None,
            bounds=None if act in (Act.ACCEPT, Act.REJECT) else bounds,
            quote=note.text[bounds[0] : bounds[1]] if act in (Act.CORRECT, Act.ADD) else None,
            # Another person's decision is never overwritten by a file, which can't have seen it.
            seen=("open", None) if one else None,
        )
        decide(document=note, author=self.author, user=access.user, request=request)

    def _suggestion(self, note: Document, bounds: tuple[int, int, int]) -> Suggestion:
        start, end, label = bounds
        found = suggestions(start=start, end=end, label_id=label, **of_run(note, self.author))
        if not found:
            raise RowError(f"The run has no such suggestion at {start}-{end}. Write the open ones with --write.")
        return found[0]

    def _corrected(self, access: Access, row: DecisionRow, bounds: tuple[int, int, int]) -> tuple[int, int, int]:
        """The new bounds and label; what is empty stays."""
        start, end, label = bounds
        return (
            row.offset("new_start") if row.text("new_start") else start,
            row.offset("new_end") if row.text("new_end") else end,
            find_label(access.project, row.text("new_label")).pk if row.text("new_label") else label,
        )

    def finish(self, access: Access, note: Document) -> None:
        finish_review(document=note, author=self.author, user=access.user)
