"""Plan of an import: which notes of a source are new, get another annotation set, are already there, or are refused.

A note is imported whole (text and spans) or refused whole, with every reason.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypedDict, Unpack

from django.utils.translation import gettext as _

from annotations import models
from annotations.core.authors import author_for_import, parse_written_as
from annotations.core.labels import labels_of_today
from annotations.core.services import ServiceError, keep_labels
from annotations.core.spans import definitions_by_label, pairs_of
from annotations.exchange.services.input_formats import INPUT_FORMATS, check_reading, holds_spans, input_format
from annotations.exchange.services.label_choices import Choices, complete_choices, unknown_of
from annotations.exchange.services.sources import PATIENTS, NamedFiles, read_names, read_patients
from annotations.formats.base import AcceptedLabels
from annotations.formats.documents.base import DOCUMENTS
from annotations.formats.notes import ParsedNote, Problem
from annotations.projects.selectors.labels import accepted_labels
from annotations.projects.services.labels import add_label
from annotations.text.attributes import fitting
from annotations.text.hashes import text_sha256
from annotations.text.labels import ascii_code

LISTED = 2000


class LabelLine(TypedDict):
    """Spans of one label as written in the files: mapped to the code `label`, added under it, or skipped.

    `created` is set if this import added the label.
    """

    do: str
    label: str
    spans: int
    created: bool


@dataclass
class ImportReport:
    """Report of an import. `refused` and `warnings` list at most LISTED lines; the counts are complete.

    `refused_files` counts files that belong to no note: their names are not allowed, unknown to the format, or taken.
    `moved_spans` counts spans that were moved to the text that they quote; the warnings list them.
    `labels` says what happened to each label of the files that the project didn't have. `layers` are the UIMA layers
    that spans came from (`TYPE:FEATURE`), each with its tags as written, by name in `labels` or else by code. `cleared`
    is set when a patient was erased afterwards: the lines, which name files, were then deleted.
    """

    notes: int = 0
    spans: int = 0
    sets: int = 0
    already_there: int = 0
    refused_notes: int = 0
    refused_files: int = 0
    moved_spans: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    refused_more: int = 0
    warnings: list[dict[str, Any]] = field(default_factory=list)
    warnings_more: int = 0
    labels: dict[str, LabelLine] = field(default_factory=dict)
    layers: dict[str, dict[str, str]] = field(default_factory=dict)
    cleared: bool = False

    def refuse(self, problems: Sequence[Problem]) -> None:
        """Count one refused note and list all its problems."""
        self.refused_notes += 1
        self._list(problems)

    def refuse_note(self, name: str, code: str, message: str) -> None:
        """Count a refused note with its only problem."""
        self.refuse([Problem(name, None, code, message)])

    def warn_of(self, name: str, code: str, message: str) -> None:
        """List a warning of a note."""
        self.warn([Problem(name, None, code, message)])

    def refuse_files(self, problems: Sequence[Problem]) -> None:
        """Count refused files that belong to no note, one for each problem."""
        self.refused_files += len(problems)
        self._list(problems)

    def _list(self, problems: Sequence[Problem]) -> None:
        room = max(0, LISTED - len(self.refused))
        self.refused += [asdict(problem) for problem in problems[:room]]
        self.refused_more += len(problems) - len(problems[:room])

    def warn(self, problems: Sequence[Problem]) -> None:
        """List warnings. What a format doesn't keep of several notes is one line, with the number of further notes."""
        for problem in problems:
            lines = self.warnings if problem.code == "not kept" else []
            said = problem.code, problem.message
            equal = next((line for line in lines if (line["code"], line["message"]) == said), None)
            if equal:
                equal["also"] = equal.get("also", 0) + 1
            elif len(self.warnings) < LISTED:
                self.warnings.append(asdict(problem))
            else:
                self.warnings_more += 1


class ImportOptions(TypedDict, total=False):
    """How an import reads its files, as `Import` stores it; `no_cleanup` are the clean-up rules to leave out."""

    written_as: str
    language: str
    take_duplicates: bool
    repair_offsets: bool
    all_or_nothing: bool
    encoding: str
    no_cleanup: Sequence[str]


def new_import(
    *,
    project: models.Project,
    source: NamedFiles,
    format: str,
    actor: models.User | None,
    **options: Unpack[ImportOptions],
) -> models.Import:
    """An import that is not saved yet. Raises ServiceError for options that don't fit its files."""
    found = input_format(format, [name for name in source.names() if name != PATIENTS], source)
    row = models.Import(project=project, format=found, created_by=actor, **options)
    row.language, row.no_cleanup = row.language.strip().lower(), sorted(set(row.no_cleanup))
    check_choices(found, row.written_as, detected=found != format)
    check_reading(row.encoding, row.no_cleanup)
    return row


def check_choices(format: str, written_as: str, *, detected: bool = False) -> None:
    """Raise ServiceError `format` or `as`. `detected`: the files, and no person, decided on the format."""
    if format not in INPUT_FORMATS:
        message = _("There is no format “%(format)s”. Choose one of: %(choices)s.")
        raise ServiceError(message % {"format": format, "choices": ", ".join(INPUT_FORMATS)}, code="format")
    if written_as:
        parse_written_as(written_as)
        if not holds_spans(format) and detected:
            message = _(
                "No annotations were recognized in the files; their format seems to be “%(format)s”. Choose the "
                "format of the annotations, or import without annotations."
            )
            raise ServiceError(message % {"format": format}, code="as")
        if not holds_spans(format):
            raise ServiceError(
                _("Documents hold no annotations. Choose another format, or import without annotations.")
                if format == DOCUMENTS
                else _("Plain text holds no annotations. Choose another format, or import without annotations."),
                code="as",
            )


class ImportContext:
    """Everything one import needs while it runs, and its report so far."""

    def __init__(
        self,
        row: models.Import,
        source: NamedFiles,
        actor: models.User | None,
        *,
        patients: dict[str, str] | None = None,
        preview: bool = False,
    ) -> None:
        """A preview creates no author; `patients` replaces `patients.csv`."""
        self.row, self.source, self.actor, self.project = row, source, actor, row.project
        labels, self.label_ids, self.choices = _labels(row, preview=preview)
        skipped = (name for name, choice in self.choices.items() if choice["do"] == "skip")
        self.labels = AcceptedLabels(labels, skipped=skipped, repair=row.repair_offsets)
        self.author: models.Author | None = None
        if row.written_as and preview:
            kind, name = parse_written_as(row.written_as)
            self.author = models.Author.objects.filter(project=row.project, kind=kind, name=name).first()
        elif row.written_as:
            self.author = author_for_import(row.project, row.written_as)
        self.attributes = definitions_by_label(row.project_id)
        self.patients = read_patients(source) if patients is None else patients
        self.names = read_names(source)
        self.report = ImportReport(**row.report) if row.report else ImportReport()


def _labels(row: models.Import, *, preview: bool) -> tuple[dict[str, str], dict[str, int], Choices]:
    """Codes by the names that the files may use, label ids by code, and what happens to the labels without a code.

    Such a label stands for itself until its spans are written. A preview treats labels without a choice as if they
    were added.
    """
    accepted, ids = accepted_labels(row.project)
    choices: Choices = row.label_choices
    if preview and row.labels_found is not None:
        unknown = unknown_of(row)
        choices = {one.name: {"do": "add"} for one in unknown.open}
        if not unknown.open:
            choices = complete_choices(row)
        else:
            choices |= {one.name: row.label_choices[one.name] for one in unknown.rows if one.value}
    today = labels_of_today(choice["label"] for choice in choices.values() if "label" in choice)
    codes = {pk: code for code, pk in ids.items()}
    chosen: dict[str, str] = {}
    for name, choice in choices.items():
        label = today.get(choice["label"]) if "label" in choice else None
        if choice["do"] == "known":
            if label in codes:
                chosen[name] = codes[label]
            continue
        chosen[name] = name
        if label is not None:
            ids[name] = label
    labels = chosen | {name: code for name, code in accepted.items() if name not in chosen}
    return labels, ids, {name: choice for name, choice in choices.items() if choice["do"] != "known"}


def add_chosen_labels(context: ImportContext, plan: "Plan") -> None:
    """Add the labels that the spans of a batch need and that a person chose to add."""
    used = {span.label for note, _pk in plan.sets for span in note.spans or ()}
    for name in sorted(used - context.label_ids.keys()):
        code = ascii_code(name)
        found = _label_like(context.project, code)
        if found is None:
            category = models.Category.objects.select_related("label_set").get(pk=context.choices[name]["category"])
            try:
                found = add_label(label_set=category.label_set, category=category, name=name, actor=context.actor)
                context.report.labels[name] = LabelLine(do="added", label=found.code, spans=0, created=True)
            except ServiceError:
                # Somebody has added a label of this name since.
                found = _label_like(context.project, code)
                if found is None:
                    raise
        context.label_ids[name] = found.merged_into_id or found.pk


def _label_like(project: models.Project, code: str) -> models.Label | None:
    return models.Label.objects.filter(label_set__project=project, code__iexact=code).first()


def count_labels(context: ImportContext, plan: "Plan") -> None:
    """Count the spans of a batch whose label was mapped, added or skipped."""
    words = {"map": "mapped", "add": "added", "skip": "skipped"}
    counted: Counter[str] = Counter()
    for note, _pk in plan.sets:
        counted.update(note.skipped)
        counted.update(span.label for span in note.spans or () if span.label in context.choices)
    ids = {context.label_ids[name] for name in counted if name in context.label_ids}
    codes = dict(models.Label.objects.filter(pk__in=ids).values_list("pk", "code"))
    for name, spans in counted.items():
        code = codes.get(context.label_ids.get(name, 0), "")
        empty = LabelLine(do=words[context.choices[name]["do"]], label=code, spans=0, created=False)
        line = context.report.labels.setdefault(name, empty)
        line["label"] = code
        line["spans"] += spans


def follow_merged_labels(context: ImportContext) -> None:
    """Exclude merges of labels until the transaction ends, and take the labels as they are now."""
    keep_labels(context.project.pk)
    today = labels_of_today(context.label_ids.values())
    context.label_ids = {code: today.get(pk, pk) for code, pk in context.label_ids.items()}


@dataclass
class Plan:
    """What to write for one batch: new notes, and annotation sets for new notes (None) or existing notes (their pk)."""

    new: list[ParsedNote] = field(default_factory=list)
    sets: list[tuple[ParsedNote, int | None]] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)


def plan_notes(context: ImportContext, parsed: Iterable[ParsedNote], seen: dict[str, str]) -> Plan:
    """Sort a batch into new notes, new annotation sets of existing notes, notes already there, and refused notes.

    `seen` (sha256 to name) is shared by the batches of one import, to find equal texts.
    """
    notes = _each_once(context, parsed)
    for note in notes:
        _keep_attributes(context, note)
    plan = Plan(hashes={note.name: text_sha256(note.text) for note in notes})
    documents = models.Document.objects.filter(project=context.project)
    rows = documents.filter(name__in=list(plan.hashes)).values_list("pk", "name", "sha256")
    there = {name: (pk, sha256) for pk, name, sha256 in rows}
    equal = documents.filter(sha256__in=list(plan.hashes.values())).order_by("-id")
    twins = dict(equal.values_list("sha256", "name"))
    for note in notes:
        sha256 = plan.hashes[note.name]
        if note.name in there:
            pk, stored = there[note.name]
            if stored != sha256:
                message = "The project has a note of this name with another text, which was kept."
                context.report.refuse_note(note.name, "other-text", message)
            else:
                _plan_annotation_set(context, plan, note, pk)
            continue
        twin = twins.get(sha256) or seen.get(sha256)
        if twin is not None and not context.row.take_duplicates:
            message = f"The project has the same text as “{twin}”. Import duplicates only if you need them."
            context.report.refuse_note(note.name, "duplicate", message)
            continue
        seen[sha256] = note.name
        plan.new.append(note)
        if note.spans is not None:
            plan.sets.append((note, None))
    return plan


def _each_once(context: ImportContext, parsed: Iterable[ParsedNote]) -> list[ParsedNote]:
    """The notes of a batch. Files with many notes may name two of them alike: the later ones are refused."""
    notes: dict[str, ParsedNote] = {}
    for note in parsed:
        if note.name in notes:
            message = _("Two notes of the import have this name. The first one was read. Rename the other one.")
            context.report.refuse_note(note.name, "same name", message)
        else:
            notes[note.name] = note
    return list(notes.values())


def _keep_attributes(context: ImportContext, note: ParsedNote) -> None:
    """Leave out the attributes that the labels of the spans don't have, and warn of them, once for each name."""
    if not context.row.written_as or not note.spans or not any(span.attributes for span in note.spans):
        return
    left: Counter[tuple[str, str]] = Counter()
    for at, span in enumerate(note.spans):
        if span.attributes:
            defined = context.attributes.get(context.label_ids.get(span.label, 0), ())
            kept, others = fitting(span.attributes, defined)
            note.spans[at] = replace(span, attributes=kept)
            left.update((span.label, name) for name in others)
    for (label, name), count in sorted(left.items()):
        message = (
            f"The attribute “{name[:60]}” of {count} {'span' if count == 1 else 'spans'} with the label {label} "
            "was not kept: the label doesn't have this attribute or value. Add it to the label, and import again."
        )
        context.report.warn_of(note.name, "not kept", message)


def _plan_annotation_set(context: ImportContext, plan: Plan, note: ParsedNote, pk: int) -> None:
    """Plan the annotations of an existing note: a new set, already there, or refused for the author's existing set."""
    if note.spans is None:
        context.report.already_there += 1
        return
    present = context.author and models.AnnotationSet.objects.filter(document=pk, author=context.author).first()
    if not present:
        plan.sets.append((note, pk))
        return
    rows = models.Span.objects.filter(annotation_set=present).values_list("start", "end", "label_id", "attributes")
    held = {(start, end, label, pairs_of(attributes)) for start, end, label, attributes in rows}
    given = {(span.start, span.end, context.label_ids.get(span.label), span.attributes) for span in note.spans}
    if held == given and present.state == models.AnnotationSetState.SUBMITTED:
        context.report.already_there += 1
        return
    message = f"“{context.row.written_as}” already has other annotations on this note."
    context.report.refuse_note(note.name, "other-reading", f"{message} They were kept ({len(held)} spans).")
