"""Scores of an author against gold: computed once for what they are made of, and kept under its hash."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.erasures import erasures_of, unerased
from annotations.core.errors import ServiceError
from annotations.core.kept import forget, keep, kept, key_of
from annotations.core.progress import Progress, silent
from annotations.domain.masking import masked
from annotations.domain.scoring import LabelMapping, MappingError, Scorer
from annotations.domain.scoring.rewritten import RewrittenScore
from annotations.domain.spans import Span
from annotations.domain.splits import Side
from annotations.models import Author, GoldVersion, Project
from annotations.projects.selectors.label_maps import mappings, shipped_set
from annotations.scores.selectors import (
    Compared,
    LabelWords,
    Reference,
    compared,
    label_words,
    note_pairs,
    scorable_authors,
)

# Raise it whenever a figure is computed in another way: what was kept before is not used any more.
REVISION = 3
TABLE, ERRORS = "score", "score-errors"
# Places that are kept for looking at; of more, the first.
MOST_ERRORS = 50_000


@dataclass(frozen=True)
class Asked:
    """What is to be scored: whose readings, against which gold, of one split or all, in which set's labels."""

    reference: Reference
    author: Author
    split: str = ""
    into: str = ""

    @property
    def params(self) -> dict[str, Any]:
        """As a job's parameters: ids and choices only."""
        return {
            "version": self.reference.number,
            "author_id": self.author.pk,
            "split": self.split,
            "into": self.into,
        }


def asked(
    project: Project, *, version: int, author_id: int | None = None, author: str = "", split: str = "", into: str = ""
) -> Asked:
    """Check a wish. `version` 0 is the gold as it stands. Raises ServiceError with the choices."""
    found = _author(project, author_id, author)
    reference = Reference(project, _version(project, version) if version else None)
    if split:
        if split not in list(Side):
            raise ServiceError(
                _("there is no split %(split)s; there are: %(choices)s")
                % {"split": repr(split), "choices": ", ".join(Side)},
                code="split",
            )
        if reference.version is None or not reference.version.split_seed:
            raise ServiceError(_("this gold has no train/dev/test split: split a frozen version first"), code="split")
    key = project.label_set.key
    if into and (key, into) not in mappings():
        choices = ", ".join(target for source, target in mappings() if source == key) or "none"
        raise ServiceError(
            _("there is no mapping from %(key)s to %(into)s; from %(key)s there are: %(choices)s")
            % {"key": key, "into": repr(into), "choices": choices},
            code="into",
        )
    return Asked(reference, found, split, into)


def _author(project: Project, pk: int | None, name: str) -> Author:
    authors = scorable_authors(project)
    kind, colon, rest = name.partition(":")
    if pk is not None:
        found = list(authors.filter(pk=pk))
    elif colon and kind in Author.Kind.values:
        found = list(authors.filter(kind=kind, name=rest))
    else:
        found = list(authors.filter(name=name))
        if not found and name in (Author.Kind.ADJUDICATED, Author.Kind.REFINED):
            found = list(authors.filter(kind=name))
    if len(found) == 1:
        return found[0]
    if pk is not None:
        # Pages ask by id, and not everybody who sees a page may know the annotators' names.
        raise ServiceError(_("this project has no such author of readings; choose one of the list"), code="author")
    known = ", ".join(f"{one.kind}:{one.name}" for one in authors) or "none yet"
    if found:
        raise ServiceError(
            _("%(name)s is the name of several authors; say which: %(known)s") % {"name": repr(name), "known": known},
            code="author",
        )
    raise ServiceError(
        _("this project has no author %(value)s; there are: %(known)s") % {"value": repr(name), "known": known},
        code="author",
    )


def _version(project: Project, number: int) -> GoldVersion:
    version = GoldVersion.objects.filter(project=project, number=number).first()
    if version is None:
        numbers = project.gold_versions.order_by("number").values_list("number", flat=True)
        choices = ", ".join(map(str, numbers)) or "none yet"
        raise ServiceError(
            _("there is no gold version %(number)s; frozen versions: %(choices)s")
            % {"number": number, "choices": choices},
            code="version",
        )
    return version


@dataclass(frozen=True)
class Score:
    """The figures (`ScoreTable.as_dict` with what they are of) and the key that they are kept under."""

    table: dict[str, Any]
    key: str


def kept_score(wish: Asked) -> Score | None:
    """The score, if it was computed of exactly what stands there now."""
    key = _key(wish, compared(wish.reference, wish.author, split=wish.split), label_words(wish.reference.project))
    table = kept(wish.reference.project, TABLE, key)
    return Score(table, key) if table is not None else None


def score(wish: Asked, *, progress: Progress = silent) -> Score:
    """The score, kept or computed now. Raises ServiceError where a label has no place in the mapping, and
    ErasedMeanwhile.
    """
    project = wish.reference.project
    begun = erasures_of(project.pk)
    notes, words = compared(wish.reference, wish.author, split=wish.split), label_words(project)
    key = _key(wish, notes, words)
    table = kept(project, TABLE, key)
    if table is None:
        try:
            table, errors = _computed(wish, notes, words, progress)
        except MappingError as error:
            raise ServiceError(str(error), code="mapping") from error
        with transaction.atomic():
            unerased(project.pk, begun)
            keep(project, TABLE, key, table)
            keep(project, ERRORS, key, errors)
    return Score(table, key)


def score_errors(wish: Asked) -> list[list[Any]]:
    """The places that aren't right: [note, kind, gold or null, predicted or null], at most MOST_ERRORS of them."""
    found = score(wish)
    errors = kept(wish.reference.project, ERRORS, found.key)
    if errors is None:  # pruned between the two
        forget(wish.reference.project, TABLE, found.key)
        errors = kept(wish.reference.project, ERRORS, score(wish).key)
    return list(errors or [])


def _key(wish: Asked, notes: Compared, words: LabelWords) -> str:
    """A hash of everything that the score depends on."""
    target = shipped_set(wish.into) if wish.into else None
    mapping = mappings()[wish.reference.project.label_set.key, wish.into] if wish.into else None
    made_of = [REVISION, notes.key, words.key, wish.split, wish.author.pk, wish.reference.number, notes.drafts,
               notes.unread, notes.no_gold, wish.author.name, repr(target), repr(mapping)]  # fmt: skip
    return key_of(*made_of)


def _computed(
    wish: Asked, notes: Compared, words: LabelWords, progress: Progress
) -> tuple[dict[str, Any], list[list[Any]]]:
    words_of_scores = Words(wish, words)
    scorer = Scorer(words_of_scores.order, words_of_scores.category_of, has_labels=words_of_scores.has_labels)
    rewritten = RewrittenScore(words_of_scores.placeholder_of)
    errors: list[list[Any]] = []
    total, all_errors, own = len(notes.readings), 0, 0
    progress(0, total)
    for done, pair in enumerate(note_pairs(wish.reference, wish.author, notes), start=1):
        gold, predicted = words_of_scores(pair.gold), words_of_scores(pair.predicted)
        found = scorer.add(pair.text, gold, predicted)
        rewritten.add(pair.text, masked(pair.text, predicted, words_of_scores.placeholder_of), gold)
        all_errors += len(found)
        own += pair.own
        errors += [[pair.pk, str(e.kind), e.gold, e.predicted] for e in found[: max(0, MOST_ERRORS - len(errors))]]
        if done % 250 == 0 or done == total:
            progress(done, total)
    table = scorer.table().as_dict()
    table |= {"rewritten": rewritten.as_dict(), "errors": all_errors, "own_gold_spans": own}
    return _about(wish, notes, words_of_scores) | table, errors


class Words:
    """Spans in the words of the score: merged labels as what they became, then by the mapping that is asked for."""

    def __init__(self, wish: Asked, words: LabelWords) -> None:
        self._merged = words.merged
        self._mapping: LabelMapping | None = None
        self.order, self.category_of, self.has_labels = words.order, words.category_of, True
        self.placeholder_of = words.placeholder_of
        self.without: dict[str, int] = {}
        if wish.into:
            self._mapping = mappings()[wish.reference.project.label_set.key, wish.into]
            self._mapping.check(words.order)
            target = shipped_set(wish.into)
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
            spans = [Span(span.start, span.end, self._merged.get(span.label, span.label)) for span in spans]
        if self._mapping is None:
            return spans
        mapped = self._mapping(spans)
        if len(mapped) != len(spans):
            for span in spans:
                if self._mapping.labels[span.label] is None:
                    self.without[span.label] = self.without.get(span.label, 0) + 1
        return mapped


def _about(wish: Asked, notes: Compared, words: Words) -> dict[str, Any]:
    """What the figures are of, and what they leave out."""
    version = wish.reference.version
    return {
        "project": wish.reference.project.slug,
        "gold": wish.reference.name,
        "content_hash": version.content_hash if version else None,
        "author": wish.author.name,
        "author_kind": wish.author.kind,
        "split": wish.split or None,
        "labels_of": wish.into or None,
        "left_out": {"drafts": notes.drafts, "unread": notes.unread, "no_gold": notes.no_gold},
        "spans_without_label": dict(sorted(words.without.items())),
    }


def run_score(*, project_id: int, params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """A score as a job; returns what the job's page needs to lead on to it. Safe to repeat."""
    project = Project.objects.get(pk=project_id)
    wish = asked(
        project,
        version=int(params["version"]),
        author_id=int(params["author_id"]),
        split=str(params.get("split", "")),
        into=str(params.get("into", "")),
    )
    table = score(wish, progress=progress).table
    return wish.params | {"author": wish.author.name, "gold": wish.reference.name, "notes": table["notes"]}
