"""What travels in an archive: models and their fields, in the order in which they are imported.

Nothing else does. The files, their columns, references and the path to the project follow from the models.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints, is_typeddict

from django.db.models import BooleanField, CharField, ExpressionWrapper, F, JSONField, Model, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from annotations import models
from annotations.ops.services.archives import shapes
from annotations.ops.services.archives.numbers import file_of
from annotations.records.rules.schemas import SchemaError, check_schema
from annotations.review.selectors.bulk_rules import BulkRule
from annotations.text.attributes import Doubt, MergedProvenance, Provenance, RefinedProvenance, RunSays
from annotations.text.labels import CODE
from annotations.text.names import bad_character

PEOPLE: Final = "people.jsonl"
NEVER_CURRENT: Final = "0" * 64

# The project's row says nothing about the instance; members are part of people.jsonl.
PROJECT: Final = (
    "name language guidelines guidelines_version distribution annotators_per_note notes_per_annotator idle_days "
    "seed_from candidates unanimous_passes anonymous_adjudication show_outcome second_review planted_share archived_at "
    "runs_decide created_at created_by"
)
MEMBER: Final = "role active joined_at removed_at read_others_until"
# A field that gives the row's note comes before those that name something in it.
TABLES: Final[dict[type[Model], str]] = {
    models.LabelSet: "key name source",
    models.Category: "label_set code name hue position",
    models.Label: (
        "label_set category code name hotkey description placeholder position attributes identifier merged_into"
    ),
    models.LabelMapping: "name target created_by created_at",
    models.MappedLabel: "mapping label code",
    models.Author: "kind name user merged_from created_at",
    models.BulkAct: (
        "user act rule state planned decided left beside skipped skipped_notes doubtful conflicts undone kept "
        "created_at ended_at"
    ),
    models.MajorityAct: (
        "user state planned gold spans tied ties has_gold in_review begun pending left undone kept created_at ended_at"
    ),
    models.Document: "name text sha256 language patient_id created_at",
    models.NoteMetadata: "document note_type site",
    models.AnnotationSet: "document author state version blind seeded created_at updated_at submitted_at",
    models.Span: "annotation_set start end label confidence raw_confidence source provenance attributes",
    models.Assignment: "document user state created_at",
    models.Review: "document author finished_by finished_at found_empty drawn planted_share ahead",
    models.Decision: "review suggestion verdict start end label_id reviewer cause at",
    models.PlantedLeak: "review suggestion known result reviewer drawn_at revealed_at",
    models.Handover: "review state blind first first_at outcome kept second second_at compared equal people",
    models.SuggestedNote: "document author information random_order",
    models.Resolution: "document start end choice author spans heard by at",
    models.Adjudication: "document heard finished_by finished_at",
    models.MajorityNote: "document act adjudicated_version gold_version",
    models.Cause: "document start end kind by at",
    models.ErrorCause: (
        "document author labels_of gold_start gold_end gold_label predicted_start predicted_end predicted_label kind "
        "by at"
    ),
    models.Comment: (
        "document annotator span_id start end answers author text created_at edited_at resolved_at resolved_by"
    ),
    models.Flag: "document user reason text raised_at cleared_at cleared_by",
    models.Amendment: "document number text start end guidelines_version by at",
    models.GoldVersion: (
        "number content_hash note_count span_count erased_count split_seed split_shares reason created_by created_at"
    ),
    models.GoldVersionNote: "document version spans split",
    models.RewrittenNote: "document author text sha256 unmapped",
    models.PublishedDecision: (
        "name sha256 number office document state author method parameters aligned outside begin inside settled_by "
        "settled_at text"
    ),
    models.PairCandidate: "published document similarity fits",
    models.RecordSchema: (
        "data_type number record_version schema repairs state created_by created_at reviewed_by reviewed_at "
        "activated_by activated_at"
    ),
    models.Record: "schema document content_hash has_text sections record created_at",
}
NAMES: Final = frozenset({file_of(models.Project), PEOPLE, *map(file_of, TABLES)})


def _is_schema(value: Any) -> bool:
    try:
        check_schema(value if isinstance(value, dict) else {})
    except SchemaError:
        return False
    return isinstance(value, dict)


def _has_shares(value: Any) -> bool:
    return isinstance(value, dict) and all(type(share) is int for share in value.values())


def _finished(done: str) -> shapes.Shape:
    """The state of an act. One whose job is unfinished is archived as done, since jobs are not archived."""
    return shapes.instead(lambda state: done if state in ("working", "undoing") else state, lambda state: state)


def _plain(kind: type) -> dict[str, shapes.Shape]:
    """The keys of a TypedDict or dataclass, each a plain value of its type."""
    return {key: shapes.plain(*_types(hint)) for key, hint in get_type_hints(kind).items()}


def _types(hint: Any) -> list[type]:
    """The types of JSON values that fit a type hint."""
    if isinstance(hint, UnionType):
        return [kind for part in get_args(hint) for kind in _types(part)]
    if hint is float:
        return [float, int]
    return [dict if is_typeddict(hint) else get_origin(hint) or hint]


_NUMBER: Final = shapes.plain(*_types(float | None))
_PROVENANCE: Final[dict[str, shapes.Shape]] = {
    **_plain(Provenance),
    **_plain(MergedProvenance),
    **_plain(Doubt),
    **_plain(RefinedProvenance),
    "from": shapes.name("annotator", "reviewer"),
    "by": shapes.name(),
    "set": shapes.maybe(shapes.row(models.AnnotationSet)),
    "suggestion": shapes.maybe(shapes.row(models.Span)),
    "annotators": shapes.each(shapes.row(models.Author)),
    "cause": shapes.maybe(shapes.text(shapes.row(models.BulkAct))),
    "runs": shapes.each(shapes.record(_plain(RunSays), required=tuple(RunSays.__annotations__))),
}
PROVENANCE: Final = shapes.record(_PROVENANCE)
_PROVENANCE["adjudication"] = shapes.maybe(PROVENANCE)
_GOLD_SPAN: Final = shapes.within(
    _NUMBER, shapes.plain(str), shapes.maybe(PROVENANCE), shapes.maybe(shapes.ATTRIBUTES), optional=1
)
_STATE: Final = shapes.record(
    {
        "verdict": shapes.only(lambda value: value in ("accepted", "rejected"), _("has a wrong verdict")),
        "bounds": shapes.maybe(shapes.within()),
        "cause": shapes.maybe(shapes.text(shapes.row(models.BulkAct))),
    },
    required=("verdict", "bounds"),
)
SHAPES: Final[dict[tuple[type[Model], str], shapes.Shape]] = {
    (models.Label, "attributes"): shapes.DEFINITIONS,
    (models.LabelMapping, "name"): shapes.only(
        lambda value: value.strip() and not bad_character(value), _("must be a name without hidden characters")
    ),
    # Exports write it to files; empty: the spans of the label are left out.
    (models.MappedLabel, "code"): shapes.only(
        lambda value: not value or CODE.fullmatch(value),
        _("may contain only A-Z, a-z, 0-9, “_” and “-”, with a letter or digit"),
    ),
    (models.Author, "merged_from"): shapes.maybe(shapes.each(shapes.row(models.Author))),
    # Exceptions of an act on a string matter only before it runs.
    (models.BulkAct, "rule"): shapes.record(
        {
            **_plain(BulkRule),
            "kind": shapes.plain(str),
            "runs": shapes.each(shapes.row(models.Author)),
            "label": shapes.maybe(shapes.row(models.Label)),
            "to": shapes.maybe(shapes.row(models.Label)),
            "but": shapes.instead(lambda but: [], lambda but: []),
        },
        required=("kind", "runs"),
    ),
    (models.BulkAct, "state"): _finished(models.ActState.DONE),
    (models.MajorityAct, "state"): _finished(models.ActState.DONE),
    (models.Document, "name"): shapes.only(
        lambda value: value and not bad_character(value), _("is a name of a note that is not allowed")
    ),
    (models.Span, "provenance"): shapes.maybe(PROVENANCE),
    (models.Span, "attributes"): shapes.maybe(shapes.ATTRIBUTES),
    (models.Decision, "label_id"): shapes.maybe(shapes.row(models.Label)),
    (models.Handover, "outcome"): shapes.record(
        {
            "suggestions": shapes.by_row(models.Span, shapes.maybe(shapes.within())),
            "others": shapes.each(shapes.within()),
            "before": shapes.each(shapes.within()),
        },
        required=("suggestions", "others"),
    ),
    (models.Handover, "kept"): shapes.maybe(
        shapes.record(
            {
                "decisions": shapes.each(shapes.items(shapes.row(models.Span), shapes.maybe(_STATE), shapes.person)),
                "touched": shapes.each(shapes.row(models.Span)),
                "removed": shapes.each(_GOLD_SPAN),
                "added": shapes.each(_GOLD_SPAN),
            },
            required=("decisions", "touched", "removed", "added"),
        )
    ),
    (models.Resolution, "author"): shapes.maybe(shapes.row(models.Author)),
    (models.Resolution, "spans"): shapes.each(shapes.within()),
    (models.Resolution, "heard"): shapes.by_row(
        models.Author, shapes.each(shapes.within(shapes.ATTRIBUTES, optional=1))
    ),
    # An empty hash is filled in by the next comparison of the note; one of zeros never fits.
    (models.Adjudication, "heard"): shapes.instead(
        bool, lambda current: "" if shapes.yes_no(current) else NEVER_CURRENT
    ),
    (models.Comment, "span_id"): shapes.maybe(shapes.row(models.Span)),
    (models.GoldVersion, "split_shares"): shapes.maybe(
        shapes.only(_has_shares, _("must be null, or give a whole number for each split"))
    ),
    (models.GoldVersionNote, "spans"): shapes.each(
        shapes.within(shapes.maybe(PROVENANCE), shapes.ATTRIBUTES, label=shapes.plain(str), optional=1)
    ),
    (models.PublishedDecision, "parameters"): shapes.record(
        {
            **{key: shapes.plain(int) for key in ("window", "shingle", "permutations", "seed")},
            "threshold": shapes.plain(int, float),
        }
    ),
    (models.RecordSchema, "schema"): shapes.only(_is_schema, _("must be a schema of records")),
    (models.RecordSchema, "repairs"): shapes.each(shapes.plain(str)),
    (models.Record, "sections"): shapes.each(shapes.items(shapes.plain(int), shapes.plain(int), shapes.plain(str))),
    (models.Record, "record"): shapes.plain(dict),
    (models.RewrittenNote, "unmapped"): shapes.each(
        shapes.items(
            shapes.plain(int), shapes.plain(int), shapes.plain(str), shapes.plain(str), shapes.plain(dict, type(None))
        )
    ),
}
# What is read from the database in place of a field.
READ: Final[dict[tuple[type[Model], str], Any]] = {
    (models.Adjudication, "heard"): ExpressionWrapper(
        Q(heard="") | Q(heard=F("document__comparison__heard")), BooleanField()
    )
}


@dataclass(frozen=True)
class Column:
    """A key of a table's rows. `path` is what is read from the database; `default` is the value of an absent key."""

    key: str
    field: Any
    path: str
    shape: shapes.Shape
    default: Any


MISSING: Final = object()


@cache
def columns_of(model: type[Model]) -> Sequence[Column]:
    """The columns of a table. Raises FieldDoesNotExist."""
    names = PROJECT if model is models.Project else MEMBER if model is models.Membership else TABLES[model]
    return [_column(model, name) for name in names.split()]


def _column(model: type[Model], name: str) -> Column:
    field: Any = model._meta.get_field(name)
    shape = SHAPES.get((model, name)) or shapes.shape_of(field)
    if (model, name) in READ:
        return Column(name, field, f"read_{name}", shape, MISSING)
    if field.many_to_many:
        return Column(name, field, "pk", shape, MISSING)
    if (model, name) in SHAPES and isinstance(field, CharField):
        shape = shapes.both(shapes.shape_of(field), shape)
    default = field.get_default() if field.has_default() or field.null or field.blank else MISSING
    # A moment that is set automatically has no default of its own.
    if not field.null and (default is None or isinstance(field, JSONField)):
        default = MISSING
    default = getattr(default, "value", default)
    return Column(name, field, field.attname, shape, default)


@cache
def path_of(model: type[Model]) -> str:
    """The shortest path of required references from a table to the project."""
    waiting: deque[tuple[type[Model], str]] = deque([(model, "")])
    while waiting:
        at, path = waiting.popleft()
        if at is models.Project:
            return path.removesuffix("__") or "pk"
        for field in at._meta.concrete_fields:
            if field.remote_field is not None and not field.null and field.related_model in (models.Project, *TABLES):
                waiting.append((field.related_model, f"{path}{field.name}__"))  # type: ignore[arg-type]
    raise TypeError(f"{model.__name__} belongs to no project.")


def rows_of(model: type[Model], project: models.Project, using: str | None = None) -> "QuerySet[Any]":
    """The rows of a table that belong to a project, in the order of the archive."""
    rows = model._default_manager.using(using).filter(**{path_of(model): project.pk})
    read = {f"read_{name}": value for (of, name), value in READ.items() if of is model}
    found: QuerySet[Any] = rows.annotate(**read).order_by("pk")
    return found
