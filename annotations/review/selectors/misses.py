"""Possible missed identifiers: spans that other runs suggest where the run under review suggests nothing.

A rule backend with patterns and gazetteers is one such run. The page's script itself looks for further occurrences of
gold strings in the same note (static/js/review/hints.js).
"""

from typing import Any

from django.db.models import Exists

from annotations.models import AnnotationSetState, Author, Document, Span
from annotations.review.selectors.planted import hidden_there

MOST = 200


def hints_of(document: Document, author: Author) -> list[dict[str, Any]]:
    """Spans with the runs that suggest them, each span and label once; most runs first.

    Offsets are code points, end-exclusive. Hidden planted leaks are left out: other runs nearly always suggest a known
    identifier, so hints would make reviewers find more planted leaks than they find of other missed identifiers.
    """
    # A merged list only repeats what its runs suggest.
    others = Author.objects.filter(project=author.project_id, kind__in=Author.MODELS, merged_from__isnull=True)
    spans = Span.objects.filter(
        ~Exists(hidden_there(document, author)),
        annotation_set__document=document, annotation_set__author__in=others.exclude(pk=author.pk),
        annotation_set__state=AnnotationSetState.SUBMITTED,
    )  # fmt: skip
    rows = spans.order_by("start", "end", "pk").values_list(
        "start", "end", "label_id", "annotation_set__author__name", "confidence", "source"
    )
    found: dict[tuple[int, int, int], dict[str, Any]] = {}
    for start, end, label, run, confidence, source in rows:
        hint = found.setdefault(
            (start, end, label),
            {"start": start, "end": end, "label": label, "runs": [], "confidence": confidence, "source": source},
        )
        if run not in hint["runs"]:
            hint["runs"].append(run)
    return sorted(found.values(), key=lambda hint: (-len(hint["runs"]), hint["start"]))[:MOST]
