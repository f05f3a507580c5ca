"""What a refinement removed, for review."""

from annotations.core.hooks import notes_learned_from
from annotations.core.suggestions import ProposedRemoval
from annotations.models import Author, AuthorKind, Document
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.backends.refining.todo import Action
from models_runtime.models import RefinedItem, Refinement


def removed(author: Author, document: Document) -> list[ProposedRemoval]:
    """The annotations that this author removed from the note. Those whose label was deleted since are left out."""
    items = RefinedItem.objects.filter(refinement__author=author, document=document, action=Action.REMOVE)
    columns = ("number", "start", "end", "label", "reason", "refinement__source__kind", "refinement__source__name")
    rows = list(items.order_by("number").values_list(*columns))
    if not rows:
        return []
    accepted, ids = accepted_labels(author.project)
    return [
        ProposedRemoval(number, start, end, ids[accepted[label]], reason, f"{kind}:{name}")
        for number, start, end, label, reason, kind, name in rows
        if label in accepted
    ]


def notes_learned(author: Author) -> set[int]:
    """The ids of notes from which a model behind the refined suggestions learned: those of the refinement's source."""
    if author.kind != AuthorKind.REFINED:  # No query for all others.
        return set()
    row = Refinement.objects.filter(author=author).select_related("source__project").first()
    return set().union(*notes_learned_from(author=row.source)) if row else set()
