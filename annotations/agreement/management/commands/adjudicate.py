from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from annotations.agreement.rules.units import Item, touched
from annotations.agreement.selectors.desk import Desk, desk, key_of
from annotations.agreement.services.deciding import decide, finish_adjudication
from annotations.agreement.services.plan import Act, Request, ShownLocation
from annotations.core.access import Access
from annotations.core.commands import find_label
from annotations.core.decision_files import DecisionFileCommand
from annotations.formats.files.csv_files import DECISION, DecisionRow, RowError
from annotations.models import AnnotationSet, AnnotationSetState, AuthorKind, Document, Label

WHOLE = {"majority": Act.MAJORITY, "nothing": Act.NOTHING}
DECISIONS = "“majority”, “nothing”, “annotator: NAME” or “span: LABEL”"


class Command(DecisionFileCommand):
    help = (
        f"Decide disagreements between annotators by a CSV file. The column “decision” is {DECISIONS}; a span decides "
        "the bounds of its row. Write what is open with --write, fill in the decisions, and run the command again. "
        "--by must name a reviewer or a manager."
    )
    needs = None
    columns = ("note", "start", "end", DECISION, "state", "key", "versions")

    def notes(self, access: Access) -> Iterable[Document]:
        submitted = AnnotationSet.objects.filter(
            author__kind=AuthorKind.ANNOTATOR, state=AnnotationSetState.SUBMITTED, document__project=access.project
        )
        for pk in submitted.order_by("document_id").values_list("document_id", flat=True).distinct():
            yield Document.objects.get(pk=pk)

    def open_in(self, access: Access, note: Document) -> Iterable[Sequence[object]]:
        found = desk(access.project, note)
        if not found.ready or found.finished:
            return
        codes = dict(Label.objects.filter(label_set__project=access.project).values_list("pk", "code"))
        for item in found.open_items(unanimous_passes=access.project.unanimous_passes):
            versions = "; ".join(f"{each.name}: {_said(item, each.author, codes)}" for each in found.submitted)
            yield note.name, item.start, item.end, "", str(item.state), key_of(found, item), versions

    def decide(self, access: Access, note: Document, row: DecisionRow) -> None:
        found = desk(access.project, note)
        start, end = row.offset("start"), row.offset("end")
        decision, _, name = (part.strip() for part in row.text(DECISION).partition(":"))
        more: dict[str, Any] = {}
        if decision == "span":
            items = touched(found.items, start, end)
            more = {"span": (start, end, find_label(access.project, name).pk), "quote": note.text[start:end]}
            act = Act.OWN
        else:
            items = [_item(found, start, end)]
            act = Act.ANNOTATOR if decision == "annotator" else _whole(decision, name)
            if act is Act.ANNOTATOR:
                more = {"annotator": _number(found, name)}
        # A row with the key of the location that it was written for is refused where that location has changed.
        key = row.text("key") if len(items) == 1 else ""
        seen = tuple(ShownLocation(item.start, item.end, key or key_of(found, item)) for item in items)
        request = Request(uuid4(), act, seen, **more)
        decide(project=access.project, document=note, user=access.user, request=request)

    def finish(self, access: Access, note: Document) -> None:
        finish_adjudication(project=access.project, document=note, user=access.user)


def _item(found: Desk, start: int, end: int) -> Item:
    for item in found.items:
        if (item.start, item.end) == (start, end):
            return item
    raise RowError(f"There is no disagreement at {start}-{end}. Write the open ones with --write.")


def _whole(decision: str, name: str) -> Act:
    if decision not in WHOLE or name:
        raise RowError(f"The decision must be {DECISIONS}.")
    return WHOLE[decision]


def _number(found: Desk, name: str) -> int:
    for each in found.submitted:
        if each.name == name:
            return each.number
    known = ", ".join(each.name for each in found.submitted)
    raise RowError(f"“{name[:80]}” has not submitted this note. Annotators: {known}.")


def _said(item: Item, author: str, codes: dict[int, str]) -> str:
    spans = item.location.versions.get(author, ())
    return ", ".join(f"{span.start}-{span.end} {codes[int(span.label)]}" for span in spans) or "nothing"
