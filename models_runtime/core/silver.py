"""Silver data: notes without gold whose labels come from their published versions, and that nobody has reviewed.

A training may learn from them beside its gold (Salierno et al. 2024, section 6). It never holds them out, so its
figures are those of reviewed notes.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from django.utils.translation import gettext as _

from annotations.core.bulk import batched
from annotations.core.services import ServiceError
from annotations.models import Author, Document, GoldVersion, Project, PublishedDecision, PublishedState
from annotations.models import Span as SpanRow
from annotations.pairs.selectors import FLAGGED_BELOW
from annotations.scores.selectors import label_words
from annotations.text.spans import Span
from models_runtime.core.gold_sources import BATCH, Note
from models_runtime.core.registry import TRAINABLE, trainable_kind
from models_runtime.core.stages import outside_gold
from models_runtime.models.cards import TrainingParams, WantedSilver

SILVER: Final = "silver"
"""The key of the parameter, the field and the error code."""


def silver_authors(project: Project) -> list[Author]:
    """List the authors of the annotation sets that pairs of decisions gave, by name."""
    paired = PublishedDecision.objects.filter(project=project, state=PublishedState.PAIRED)
    return list(Author.objects.filter(pk__in=paired.values("author")).order_by("name"))


def wanted_silver(
    project: Project, backend: str, name: str, versions: Sequence[GoldVersion], params: TrainingParams
) -> WantedSilver:
    """Return the author with this name for a training of this kind.

    Raises ServiceError `silver` for an unknown author, one without a note to learn from, and a kind that learns no
    labels.
    """
    if not trainable_kind(backend).predicts:
        able = ", ".join(_(kind.title) for kind in TRAINABLE.values() if kind.predicts)
        message = _("%(title)s learns no labels. Leave out silver data, or choose one of: %(able)s.")
        raise _refused(message % {"title": _(trainable_kind(backend).title), "able": able})
    authors = {author.name: author for author in silver_authors(project)}
    if (author := authors.get(name.strip())) is None:
        message = _("There is no silver data “%(name)s”. Choose one of: %(choices)s.")
        raise _refused(message % {"name": name[:80], "choices": ", ".join(authors) or _("none yet")})
    if not silver_notes(project, author.pk, versions, params):
        raise _refused(_("“%(name)s” has no note without gold to learn from.") % {"name": author.name})
    return {"author": author.pk, "name": author.name}


def silver_notes(
    project: Project,
    author: int,
    versions: Sequence[GoldVersion],
    params: TrainingParams,
    newest: int | None = None,
) -> list[int]:
    """List the ids of an author's notes that a training may learn from: `outside_gold`, and not flagged as a pair."""
    paired = PublishedDecision.objects.filter(project=project, author=author, state=PublishedState.PAIRED)
    good = set(paired.filter(aligned__gte=FLAGGED_BELOW).values_list("document", flat=True))
    return [pk for pk in outside_gold(project, author, versions, params, newest) if pk in good]


def read_silver(project: Project, author: int, notes: Sequence[int]) -> Iterator[Note]:
    """Yield texts with the author's spans, by ascending id of these notes, in labels of the project."""
    merged = label_words(project).merged
    for some in batched(notes, BATCH):
        found: dict[int, list[Span]] = {pk: [] for pk in some}
        rows = SpanRow.objects.filter(annotation_set__author=author, annotation_set__document__in=some)
        columns = ("annotation_set__document", "start", "end", "label__code")
        for pk, start, end, code in rows.order_by("start", "end").values_list(*columns):
            found[pk].append(Span(start, end, merged.get(code, code)))
        for pk, text in Document.objects.filter(pk__in=some).order_by("pk").values_list("pk", "text"):
            yield text, found[pk]


def _refused(message: str) -> ServiceError:
    return ServiceError(message, code=SILVER)
