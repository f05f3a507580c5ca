"""The tables of an archive, in the order in which they are imported.

A table is a file of the archive with one line for each row. Its columns are all columns of its model, unless a column
is replaced or left out here: a new column of a model is archived without a change, and a new reference must be named.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import connection, models
from django.db.models import F, Q
from django.utils.translation import gettext as _

from annotations.models import (
    Adjudication,
    Amendment,
    AnnotationSet,
    Assignment,
    Author,
    BulkAct,
    Category,
    Cause,
    Comment,
    Decision,
    Document,
    ErrorCause,
    Flag,
    GoldVersion,
    GoldVersionNote,
    Handover,
    Label,
    LabelMapping,
    LabelSet,
    MajorityAct,
    MajorityNote,
    MappedLabel,
    Membership,
    NoteMetadata,
    PlantedLeak,
    Project,
    Resolution,
    Review,
    RewrittenNote,
    Span,
    SuggestedNote,
)
from annotations.ops.services.archives import nested
from annotations.ops.services.archives.columns import (
    Column,
    author_column,
    checked_column,
    columns_of,
    json_column,
    label_column,
    note_column,
    person_column,
    plain,
)
from annotations.ops.services.archives.keys import Bad, Keys
from annotations.ops.services.archives.names import Names
from annotations.text.labels import CODE
from annotations.text.names import bad_character

PROJECT: Final = "project.jsonl"
PEOPLE: Final = "people.jsonl"
NOTES: Final = "notes.jsonl"
SETS: Final = "sets.jsonl"
NEVER_CURRENT: Final = "0" * 64
# Gold and adjudicated spans name suggestions and annotators, so their sets come after those.
RANKS: Final = (
    Author.Kind.RUN, Author.Kind.REFINED, Author.Kind.ANNOTATOR, Author.Kind.ADJUDICATED, Author.Kind.GOLD,
)  # fmt: skip


def _no_ids(row: dict[str, Any]) -> Iterable[int]:
    return ()


@dataclass(frozen=True)
class Table:
    """A table whose rows are written and read column by column.

    `project` is the path to the project, `constant` the attribute that every row gets from it. `spans` and `sets` are
    the ids of spans and annotation sets that a row names. Rows without a value for `needs` are not archived: what they
    are about was deleted. `numbered`: the primary key is made anew, and other rows name this one by its number.
    """

    name: str
    model: type[models.Model]
    project: str
    columns: list[Column]
    constant: str = "project_id"
    order: tuple[str, ...] = ("pk",)
    annotate: dict[str, Any] = field(default_factory=dict)
    spans: Callable[[dict[str, Any]], Iterable[int]] = _no_ids
    sets: Callable[[dict[str, Any]], Iterable[int]] = _no_ids
    needs: str = ""
    numbered: str = ""


def _field(model: type[models.Model], name: str) -> Any:
    return model._meta.get_field(name)


def _act(attname: str, kind: str, *, null: bool = False) -> Column:
    def into(keys: Keys, value: Any) -> Any:
        if value is None and null:
            return None
        target: Any = BulkAct if kind == "bulk" else MajorityAct
        return target._meta.pk.get_db_prep_save(keys.act(kind, value), connection)

    def out(names: Names, value: Any) -> int | None:
        return None if value is None else names.bulk(value) if kind == "bulk" else names.vote(value)

    return Column(kind, attname, attname, out, into)


def _review() -> list[Column]:
    """The review of a row: its note and its run."""
    return [
        note_column("review__document__name", ""),
        Column("author", "review__author_id", "review_id", Names.author, lambda k, v: k.review(k.author(v))),
    ]


def _suggestion() -> Column:
    return Column("suggestion", "suggestion_id", "suggestion_id", Names.span, nested.span_in)


def _state(model: type[models.Model], done: str) -> Column:
    """The state of an act. One whose job is unfinished is archived as done, since jobs are not archived."""
    column = plain(_field(model, "state"))
    return Column(
        column.key, column.path, column.attname,
        lambda names, value: done if value in ("working", "undoing") else value, column.into,
    )  # fmt: skip


def _people_of_handover() -> Column:
    """Everybody who took part in the first review. Read apart, since it is a table of its own."""

    def into(keys: Keys, value: Any) -> list[int]:
        if not isinstance(value, list):
            raise Bad(_("must be a list of user names"))
        return [keys.person(name) for name in value]

    return Column("people", "pk", "", lambda names, pk: _handover_people(names, pk), into)


def _handover_people(names: Names, pk: int) -> list[Any]:
    rows = Handover.people.through.objects.using(names.using).filter(handover_id=pk)
    return sorted(str(names.person(user)) for user in rows.values_list("user_id", flat=True))


def _comment_number(keys: Keys, value: Any) -> int | None:
    if value is not None and type(value) is not int:
        raise Bad(_("must be the number of a comment, or null"))
    return value


def _span_or_none(keys: Keys, value: Any) -> int | None:
    return None if value is None else nested.span_in(keys, value)


def _merged_runs(names: Names, value: Any) -> Any:
    return None if value is None else [author for author in map(names.author, value) if author]


def _runs_or_none(keys: Keys, value: Any) -> Any:
    """Authors that are looked up once the whole table is stored."""
    if value is not None and not isinstance(value, list):
        raise Bad(_("must be a list of authors, or null"))
    return value


def _text(keys: Keys, value: Any) -> Any:
    """A code that is looked up once the whole table is stored."""
    if value is not None and not isinstance(value, str):
        raise Bad(_("must be a code, or null"))
    return value


def _mapping_name(value: Any) -> Any:
    if isinstance(value, str) and (not value.strip() or bad_character(value)):
        raise Bad(_("must be a name without hidden characters"))
    return value


def _written_code(value: Any) -> Any:
    """A code of a label mapping, which exports write to files; empty: the spans of the label are left out."""
    if isinstance(value, str) and value and not CODE.fullmatch(value):
        raise Bad(_("may contain only A-Z, a-z, 0-9, “_” and “-”, with a letter or digit"))
    return value


def _current(keys: Keys, value: Any) -> str:
    """An empty hash is filled in by the next comparison of the note; one of zeros never fits."""
    if type(value) is not bool:
        raise Bad(_("must be true or false"))
    return "" if value else NEVER_CURRENT


def _as_it_is(names: Names, value: Any) -> Any:
    return value


LABEL_SET = Table("label_set.jsonl", LabelSet, "project", columns_of(LabelSet, first=[], instead={"project_id": None}))
CATEGORIES = Table(
    "categories.jsonl", Category, "label_set__project",
    columns_of(Category, first=[], instead={"label_set_id": None}), constant="label_set_id",
)  # fmt: skip
LABELS = Table(
    "labels.jsonl", Label, "label_set__project",
    columns_of(Label, first=[], instead={
        "label_set_id": None,
        "category_id": Column("category", "category__code", "category_id", _as_it_is, Keys.category),
        "merged_into_id": Column("merged_into", "merged_into__code", "", _as_it_is, _text),
        "attributes": checked_column(Label, "attributes", nested.definitions_in),
    }), constant="label_set_id",
)  # fmt: skip
MAPPINGS = Table(
    "label_mappings.jsonl", LabelMapping, "project",
    columns_of(LabelMapping, first=[], instead={
        "project_id": None,
        "name": checked_column(LabelMapping, "name", _mapping_name),
        "created_by_id": person_column("created_by_id", null=True),
    }),
)  # fmt: skip
MAPPED = Table(
    "mapped_labels.jsonl", MappedLabel, "mapping__project",
    columns_of(MappedLabel, first=[Column("mapping", "mapping__name", "mapping_id", _as_it_is, Keys.mapping)], instead={
        "label_id": label_column("label_id"),
        "code": checked_column(MappedLabel, "code", _written_code),
    }), constant="",
)  # fmt: skip
AUTHORS = Table(
    "authors.jsonl", Author, "project",
    columns_of(Author, first=[], instead={
        "project_id": None,
        "name": plain(_field(Author, "name"))._replace(path="pk", out=lambda names, pk: names.author_name(pk)),
        "user_id": person_column("user_id", null=True),
        "merged_from": Column("merged_from", "merged_from", "", _merged_runs, _runs_or_none),
    }),
)  # fmt: skip
ASSIGNMENTS = Table(
    "assignments.jsonl", Assignment, "project",
    columns_of(
        Assignment, first=[note_column()], instead={"project_id": None, "user_id": person_column("user_id")}
    ),
)  # fmt: skip
BULK_ACTS = Table(
    "bulk_acts.jsonl", BulkAct, "project",
    columns_of(BulkAct, first=[], instead={
        "project_id": None,
        "user_id": person_column("user_id"),
        "rule": json_column(BulkAct, "rule", nested.rule_out, nested.rule_in),
        "state": _state(BulkAct, BulkAct.State.DONE),
    }), order=("created_at", "pk"), numbered="bulk",
)  # fmt: skip
REVIEWS = Table(
    "reviews.jsonl", Review, "document__project",
    columns_of(Review, first=[note_column(), author_column()], instead={
        "finished_by_id": person_column("finished_by_id", null=True),
    }), constant="",
)  # fmt: skip
DECISIONS = Table(
    "decisions.jsonl", Decision, "review__document__project",
    columns_of(Decision, first=[*_review(), _suggestion()], instead={
        "label_id": label_column("label_id", null=True),
        "reviewer_id": person_column("reviewer_id"),
        "cause_id": _act("cause_id", "bulk", null=True),
    }), constant="", spans=lambda row: [row["suggestion_id"]], needs="suggestion",
)  # fmt: skip
PLANTED = Table(
    "planted_leaks.jsonl", PlantedLeak, "review__document__project",
    columns_of(PlantedLeak, first=[*_review(), _suggestion()], instead={
        "reviewer_id": person_column("reviewer_id", null=True),
    }), constant="", spans=lambda row: [row["suggestion_id"]], needs="suggestion",
)  # fmt: skip
HANDOVERS = Table(
    "second_reviews.jsonl", Handover, "review__document__project",
    columns_of(Handover, first=[*_review(), _people_of_handover()], instead={
        "first_id": person_column("first_id"),
        "second_id": person_column("second_id", null=True),
        "outcome": json_column(Handover, "outcome", nested.outcome_out, nested.outcome_in),
        "kept": json_column(Handover, "kept", nested.kept_out, nested.kept_in),
    }), constant="",
    spans=lambda row: nested.suggestions_of_handover(row["outcome"], row["kept"]),
    sets=lambda row: nested.sets_of_handover(row["kept"]),
)  # fmt: skip
SUGGESTED_NOTES = Table(
    "review_order.jsonl", SuggestedNote, "document__project",
    columns_of(SuggestedNote, first=[note_column(), author_column()]), constant="",
)  # fmt: skip
RESOLUTIONS = Table(
    "adjudication_decisions.jsonl", Resolution, "document__project",
    columns_of(Resolution, first=[note_column()], instead={
        "author": author_column("author", null=True),
        "spans": json_column(Resolution, "spans", nested.spans_out, nested.spans_in),
        "heard": json_column(Resolution, "heard", nested.heard_out, nested.heard_in),
        "by_id": person_column("by_id"),
    }), constant="",
)  # fmt: skip
ADJUDICATIONS = Table(
    "adjudications.jsonl", Adjudication, "document__project",
    columns_of(Adjudication, first=[note_column()], instead={
        "heard": Column("current", "current", "heard", _as_it_is, _current),
        "finished_by_id": person_column("finished_by_id"),
    }), constant="",
    annotate={"current": models.ExpressionWrapper(
        Q(heard="") | Q(heard=F("document__comparison__heard")), models.BooleanField()
    )},
)  # fmt: skip
VOTES = Table(
    "majority_votes.jsonl", MajorityAct, "project",
    columns_of(MajorityAct, first=[], instead={
        "project_id": None,
        "user_id": person_column("user_id"),
        "state": _state(MajorityAct, MajorityAct.State.DONE),
    }), order=("created_at", "pk"), numbered="vote",
)  # fmt: skip
VOTED = Table(
    "majority_notes.jsonl", MajorityNote, "document__project",
    columns_of(MajorityNote, first=[note_column()], instead={"act_id": _act("act_id", "vote")}), constant="",
)  # fmt: skip
CAUSES = Table(
    "causes.jsonl", Cause, "document__project",
    columns_of(Cause, first=[note_column()], instead={"by_id": person_column("by_id")}), constant="",
)  # fmt: skip
ERROR_CAUSES = Table(
    "error_causes.jsonl", ErrorCause, "document__project",
    columns_of(ErrorCause, first=[note_column(), author_column()], instead={"by_id": person_column("by_id")}),
    constant="",
)  # fmt: skip
COMMENTS = Table(
    "comments.jsonl", Comment, "document__project",
    columns_of(Comment, first=[note_column()], instead={
        "annotator_id": person_column("annotator_id", null=True),
        "span_id": Column("span", "span_id", "span_id", Names.span, _span_or_none),
        "answers_id": Column("answers", "answers_id", "", Names.comment, _comment_number),
        "author_id": person_column("author_id"),
        "resolved_by_id": person_column("resolved_by_id", null=True),
        "change_id": None,
    }), constant="", spans=lambda row: [row["span_id"]] if row["span_id"] else [],
)  # fmt: skip
FLAGS = Table(
    "flags.jsonl", Flag, "document__project",
    columns_of(Flag, first=[note_column()], instead={
        "user_id": person_column("user_id"),
        "cleared_by_id": person_column("cleared_by_id", null=True),
    }), constant="",
)  # fmt: skip
AMENDMENTS = Table(
    "amendments.jsonl", Amendment, "project",
    columns_of(Amendment, first=[note_column(null=True)], instead={
        "project_id": None, "by_id": person_column("by_id", null=True)
    }),
)  # fmt: skip
GOLD_VERSIONS = Table(
    "gold_versions.jsonl", GoldVersion, "project",
    columns_of(GoldVersion, first=[], instead={
        "project_id": None,
        "split_shares": json_column(GoldVersion, "split_shares", _as_it_is, nested.shares_in),
        "created_by_id": person_column("created_by_id", null=True),
    }),
)  # fmt: skip
GOLD_NOTES = Table(
    "gold_version_notes.jsonl", GoldVersionNote, "version__project",
    columns_of(GoldVersionNote, first=[
        Column("version", "version__number", "version_id", _as_it_is, Keys.version), note_column(),
    ], instead={"spans": json_column(GoldVersionNote, "spans", nested.frozen_out, nested.frozen_in)}), constant="",
    spans=lambda row: (pk for span in row["spans"] for pk in nested.suggestions_in(span[3])),
    sets=lambda row: (pk for span in row["spans"] for pk in nested.sets_in(span[3])),
)  # fmt: skip
REWRITTEN = Table(
    "rewritten_notes.jsonl", RewrittenNote, "document__project",
    columns_of(RewrittenNote, first=[note_column(), author_column()], instead={
        "unmapped": json_column(RewrittenNote, "unmapped", _as_it_is, nested.unmapped_in),
    }), constant="",
)  # fmt: skip

# Before the notes and the annotation sets (gold spans name acts), and after them.
BEFORE: Final = (LABEL_SET, CATEGORIES, LABELS, MAPPINGS, MAPPED, AUTHORS, BULK_ACTS, VOTES)
AFTER: Final = (
    ASSIGNMENTS, REVIEWS, DECISIONS, PLANTED, HANDOVERS, SUGGESTED_NOTES, RESOLUTIONS, ADJUDICATIONS, VOTED,
    CAUSES, ERROR_CAUSES, COMMENTS, FLAGS, AMENDMENTS, GOLD_VERSIONS, GOLD_NOTES, REWRITTEN,
)  # fmt: skip
NAMES: Final = frozenset({PROJECT, PEOPLE, NOTES, SETS, *(table.name for table in (*BEFORE, *AFTER))})

# What belongs to this instance, not to the project's work, is left out of the project's row.
PROJECT_COLUMNS: Final = columns_of(Project, first=[], instead={
    "slug": None, "second_factor": None, "mcp_clients": None, "last_job_number": None, "erasures": None,
    "exported_at": None,
    "seed_from_id": author_column("seed_from_id", null=True),
    "created_by_id": person_column("created_by_id", null=True),
})  # fmt: skip
MEMBER_COLUMNS: Final = columns_of(
    Membership, first=[], instead={"project_id": None, "user_id": None, "provided_by": None}
)
NOTE_COLUMNS: Final = columns_of(
    Document, first=[], instead={"project_id": None, "imported_by_id": None, "length": None}
)
METADATA_COLUMNS: Final = [
    Column(each.key, f"metadata__{each.path}", each.attname, each.out, each.into, each.default)
    for each in columns_of(NoteMetadata, first=[])
]
SET_COLUMNS: Final = columns_of(AnnotationSet, first=[note_column(), author_column()], instead={"imported_by_id": None})
SPAN_COLUMNS: Final = columns_of(Span, first=[], instead={
    "annotation_set_id": None,
    "label_id": label_column("label_id"),
    "provenance": json_column(Span, "provenance", nested.provenance_out, nested.provenance_in),
    "attributes": json_column(
        Span, "attributes", lambda names, value: value or None, lambda keys, value: nested.attributes_in(value)
    ),
    "string_key": None,
})  # fmt: skip
