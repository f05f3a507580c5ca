"""Which annotation sets count in the agreement of a project, and the key of the content that figures come from."""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, product
from string import ascii_uppercase
from typing import cast

from django.db.models import Count, Exists, OuterRef, QuerySet, Sum
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotations.agreement.rules.coefficients import MatchCriterion, in_words
from annotations.agreement.rules.figures import VERSION
from annotations.agreement.rules.shown import AgreementFigures, AgreementOfPair, OverallFigures, Recall, RoundFigures
from annotations.agreement.rules.units import ComparedUnit, Granularity, NoteAnnotationSets, Pattern, Setup, table
from annotations.core.bulk import among, batched, collector_paused
from annotations.core.stored_figures import state_of_sets
from annotations.core.tokenizers import Tokenizers
from annotations.formats.files.csv_files import csv_line
from annotations.models import (
    Amendment,
    AnnotationSet,
    AnnotationSetState,
    Author,
    AuthorKind,
    Document,
    Label,
    Project,
    Span,
)
from annotations.text.spans import Span as DomainSpan

BATCH = 250
State = AnnotationSetState


@dataclass(frozen=True)
class LeftOutSets:
    """How many annotation sets don't count, by reason."""

    not_blind: int
    seeded: int
    drafts: int


def left_out(project: Project) -> LeftOutSets:
    """Count the annotators' sets that don't count: drafts, and submitted sets that were seeded or not blind."""
    sets = AnnotationSet.objects.filter(author__in=_annotators(project), state__in=[State.DRAFT, State.SUBMITTED])
    not_blind = seeded = drafts = 0
    rows = sets.order_by().values_list("state", "blind", "seeded").annotate(count=Count("*"))
    for state, was_blind, was_seeded, count in rows:
        if state == State.DRAFT:
            drafts += count
        elif was_seeded:
            seeded += count
        elif not was_blind:
            not_blind += count
    return LeftOutSets(not_blind, seeded, drafts)


def _annotators(project: Project) -> list[int]:
    """The ids of the annotators. Not a join, because the index of annotation sets begins with the author."""
    return list(Author.objects.filter(project=project, kind=AuthorKind.ANNOTATOR).values_list("pk", flat=True))


def counted_sets(project: Project) -> QuerySet[AnnotationSet]:
    """The submitted sets of annotators who saw no spans of other annotators or models before."""
    return AnnotationSet.objects.filter(
        author__in=_annotators(project), state=State.SUBMITTED, blind=True, seeded=False
    ).order_by()


def _shared(project: Project) -> QuerySet[AnnotationSet, int]:
    """The ids of the notes with at least two sets that count."""
    notes = counted_sets(project).values("document").annotate(sets=Count("*")).filter(sets__gte=2)
    return notes.values_list("document_id", flat=True)


def annotator_names(project: Project) -> dict[str, str]:
    """Names of annotators by author id; ids are strings, as in the figures."""
    rows = Author.objects.filter(project=project, kind=AuthorKind.ANNOTATOR).values_list("pk", "name")
    return {str(pk): name for pk, name in rows}


def setup_of(project: Project) -> Setup:
    """The author ids and label codes to compare, both in order."""
    counted = counted_sets(project).filter(document__in=_shared(project))
    authors = sorted(counted.values_list("author_id", flat=True).distinct())
    labels = _labels(project)
    return Setup([str(pk) for pk in authors], [code for code, _category in labels], dict(labels))


def _labels(project: Project) -> list[tuple[str, str]]:
    """Label codes with their categories' codes, merged labels included, although no span has one of these."""
    labels = Label.objects.filter(label_set__project=project)
    return list(labels.order_by("position", "id").values_list("code", "category__code"))


def round_beginnings(project: Project) -> list[datetime]:
    """The times at which rounds 2, 3, … began, which are those of the amendments to the guidelines."""
    return sorted(Amendment.objects.filter(project=project).values_list("at", flat=True))


def content_key(project: Project, unit: ComparedUnit, tokenizer: str = "") -> str:
    """A hash of the content that the figures of a unit are computed from, made without reading spans.

    An annotation set's version rises with every change of its spans, including merged labels. Notes never change.
    """
    rounds = [time.isoformat() for time in round_beginnings(project)]
    content = [VERSION, str(unit), tokenizer, _labels(project), rounds, state_of_sets(counted_sets(project))]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def size_of(project: Project, most: int) -> int | None:
    """The number of characters to compare, each note once; None for more than `most` annotation sets."""
    counted = counted_sets(project)
    others = counted.filter(document=OuterRef("document")).exclude(pk=OuterRef("pk"))
    # Annotation sets of other notes are few where there are many: the search ends after `most`.
    notes = list(counted.filter(Exists(others)).values_list("document_id", flat=True)[: most + 1])
    if len(notes) > most:
        return None
    return int(Document.objects.filter(pk__in=set(notes)).aggregate(characters=Sum("length", default=0))["characters"])


def shared_notes(project: Project) -> list[int]:
    """The ids of the notes that the figures cover."""
    return sorted(_shared(project))


def shared_annotation_sets(
    project: Project, notes: list[int], tokenizer: str = ""
) -> Iterator[list[NoteAnnotationSets]]:
    """The notes with texts, rounds and the sets that count (by author id), BATCH notes at a time.

    A note belongs to the round in which the last of these sets was submitted. `tokenizer`: its name, empty for the
    default rule. Raises ServiceError `tokenizer` if it can't be had for the language of a note.
    """
    tokenizers = Tokenizers(tokenizer)
    beginnings = round_beginnings(project)
    labels = dict(Label.objects.filter(label_set__project=project).values_list("pk", "code"))
    for batch in batched(notes, BATCH):
        yield _batch(project, batch, beginnings, labels, tokenizers)


@collector_paused()
def _batch(
    project: Project, notes: list[int], beginnings: list[datetime], labels: dict[int, str], tokenizers: Tokenizers
) -> list[NoteAnnotationSets]:
    annotation_sets: dict[int, dict[str, list[DomainSpan]]] = {}
    rounds: dict[int, set[int]] = {}
    home: dict[int, list[DomainSpan]] = {}
    sets = counted_sets(project).filter(document__in=among(notes)).order_by("document_id", "author_id")
    for pk, note, author, submitted in sets.values_list("pk", "document_id", "author_id", "submitted_at"):
        home[pk] = annotation_sets.setdefault(note, {})[str(author)] = []
        number = 1 + bisect_right(beginnings, submitted) if submitted else 1
        rounds.setdefault(note, set()).add(number)
    spans = Span.objects.filter(annotation_set__in=among(home)).order_by("start", "end")
    for pk, start, end, label in spans.values_list("annotation_set_id", "start", "end", "label_id"):
        home[pk].append(DomainSpan(start, end, labels[label]))
    rows = Document.objects.filter(pk__in=among(annotation_sets)).values_list("pk", "text", "language")
    texts = {pk: (text, tokenizers(language or project.language)) for pk, text, language in rows}
    return [
        NoteAnnotationSets(text, by_author, note, max(rounds[note]), len(rounds[note]) > 1, tokenizer)
        for note, by_author in annotation_sets.items()
        for text, tokenizer in ([texts[note]] if note in texts else [])
    ]


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
        gettext("Annotator %(n)d") % {"n": number} if hidden else names[author]
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


# The figures of agreement with the names of units, of granularities and of annotators.


UNITS = {
    ComparedUnit.TOKEN: (_("Tokens"), _("All tokens of the notes, including unmarked ones.")),
    ComparedUnit.MARKED: (_("Marked tokens"), _("Only tokens that at least one annotator labeled.")),
    ComparedUnit.CHARACTER: (_("Characters"), _("All characters of the notes.")),
    ComparedUnit.ENTITY: (
        _("Spans"),
        _("Every span that any annotator marked, with exact bounds. An annotator without this span counts as O."),
    ),
}
GRANULARITIES = {
    Granularity.BINARY: _("Personal data or not"),
    Granularity.CATEGORY: _("Category"),
    Granularity.SUBCATEGORY: _("Label"),
    Granularity.BIO: _("Label with BIO prefix"),
}


class AgreementOfRound(RoundFigures):
    """The notes of one round of the guidelines, which began with an amendment; the first one with the project.

    `mixed`: notes that were annotated in several rounds.
    """

    began: datetime | None


class EstimatedRecall(Recall):
    """The spans found, the estimated spans that nobody found, and the recall of annotators."""

    matching: str


class Agreement(OverallFigures):
    """The figures at one granularity. `words` is the wording of alpha."""

    unit: str
    granularity: str
    notes: int
    annotators: list[str]
    mixed: int
    left_out: LeftOutSets
    words: str
    rounds: list[AgreementOfRound]
    recall: list[EstimatedRecall]


def agreement_of(
    project: Project, found: AgreementFigures, granularity: Granularity, names: Mapping[str, str]
) -> Agreement:
    """The figures at one granularity. `names` are those of `shown_names`; pairs and recalls are in their order."""
    report = found["granularities"][granularity]
    order = list(names)
    beginnings = [None, *round_beginnings(project)]
    figures = report | {
        "unit": found["unit"],
        "granularity": str(granularity),
        "notes": found["notes"],
        "mixed": found["mixed"],
        "annotators": list(names.values()),
        "left_out": left_out(project),
        "words": "" if report["alpha"]["value"] is None else in_words(report["alpha"]["value"]),
        "pairs": [row | {"a": names[row["a"]], "b": names[row["b"]]} for row in _in_order(report["pairs"], order)],
        "rounds": [
            row | {"began": beginnings[row["round"] - 1] if row["round"] <= len(beginnings) else None}
            for row in report["rounds"]
        ],
        "recall": [
            kept | {
                "matching": str(matching),
                "each": [
                    row | {"annotator": names[row["annotator"]]}
                    for row in sorted(kept["each"], key=lambda row: order.index(row["annotator"]))
                ],
            }
            for matching in MatchCriterion
            for kept in [found["recall"][matching]]
        ],
    }  # fmt: skip
    return cast(Agreement, figures)  # To mypy, a TypedDict with more keys is a plain dictionary.


def shown_names(project: Project, annotators: Sequence[str], *, hidden: bool) -> dict[str, str]:
    """Return the names of annotators by author id, in order; letters in an order that tells nothing, if hidden."""
    if hidden:
        secret = {pk: salted_hmac("annotations.views.agreement", pk).hexdigest() for pk in annotators}
        letters = map(
            "".join, chain.from_iterable(product(ascii_uppercase, repeat=n) for n in range(1, 9))
        )  # A … Z, AA …
        shuffled = zip(sorted(secret, key=lambda pk: secret[pk]), letters, strict=False)
        return {pk: gettext("Annotator %(n)s") % {"n": name} for pk, name in shuffled}
    names = annotator_names(project)
    return dict(sorted(((pk, names.get(pk, "?")) for pk in annotators), key=lambda row: (row[1].casefold(), row[0])))


def _in_order(pairs: Sequence[AgreementOfPair], order: Sequence[str]) -> list[AgreementOfPair]:
    """Return the pairs, and the two annotators of each, in the order of their names."""
    position = {pk: index for index, pk in enumerate(order)}
    rows: list[AgreementOfPair] = []
    for row in pairs:
        a, b = sorted((row["a"], row["b"]), key=position.__getitem__)
        rows.append({**row, "a": a, "b": b, "spans": row["spans"] if a == row["a"] else row["spans"][::-1]})
    return sorted(rows, key=lambda row: (position[row["a"]], position[row["b"]]))
