"""The raw table of agreement as CSV: a row for each unit, a column for each annotator."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from annotations.agreement.rules import ComparedUnit, Granularity, Pattern
from annotations.agreement.rules.units import table
from annotations.agreement.selectors.figures import annotator_names, setup_of, shared_annotation_sets, shared_notes
from annotations.formats.files.csv_files import csv_line
from annotations.models import Document, Project


def table_lines(
    project: Project, unit: ComparedUnit, granularity: Granularity, *, hidden: bool = False, tokenizer: str = ""
) -> Iterator[str]:
    """CSV by RFC 4180 with a header row.

    Offsets are code points, end-exclusive. A value is `O` where the annotator marked nothing, and empty where they did
    not submit the note. A row of characters stands for `end` - `start` units. The table holds no text. If names are
    hidden, columns are numbers, and each note counts its annotators anew, so that nobody can be followed from note to
    note; alpha is the same. `tokenizer` as for `shared_annotation_sets`.
    """
    setup = setup_of(project)
    names = annotator_names(project)
    columns = [
        _("Annotator %(n)d") % {"n": number} if hidden else names[author]
        for number, author in enumerate(setup.annotators, start=1)
    ]
    yield csv_line(["note", "start", "end", *columns])
    for batch in shared_annotation_sets(project, shared_notes(project), tokenizer):
        called = dict(Document.objects.filter(pk__in=[note.note for note in batch]).values_list("pk", "name"))
        rows = table(
            batch,
            setup.annotators,
            unit=unit,
            granularity=granularity,
            category_of=setup.category_of,
            label_order=setup.labels,
        )
        for note, (start, end), values in rows:
            yield csv_line([called[note.note], start, end, *(_present_first(values) if hidden else values)])


def _present_first(values: Pattern) -> Pattern:
    return tuple(sorted(values, key=lambda value: value is None))
