"""What a note's annotator may want to look at: what the rules find, and strings that the same person labeled before."""

from collections import Counter
from typing import Final, NamedTuple

from annotations.core.access import Access, notes_for
from annotations.core.hooks import rule_candidates
from annotations.core.spans import own_sets_of
from annotations.models import AnnotationSetState, Document, Span

# The newest notes whose spans are read: the names of a series, read in milliseconds.
NOTES: Final = 40
# Code points of the longest string; longer spans are sentences, which don't stand again elsewhere.
LONGEST: Final = 100


class Candidate(NamedTuple):
    """`text[start:end]` of a note (code points, end-exclusive), and the id of the label that the rules give it."""

    start: int
    end: int
    label: int


class LabeledString(NamedTuple):
    """A string, the id of a label, and how often this person gave the string that label."""

    text: str
    label: int
    times: int


def candidates_in(access: Access, note: Document) -> list[Candidate]:
    """What the rules find in a note, in order; nothing unless the project shows candidates to annotators."""
    if not access.project.candidates:
        return []
    language = note.language or access.project.language
    found = [each for answer in rule_candidates(access.project, note.text, language) for each in answer]
    return [Candidate(*each) for each in sorted(found)]


def own_strings(access: Access, note: Document) -> list[LabeledString]:
    """What this person labeled in their other notes, most often first: of the newest NOTES that they may still open.

    Nobody else's spans count, and neither do drafts that began from a run's spans.
    """
    sets = own_sets_of(access.user).filter(document__in=notes_for(access)).exclude(document=note)
    sets = sets.exclude(seeded=True, state=AnnotationSetState.DRAFT).order_by("-updated_at", "-pk")
    texts = dict(sets.values_list("pk", "document__text")[:NOTES])
    spans = Span.objects.filter(annotation_set__in=texts).order_by()
    counts = Counter(
        (texts[pk][start:end], label)
        for pk, start, end, label in spans.values_list("annotation_set_id", "start", "end", "label_id")
        if end - start <= LONGEST
    )
    return [LabeledString(text, label, times) for (text, label), times in counts.most_common()]
