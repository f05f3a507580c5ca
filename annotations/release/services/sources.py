"""Which annotations a release uses: one choice of annotation sets, the union of several, or the first of several.

A union is written `union:` and two or more choices with `+` between them, for example `union:gold:1+run:rules-1`. It
covers every note that one of them covers. Its spans are the spans of all of them; a release joins those that overlap.
With `first:` in place of `union:`, each note has the spans of the first choice that covers the note.
A choice whose name has `+` is put in quotation marks, as in `union:gold:1+"run:rules+crf"`; a quotation mark in it is
doubled.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.services import ServiceError
from annotations.core.spans import Stored, pairs_of
from annotations.exchange.forms.exports import set_choices
from annotations.formats.files import csv_reading
from annotations.gold.services.splitting import SetChoice, wanted_set
from annotations.models import Span as SpanRow
from annotations.text.spans import Span

UNION, FIRST = "union:", "first:"
SCHEMAS = "schemas"
"""In place of annotations: the schemas of records say what is an identifier."""
SUBMITTED = str(models.AnnotationSetState.SUBMITTED)


def specs_of(spec: str) -> list[str]:
    """The single choices of a specification; itself if it is neither a union nor the first of several.

    Raises ServiceError `set` for a quotation mark that isn't closed.
    """
    if not spec.startswith((UNION, FIRST)):
        return [spec]
    try:
        rows = list(csv_reading.reader([spec.partition(":")[2]], delimiter="+", skipinitialspace=True, strict=True))
    except csv_reading.Error:
        message = _("A quotation mark in “%(spec)s” isn't closed, or “+” is missing after it.")
        raise ServiceError(message % {"spec": spec}, code="set") from None
    return [part.strip() for part in rows[0]] if rows else []


def union_of(specs: Sequence[str]) -> str:
    """The specification of these choices; a union among them counts as its choices."""
    parts = [part for spec in specs for part in specs_of(spec)]
    return specs[0] if len(specs) == 1 else UNION + "+".join(map(_quoted, parts))


def first_of(specs: Sequence[str]) -> str:
    """The specification of the first of these choices that covers a note."""
    return specs[0] if len(specs) == 1 else FIRST + "+".join(map(_quoted, specs))


def _quoted(part: str) -> str:
    return '"' + part.replace('"', '""') + '"' if "+" in part or part.startswith('"') else part


@dataclass(frozen=True)
class ReleasedAnnotations:
    """The chosen annotations of a project."""

    spec: str
    wanted: Sequence[SetChoice]

    @property
    def author(self) -> models.Author | None:
        """The author, where only one is chosen."""
        return self.wanted[0].author if len(self.wanted) == 1 else None

    @property
    def gold_version(self) -> models.GoldVersion | None:
        """The gold version, where only one is chosen."""
        return next((one.version for one in self.wanted if one.version), None)

    def notes(self) -> tuple[str, list[int | str]]:
        """A condition of SQL on the table of notes, with its parameters: that the note has chosen annotations."""
        conditions: list[str] = []
        values: list[int | str] = []
        for one in self.wanted:
            if one.version is not None:
                table = models.GoldVersionNote._meta.db_table
                conditions.append(f"id IN (SELECT document_id FROM {table} WHERE version_id = %s)")  # noqa: S608 - a name of ours
                values.append(one.version.pk)
            elif one.author is not None:
                table = models.AnnotationSet._meta.db_table
                conditions.append(f"id IN (SELECT document_id FROM {table} WHERE author_id = %s AND state = %s)")  # noqa: S608 - a name of ours
                values += [one.author.pk, SUBMITTED]
        return f"({' OR '.join(conditions)})", values

    def spans(self, notes: Sequence[int]) -> dict[int, list[Span]]:
        """The spans of each of these notes, sorted, without duplicates.

        Of equal spans with different attributes, those of the choice that is named first count.
        """
        # Tuples are told apart and sorted in a third of the time of spans.
        found: dict[int, dict[tuple[int, int, str], Stored | None]] = {pk: {} for pk in notes}
        left = set(notes)
        for one in self.wanted:
            notes = sorted(left)
            if self.spec.startswith(FIRST):
                left -= set(self._covered(one, notes))
            if one.version is not None:
                frozen = models.GoldVersionNote.objects.filter(version=one.version, document__in=notes).order_by()
                for pk, spans in frozen.values_list("document_id", "spans"):
                    for start, end, code, _suggested, *attributes in spans:
                        found[pk].setdefault((start, end, code), attributes[0] if attributes else None)
            else:
                own = SpanRow.objects.filter(annotation_set__author=one.author, annotation_set__state=SUBMITTED)
                rows = own.filter(annotation_set__document__in=notes).order_by()
                columns = ("annotation_set__document_id", "start", "end", "label__code", "attributes")
                for pk, start, end, code, attributes in rows.values_list(*columns):
                    found[pk].setdefault((start, end, code), attributes)
        return {
            pk: [
                Span(*span, attributes=pairs_of(spans[span])) if spans[span] else Span(*span) for span in sorted(spans)
            ]
            for pk, spans in found.items()
        }

    @staticmethod
    def _covered(one: SetChoice, notes: Sequence[int]) -> Iterable[int]:
        """Those of these notes that a choice covers."""
        if one.version is not None:
            rows = models.GoldVersionNote.objects.filter(version=one.version, document__in=notes)
            return rows.values_list("document_id", flat=True)
        sets = models.AnnotationSet.objects.filter(author=one.author, state=SUBMITTED, document__in=notes)
        return sets.values_list("document_id", flat=True)


def source_of(project: models.Project, spec: str) -> ReleasedAnnotations:
    """Find what a specification names. Raises ServiceError `set` or `version`, with the possible choices."""
    parts = specs_of(spec)
    if spec.startswith((UNION, FIRST)) and len(set(parts)) < 2:
        message = _("Name two or more different annotation sets, as in union:gold:1+run:rules-1.")
        raise ServiceError(message, code="set")
    try:
        return ReleasedAnnotations(spec, [wanted_set(project, part) for part in dict.fromkeys(parts)])
    except ServiceError as error:
        if len(parts) == 1 or error.code != "set":
            raise
        hint = _('If a name has “+”, put it in quotation marks, as in union:gold:1+"run:rules+crf".')
        raise ServiceError(f"{error} {hint}", code="set") from error


# The annotations of a release for its pages: their names, and the notes that they cover.


def named_sets(project: models.Project, releases: Iterable[models.Release]) -> dict[int, list[str]]:
    """The chosen annotations of each release, by its id; a specification where the choice no longer exists."""
    names = {choice.spec: choice.name for choice in set_choices(project)} | {SCHEMAS: _("No notes")}
    return {release.pk: [names.get(spec, spec) for spec in specs_of(release.set_spec)] for release in releases}


def covered_notes(project: models.Project, source: ReleasedAnnotations) -> QuerySet[models.Document]:
    """The notes of the project with these annotations, without their texts, in the order of their ids."""
    condition, values = source.notes()
    rows = models.Document.objects.filter(project=project).defer("text").order_by("pk")
    # The table has no alias in this query, so that the condition can name its column.
    return rows.extra(where=[condition], params=values)  # noqa: S610 - the condition is ours, the values are parameters
