"""Effect of merging labels on finished adjudications."""

from django.db.models import Exists, OuterRef, Subquery

from annotations.models import (
    Adjudication,
    AnnotationSet,
    Comparison,
    Label,
    Stale,
)


def expect_relabeling(label: Label) -> None:
    """Keep finished adjudications valid although the merge of a label changes spans of their notes.

    Call this before the merge. It empties `heard`, which the next comparison then fills in. Adjudications that are
    already outdated stay so.
    """
    renamed = AnnotationSet.objects.filter(document=OuterRef("document"), spans__label=label)
    stale = Stale.objects.filter(document_id=OuterRef("document_id"))
    known = Comparison.objects.filter(document=OuterRef("document"))
    Adjudication.objects.filter(Exists(renamed), ~Exists(stale), heard=Subquery(known.values("heard")[:1])).update(
        heard=""
    )
