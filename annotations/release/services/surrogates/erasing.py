"""Erase notes from the index of surrogates: what only they said leaves the index with them."""

from collections.abc import Collection, Sequence

from annotations.core.sealing import Key, project_key
from annotations.models import Project, SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.selectors.surrogates import form_number, in_parts, keys_of, opened, private_scope


def forget_notes(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Delete mentions in these notes, entities that no other note mentions, and forms that no other note has.

    Called in the transaction of the erasure, which excludes all other changes of the index. The notes still exist.
    """
    if not SurrogateEntity.objects.filter(project=project).exists():
        return
    key = project_key(project)
    touched: set[int] = set()
    for some in in_parts(sorted(notes)):
        mentions = SurrogateMention.objects.filter(document__in=some).order_by()
        touched.update(mentions.values_list("entity_id", flat=True).distinct())
        mentions.delete()
    scopes = {private_scope(key, patient, note) for note in notes} if not patient else {private_scope(key, patient, 0)}
    for some in in_parts(sorted(touched)):
        mentioned = SurrogateMention.objects.filter(entity__in=some).order_by().values_list("entity_id", flat=True)
        kept = set(mentioned.distinct())
        SurrogateEntity.objects.filter(pk__in=set(some) - kept).delete()
        keep_only_said(key, kept)
    # What no mention leads to, because an edit or another label took the mentions away. Of an entity that all patients
    # share, nothing tells any more whose note said it.
    SurrogateEntity.objects.filter(project=project, scope__in={*scopes, ""}, mentions=None).delete()


def keep_only_said(key: Key, entities: Collection[int]) -> None:
    """Remove forms that no mention has any more, and the keys that only those forms had.

    Entities without mentions stay as they are. The caller's transaction excludes other changes of the index.
    """
    rows = list(SurrogateEntity.objects.select_for_update().filter(pk__in=entities).order_by("pk"))
    said: dict[int, set[int]] = {}
    mentions = SurrogateMention.objects.filter(entity__in=entities).order_by()
    for entity, form in mentions.values_list("entity_id", "form").distinct():
        said.setdefault(entity, set()).add(form)
    changed = []
    for row in rows:
        if row.pk not in said:
            continue
        sealed = opened(key, row)
        left = sealed.only({form for form in sealed.forms if form_number(key, form) in said[row.pk]})
        if left.forms != sealed.forms:
            row.sealed = left.closed(key)
            changed.append(row)
            known = keys_of(key, IdentifierType(row.kind), left)
            SurrogateKey.objects.filter(entity=row).exclude(digest__in=known).delete()
    SurrogateEntity.objects.bulk_update(changed, ["sealed"], batch_size=500)
