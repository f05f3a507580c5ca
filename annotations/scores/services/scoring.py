"""Score an author against gold. Figures are stored under a hash of their input, so that they are computed only once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from typing_extensions import TypedDict

from annotations.core.services import Progress, ServiceError, erasures_of, silent, unerased
from annotations.core.stored_figures import (
    FigureKind,
    cache_value,
    cached_value,
    forget,
    joined_key,
    key_of,
    maybe_cached,
)
from annotations.core.tokenizers import Tokenizers, check_tokenizer
from annotations.gold.rules import Split
from annotations.gold.selectors import frozen_version
from annotations.jobs.runner import Claim
from annotations.models import Author, AuthorKind, Project
from annotations.projects.selectors.labels import mappings, shipped_set
from annotations.scores import selectors
from annotations.scores.rules import Scorer
from annotations.scores.rules.attributes import AttributeAgreement, AttributeTally
from annotations.scores.rules.rewritten import CountingRule, RewrittenData, RewrittenScore
from annotations.scores.rules.scorer import THRESHOLD
from annotations.scores.rules.table import AfterPass, TableData, after_pass
from annotations.scores.services.choices import chosen_types, labels_of, threshold_of
from annotations.text.attributes import pass_of
from annotations.text.labels import LabelMapping, MappingError
from annotations.text.spans import Span, masked, renamed

# Increase this number when a figure is computed in another way or its key changes, so that stored figures are no
# longer used.
REVISION = 15
# The maximum number of errors that are stored and shown; all errors are counted.
MOST_ERRORS = 50_000


@dataclass(frozen=True)
class ScoreRequest:
    """What to score: an author's submitted annotations against a gold, in one split or all, in which label set.

    With a `language`, only notes in it are scored.

    `threshold` is the lowest similarity of texts with tolerance. `types` are labels and categories, as `chosen_types`
    returns them, for which all-or-nothing recall is computed once more. `tokenizer` names the tokenizer for the
    figures on tokens, empty for the default rule; only workers and commands may compute a score with another one.
    """

    reference: selectors.Reference
    author: Author
    split: str = ""
    into: str = ""
    threshold: float = THRESHOLD
    types: tuple[str, ...] = ()
    tokenizer: str = ""
    language: str = ""

    @property
    def params(self) -> dict[str, Any]:
        """The request as parameters of a job: ids and choices only."""
        same = {name: getattr(self, name) for name in ("split", "into", "threshold", "tokenizer", "language")}
        return {"version": self.reference.number, "author_id": self.author.pk, "types": list(self.types), **same}


def score_request(
    project: Project, *, version: int, author_id: int | None = None, author: str = "", split: str = "", into: str = "",
    threshold: str | float = "", types: Sequence[str] = (), tokenizer: str = "", language: str = "",
    among: QuerySet[Author] | None = None,
) -> ScoreRequest:  # fmt: skip
    """Check what a person or command asks to score. `version` 0 is the current gold.

    `threshold` and `types` as for `threshold_of` and `chosen_types`. `among` are the authors whom the person may see;
    by default all. Raises ServiceError `author`, `version`, `split`, `into`, `threshold`, `types`, `tokenizer`,
    `language` or `mapping`, with the possible choices in its message.
    """
    found = _author(selectors.scorable_authors(project, among), author_id, author)
    reference = selectors.Reference(project, frozen_version(project, version) if version else None)
    if split:
        if split not in list(Split):
            message = _("There is no split “%(split)s”. Choose one of: %(choices)s.")
            raise ServiceError(message % {"split": split, "choices": ", ".join(Split)}, code="split")
        if reference.version is None or not reference.version.split_seed:
            message = _("This gold is not split into train, dev and test. Split a frozen version first.")
            raise ServiceError(message, code="split")
    key = project.label_set.key
    if into and (key, into) not in mappings():
        choices = ", ".join(target for source, target in mappings() if source == key) or "none"
        message = _("There is no mapping from “%(key)s” to “%(into)s”. Available from “%(key)s”: %(choices)s.")
        raise ServiceError(message % {"key": key, "into": into, "choices": choices}, code="into")
    check_tokenizer(tokenizer)
    if language and language not in (languages := selectors.note_languages(project)):
        raise ServiceError(
            _("This project has no notes in “%(language)s”. Its languages: %(languages)s.")
            % {"language": language[:20], "languages": ", ".join(languages) or _("unknown")},
            code="language",
        )
    wanted = ScoreRequest(
        reference, found, split, into, threshold_of(str(threshold)), tokenizer=tokenizer, language=language
    )
    return replace(wanted, types=chosen_types(types, label_mapper(wanted).category_of)) if types else wanted


def _author(authors: QuerySet[Author], pk: int | None, name: str) -> Author:
    kind, colon, rest = name.partition(":")
    if pk is not None:
        found = list(authors.filter(pk=pk))
    elif colon and kind in AuthorKind.values:
        found = list(authors.filter(kind=kind, name=rest))
    else:
        found = list(authors.filter(name=name))
        if not found and name in (AuthorKind.ADJUDICATED, AuthorKind.REFINED):
            found = list(authors.filter(kind=name))
    if len(found) == 1:
        return found[0]
    if pk is not None:
        # Pages request an author by id. The message lists no names, because not everybody may know the annotators.
        message = _("This author has no annotations in this project. Choose an author from the list.")
        raise ServiceError(message, code="author")
    known = ", ".join(f"{one.kind}:{one.name}" for one in authors) or "none yet"
    if found:
        message = _("Several authors have the name “%(name)s”. Choose one of: %(known)s.")
        raise ServiceError(message % {"name": name, "known": known}, code="author")
    message = _("This project has no author “%(value)s”. Available: %(known)s.")
    raise ServiceError(message % {"value": name, "known": known}, code="author")


class LeftOut(TypedDict):
    """Number of notes that are not scored, by reason."""

    drafts: int
    unread: int
    no_gold: int


class ScoreReference(TypedDict):
    """What the figures refer to, and what they exclude. `merged`: the author is a merged list of runs.

    `unanswered`: number of notes without a usable answer of the model, scored as notes in which nothing was found.
    """

    project: str
    gold: str
    content_hash: str | None
    author: str
    author_kind: str
    merged: bool
    split: str | None
    labels_of: str | None
    tokenizer: str | None
    language: str | None
    left_out: LeftOut
    unanswered: int
    spans_without_label: dict[str, int]


class ScoredTable(ScoreReference, TableData):
    """All figures of a score. `by_pass`: after each pass of a run with several passes, else empty.

    `attributes` compares spans with equal bounds and label in the project's own labels.
    """

    rewritten: RewrittenData
    rewritten_substring: RewrittenData
    by_pass: list[AfterPass]
    attributes: list[AttributeAgreement]
    errors: int
    own_gold_spans: int


LabeledBounds = tuple[int, int, str]
"""Start, end (code points, end-exclusive), label code; a list of the same three values after it was stored as JSON."""
Error = tuple[int, str, LabeledBounds | None, LabeledBounds | None]
"""A difference between gold and prediction: note, kind, gold, predicted."""
TABLE: FigureKind[ScoredTable] = FigureKind("score")
ERRORS: FigureKind[list[Error]] = FigureKind("score-errors")


@dataclass(frozen=True)
class Score:
    """The figures (`ScoreTable.as_dict` and `About`) and the key that they are stored under."""

    table: ScoredTable
    key: str


def notes_of(wanted: ScoreRequest) -> selectors.ComparedNotes:
    """Find the notes of a score."""
    return selectors.compared(wanted.reference, wanted.author, split=wanted.split, language=wanted.language)


def kept_score(wanted: ScoreRequest, notes: selectors.ComparedNotes | None = None) -> Score | None:
    """Return the stored score if its input has not changed since. `notes`: those of the score, if they were found."""
    project, notes = wanted.reference.project, notes or notes_of(wanted)
    asked = _asked(wanted, notes, selectors.label_words(project))
    if not maybe_cached(project, TABLE, asked):
        return None
    key = joined_key(asked, notes.key)
    table = cached_value(project, TABLE, key)
    return Score(table, key) if table is not None else None


def score(wanted: ScoreRequest, *, progress: Progress = silent) -> Score:
    """Return the stored score, or compute it.

    Raises ServiceError `mapping` if a label is missing from the mapping, and ErasedMeanwhile.
    """
    project = wanted.reference.project
    begun = erasures_of(project.pk)
    notes, words = notes_of(wanted), selectors.label_words(project)
    key = joined_key(_asked(wanted, notes, words), notes.key)
    table = cached_value(project, TABLE, key)
    if table is None:
        table, errors = _computed(wanted, notes, words, progress)
        with transaction.atomic():
            unerased(project.pk, begun)
            cache_value(project, TABLE, key, table)
            cache_value(project, ERRORS, key, errors)
    return Score(table, key)


def score_errors(wanted: ScoreRequest, found: Score | None = None) -> list[Error]:
    """List at most MOST_ERRORS errors as [note, kind, gold or null, predicted or null].

    `found` is the score, where the caller has it already.
    """
    found = found or score(wanted)
    errors = cached_value(wanted.reference.project, ERRORS, found.key)
    if errors is None:  # The errors were deleted to save space, but the table was not.
        forget(wanted.reference.project, TABLE, found.key)
        if wanted.tokenizer:
            raise ServiceError(_("The errors were deleted to save space. Score again to see them."), code="again")
        errors = cached_value(wanted.reference.project, ERRORS, score(wanted).key)
    return list(errors or [])


def _asked(wanted: ScoreRequest, notes: selectors.ComparedNotes, words: selectors.LabelWords) -> str:
    """Hash everything that the score depends on but the annotations and the gold, of which it has only counts."""
    target = shipped_set(wanted.into) if wanted.into else None
    mapping = mappings()[wanted.reference.project.label_set.key, wanted.into] if wanted.into else None
    made_of = [REVISION, notes.count, words.key, wanted.split, wanted.author.pk, wanted.reference.number, notes.drafts,
               notes.unread, notes.no_gold, wanted.author.name, repr(target), repr(mapping), wanted.threshold,
               wanted.types, wanted.tokenizer, wanted.language]  # fmt: skip
    return key_of(*made_of)


def _computed(
    wanted: ScoreRequest, notes: selectors.ComparedNotes, words: selectors.LabelWords, progress: Progress
) -> tuple[ScoredTable, list[Error]]:
    mapper = LabelMapper(wanted, words)
    new_scorer = partial(
        Scorer, mapper.order, mapper.category_of, has_labels=mapper.has_labels, threshold=wanted.threshold,
        chosen=labels_of(wanted.types, mapper.category_of),
    )  # fmt: skip
    scorer = new_scorer()
    # The scorer of all suggestions is also that of the last pass.
    passes = selectors.passes_of(wanted.author)
    earlier = [(number, new_scorer()) for number in range(1, passes)]
    rewritten = RewrittenScore(mapper.placeholder_of)
    tokenizers, language = Tokenizers(wanted.tokenizer), wanted.reference.project.language
    attributes = AttributeTally(words.attributes)
    errors: list[Error] = []
    total, all_errors, own = len(notes.notes), 0, 0
    progress(0, total)
    for done, pair in enumerate(selectors.note_pairs(wanted.reference, wanted.author, notes), start=1):
        gold, predicted = mapper(pair.gold), mapper(pair.predicted)
        attributes.add(renamed(pair.gold, words.merged), renamed(pair.predicted, words.merged))
        tokenizer = tokenizers(pair.language or language)
        found = scorer.add(pair.text, gold, predicted, tokenizer=tokenizer)
        for number, one in earlier:
            first = [span for span in predicted if (pass_of(span.source) or 1) <= number]
            one.add(pair.text, gold, first, tokenizer=tokenizer)
        rewritten.add(pair.text, _rewritten(wanted, mapper, pair, predicted), gold)
        all_errors += len(found)
        own += pair.own
        errors += [(pair.pk, str(e.kind), e.gold, e.predicted) for e in found[: max(0, MOST_ERRORS - len(errors))]]
        if done % 250 == 0 or done == total:
            progress(done, total)
    return {
        **_about(wanted, notes, mapper),
        **scorer.table(),
        "by_pass": [after_pass(number, one.table()) for number, one in [*earlier, (passes, scorer)] if number],
        "attributes": attributes.rows(),
        "rewritten": rewritten.as_dict(),
        "rewritten_substring": rewritten.as_dict(CountingRule.SUBSTRING),
        "errors": all_errors,
        "own_gold_spans": own,
    }, errors


def _rewritten(wanted: ScoreRequest, mapper: "LabelMapper", pair: selectors.NotePair, predicted: list[Span]) -> str:
    """Return the text as the model rewrote it, or else the text with a placeholder in place of each span.

    Placeholders that the model wrote are those of the project's labels, so they can't be counted in another label set.
    """
    if pair.rewritten is not None and not wanted.into:
        return pair.rewritten
    return masked(pair.text, predicted, mapper.placeholder_of)


class LabelMapper:
    """Mapping of spans to the labels of the score: merged labels first, then the other label set.

    Raises ServiceError `mapping` if a label is missing from the mapping.
    """

    def __init__(self, wanted: ScoreRequest, words: selectors.LabelWords) -> None:
        self._merged = words.merged
        self._mapping: LabelMapping | None = None
        self.order, self.category_of, self.has_labels = words.order, words.category_of, True
        self.placeholder_of, self.category_names = words.placeholder_of, words.category_names
        self.without: dict[str, int] = {}
        if wanted.into:
            self._mapping = mappings()[wanted.reference.project.label_set.key, wanted.into]
            try:
                self._mapping.check(words.order)
            except MappingError as error:
                raise ServiceError(str(error), code="mapping") from error
            target = shipped_set(wanted.into)
            self.category_names = {category.code: category.name for category in target.categories}
            if self._mapping.to_category:
                self.order = [category.code for category in target.categories]
                self.category_of = {code: code for code in self.order}
                self.placeholder_of = {code: f"[{code}]" for code in self.order}
                self.has_labels = False
            else:
                self.order = [label.code for label in target.labels()]
                self.category_of = {
                    label.code: category.code for category in target.categories for label in category.labels
                }
                self.placeholder_of = {label.code: label.placeholder for label in target.labels()}

    def __call__(self, spans: list[Span]) -> list[Span]:
        if self._merged:
            spans = renamed(spans, self._merged)
        if self._mapping is None:
            return spans
        mapped = self._mapping(spans)
        if len(mapped) != len(spans):
            for span in spans:
                if self._mapping.labels[span.label] is None:
                    self.without[span.label] = self.without.get(span.label, 0) + 1
        return mapped


def label_mapper(wanted: ScoreRequest) -> LabelMapper:
    """The labels of the score. Raises ServiceError `mapping`."""
    return LabelMapper(wanted, selectors.label_words(wanted.reference.project))


def _about(wanted: ScoreRequest, notes: selectors.ComparedNotes, mapper: LabelMapper) -> ScoreReference:
    version = wanted.reference.version
    return {
        "project": wanted.reference.project.slug,
        "gold": wanted.reference.name,
        "content_hash": version.content_hash if version else None,
        "author": wanted.author.name,
        "author_kind": wanted.author.kind,
        "merged": wanted.author.merged_from is not None,
        "split": wanted.split or None,
        "labels_of": wanted.into or None,
        "tokenizer": wanted.tokenizer or None,
        "language": wanted.language or None,
        "left_out": {"drafts": notes.drafts, "unread": notes.unread, "no_gold": notes.no_gold},
        "unanswered": len(notes.failed),
        "spans_without_label": dict(sorted(mapper.without.items())),
    }


def run_score(claim: Claim) -> dict[str, Any]:
    """Score as a job. Return what the job's page shows and links to. Safe to repeat."""
    wanted = score_request(Project.objects.get(pk=claim.project_id), **claim.params)
    table = score(wanted, progress=claim.progress).table
    return wanted.params | {"author": wanted.author.name, "gold": wanted.reference.name, "notes": table["notes"]}
