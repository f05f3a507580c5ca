"""What a merge of labels means for adjudications that are closed."""

from django.db.models import Exists, OuterRef, Subquery

from annotations.models import (
    Adjudication,
    AnnotationSet,
    Comparison,
    Label,
    Stale,
)


def expect_relabelling(label: Label) -> None:
    """Before a label is merged: closed adjudications that it renames spans of are not taken for outdated.

    The next comparison says what they were ended on. Notes whose readings have changed otherwise stay as they are.
    """
    renamed = AnnotationSet.objects.filter(document=OuterRef("document"), spans__label=label)
    stale = Stale.objects.filter(document_id=OuterRef("document_id"))
    known = Comparison.objects.filter(document=OuterRef("document"))
    Adjudication.objects.filter(Exists(renamed), ~Exists(stale), heard=Subquery(known.values("heard")[:1])).update(
        heard=""
    )
