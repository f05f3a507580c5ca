"""The allow list and the deny list of a project."""

import io
import re
from collections.abc import Iterable, Sequence
from typing import Final, TypedDict

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.bulk import insert_objects
from annotations.core.errors import ServiceError
from annotations.core.locks import check_open
from annotations.core.sealing import project_key
from annotations.formats.files import csv_reading
from annotations.formats.files.csv_files import csv_line
from annotations.models import ListedTerm, ListedTermKind, Project, User
from annotations.projects.selectors.labels import accepted_labels
from annotations.release.events import TERMS_ADDED, TERMS_EXPORTED, TERMS_REMOVED
from annotations.release.rules.known.folding import folded
from annotations.release.selectors.known import terms_of
from annotations.text.names import unkeepable

# The longest term in code points, and the most terms of a list.
LONGEST: Final = 200
MOST: Final = 20_000
COLUMNS: Final = ("list", "term", "label")


class Added(TypedDict):
    """Terms that are new, and terms that the list had already."""

    added: int
    already: int


def add_terms(*, project: Project, kind: str, terms: Iterable[str], label: str = "", actor: User | None) -> Added:
    """Add terms to a list (ListedTermKind). Terms that differ in case or accents only are the same.

    A denied term needs the code of a label. A term that is on the list already gets the new label. Raises ServiceError.
    """
    return add_labeled_terms(project=project, kind=kind, terms=[(term, label) for term in terms], actor=actor)


def add_labeled_terms(*, project: Project, kind: str, terms: Sequence[tuple[str, str]], actor: User | None) -> Added:
    """Add terms, each with the code of its label, as `add_terms` does."""
    if kind not in ListedTermKind.values:
        raise ServiceError(_("The list must be “allow” or “deny”."), code="list")
    accepted, _ids = accepted_labels(project)
    wanted: dict[str, tuple[str, str]] = {}
    for number, (term, label) in enumerate(terms, 1):
        text = " ".join(term.split())
        if not text:
            continue
        _check(text, number)
        if kind == ListedTermKind.DENY and label not in accepted:
            raise ServiceError(
                _("Line %(number)d: a denied term needs a label of this project. Choose one.") % {"number": number}
                if len(terms) > 1
                else _("A denied term needs a label of this project. Choose one."),
                code="label",
            )
        wanted.setdefault(folded(text), (text, accepted[label] if kind == ListedTermKind.DENY else ""))
    if not wanted:
        raise ServiceError(_("Enter at least one term."), code="terms")
    key = project_key(project)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        check_open(project.pk)
        there = {row.digest: row for row in ListedTerm.objects.filter(project=project, kind=kind)}
        new, changed, already = [], [], 0
        for form, (text, label) in wanted.items():
            digest = key.hexdigest("listed term", form)
            row = there.get(digest)
            if row is None:
                new.append(ListedTerm(project=project, kind=kind, sealed=key.seal(text), digest=digest, label=label))
                continue
            already += 1
            if row.label != label:
                row.label = label
                changed.append(row)
        if len(there) + len(new) > MOST:
            raise ServiceError(_("A list can have at most %(most)d terms.") % {"most": MOST}, code="terms")
        insert_objects(ListedTerm, new)
        ListedTerm.objects.bulk_update(changed, ["label"])
        TERMS_ADDED.record(
            actor=actor, project_id=project.pk, data={"list": str(kind), "added": len(new), "already": already}
        )
    return {"added": len(new), "already": already}


def _check(text: str, number: int) -> None:
    if len(text) > LONGEST or unkeepable(text) or len(folded(text).replace(" ", "")) < 2:
        raise ServiceError(
            _("Line %(number)d is not a term: a term has at least two letters or digits, at most %(most)d characters.")
            % {"number": number, "most": LONGEST},
            code="terms",
        )


def remove_term(*, project: Project, term_id: int, actor: User | None) -> int:
    """Remove a term from its list. Return how many there were: none at the second time."""
    with transaction.atomic():
        row = ListedTerm.objects.select_for_update().filter(project=project, pk=term_id).first()
        if row is None:
            return 0
        row.delete()
        TERMS_REMOVED.record(actor=actor, project_id=project.pk, data={"list": row.kind, "removed": 1})
    return 1


def import_lists(*, project: Project, content: bytes, actor: User | None) -> dict[str, Added]:
    """Add the terms of a CSV file with the columns list, term and label. Return the counts by list.

    Nothing is added if a line is wrong. Raises ServiceError, which names lines and columns, never a term.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ServiceError(_("The file is not UTF-8. Save it as CSV in UTF-8."), code="file") from None
    try:
        rows = list(csv_reading.DictReader(io.StringIO(text), strict=True))
    except csv_reading.Error:
        raise ServiceError(_("The file can't be read as CSV. Check its quotation marks."), code="file") from None
    found: dict[str, list[tuple[str, str]]] = {str(kind): [] for kind in ListedTermKind.values}
    for number, row in enumerate(rows, 2):
        if row.get("list") not in found or not row.get("term"):
            raise ServiceError(
                _("Line %(number)d needs “allow” or “deny” in the column “list”, and a term in the column “term”.")
                % {"number": number},
                code="file",
            )
        found[row["list"]].append((_unescaped(row["term"]), (row.get("label") or "").strip()))
    if not rows:
        raise ServiceError(_("The file has no terms. It needs the columns list, term and label."), code="file")
    with transaction.atomic():
        return {
            kind: add_labeled_terms(project=project, kind=kind, terms=terms, actor=actor)
            for kind, terms in found.items()
            if terms
        }


def export_lists(*, project: Project, actor: User) -> list[str]:
    """The lines of a CSV file with both lists, and record that somebody took them."""
    rows = [(row, text) for kind in ListedTermKind.values for row, text in terms_of(project, kind)]
    TERMS_EXPORTED.record(actor=actor, project_id=project.pk, data={"terms": len(rows)})
    return [csv_line(COLUMNS), *(csv_line([row.kind, text, row.label]) for row, text in rows)]


def _unescaped(text: str) -> str:
    """Without the apostrophes that keep a spreadsheet from running a cell (domain.files.csv_lines)."""
    return re.sub(r"(^|[;,|\t])'(?=[\"'\s]*[=+\-@])", r"\1", text)
