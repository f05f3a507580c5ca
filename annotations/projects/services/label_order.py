"""Change the order of the labels within their category."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Label, User
from annotations.projects.events import LABEL_MOVED
from annotations.projects.services.categories import lock_categories


def move_label(*, label: Label, position: int, actor: User | None) -> None:
    """Move a label to `position` in its category, counted from 0. A position after the last is the last.

    The order of the other labels, also across categories, stays. Raises ServiceError `label` for a label that was
    merged or deleted.
    """
    with transaction.atomic():
        lock_categories(label.label_set_id)
        rows = list(Label.objects.filter(label_set=label.label_set_id, merged_into__isnull=True))
        moved = next((row for row in rows if row.pk == label.pk), None)
        if moved is None:
            raise ServiceError(_("This label no longer exists. Reload the page."), code="label")
        own = [row for row in rows if row.category_id == moved.category_id]
        places = [place for place, row in enumerate(rows) if row.category_id == moved.category_id]
        at = own.index(moved)
        own.remove(moved)
        own.insert(position, moved)
        to = own.index(moved)
        if to == at:
            return
        for place, row in zip(places, own, strict=True):
            rows[place] = row
        # Positions may have gaps, or be equal, after labels were merged or deleted.
        for place, row in enumerate(rows):
            if row.position != place:
                row.position = place
                row.save(update_fields=["position"])
        LABEL_MOVED.record(
            actor=actor,
            project_id=label.label_set.project_id,
            data={"label": moved.code, "before": at + 1, "after": to + 1},
        )
