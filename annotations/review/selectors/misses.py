"""What may have been missed in a note: spans that other runs propose where the run under review proposes nothing.

The rules' patterns and gazetteers are such a run. Strings that stand elsewhere in the same note are found by the page
itself, as it goes.
"""

from typing import Any

from django.db.models import Exists

from annotations.models import AnnotationSet, Author, Document, Span
from annotations.review.selectors.planted import hidden_there

MOST = 200


def hints_of(document: Document, author: Author) -> list[dict[str, Any]]:
    """Places in code points, end-exclusive, with who found them; the same place and label once. The most sure first.

    A planted leak that is hidden is no hint: other runs would find what is known nearly always, and what nobody
    proposes they don't, so that the share that is missed would look smaller than it is.
    """
    # A merged list only says what its runs say.
    others = Author.objects.filter(project=author.project_id, kind__in=Author.MODELS, merged_from__isnull=True)
    spans = Span.objects.filter(
        ~Exists(hidden_there(document, author)),
        annotation_set__document=document, annotation_set__author__in=others.exclude(pk=author.pk),
        annotation_set__state=AnnotationSet.State.SUBMITTED,
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
