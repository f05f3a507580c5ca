"""Measures of a release's surrogates (Singh et al. 2025, appendix A.7)."""

from collections.abc import Iterator
from typing import Any, Final

from annotations.core.bulk import collector_paused
from annotations.core.sealing import Key, project_key
from annotations.models import Release, ReleasedNote, ReleasedNoteState, SurrogateEntity, SurrogateMention
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.policy import Action
from annotations.release.rules.redaction.released import Mention
from annotations.release.rules.surrogates.measures import Replaced, measure
from annotations.release.rules.surrogates.pipeline import Surrogate
from annotations.release.selectors.surrogates import unsealed
from annotations.release.services.policies import read_policy
from annotations.release.services.surrogates.patients import mentioned

MOST_NOTES: Final = 500
"""Larger releases are measured on this many notes: those of the first patients, each with all their notes."""
BATCH: Final = 200
COLUMNS: Final = ("document_id", "document__text", "document__language", "text", "pieces")


def dropped(before: dict[str, Any]) -> dict[str, Any]:
    """What stays of measures when texts change: the name of the model whose F1 is dropped. The page shows it."""
    name = (before.get("f1") or before.get("f1_dropped") or {}).get("backend")
    return {"f1_dropped": {"backend": name}} if name else {}


def surrogate_measures(release: Release) -> dict[str, Any]:
    """The measures, with the number of `notes` that were measured; empty under a policy without surrogates."""
    policy = read_policy(release.policy.rules)
    if all(rule.action != Action.SURROGATE for rule in policy.rules.values()):
        return {}
    rows = ReleasedNote.objects.filter(release=release).exclude(state=ReleasedNoteState.PENDING).order_by("id")
    ids = list(rows.values_list("pk", flat=True)[:MOST_NOTES])
    key = project_key(release.project_id)
    known: dict[int, Surrogate] = {}
    kinds = {code: rule.kind for code, rule in policy.rules.items()}

    def replaced() -> Iterator[Replaced]:
        for at in range(0, len(ids), BATCH):
            notes = list(rows.filter(pk__in=ids[at : at + BATCH]).values_list(*COLUMNS))
            entities = _entities(key, [note[0] for note in notes], known)
            for document, text, language, new_text, pieces in notes:
                for start, end, new_start, new_end, label, action in pieces:
                    entity = entities.get((document, start, end))
                    if action != Action.SURROGATE or entity is None:
                        continue
                    mention = Mention(start, end, label, kinds[label], text[start:end])
                    here = mentioned(document, text, mention)
                    in_language = language or release.project.language
                    yield Replaced(entity, here, new_text[new_start:new_end], known[entity], in_language)

    with collector_paused():
        measures = measure(replaced())
    return {"notes": len(ids), **measures.as_dict()}


def _entities(key: Key, notes: list[int], known: dict[int, Surrogate]) -> dict[tuple[int, int, int], int]:
    """The entity of each mention in these notes. Adds the surrogates of new ones to `known`."""
    mentions = SurrogateMention.objects.filter(document__in=notes).order_by()
    found = {
        (document, start, end): entity
        for document, start, end, entity in mentions.values_list("document_id", "start", "end", "entity_id")
    }
    rows = SurrogateEntity.objects.filter(pk__in=set(found.values()) - known.keys()).order_by()
    for pk, kind, made_by, sealed in rows.values_list("pk", "kind", "made_by", "sealed"):
        known[pk] = Surrogate(IdentifierType(kind), unsealed(key, bytes(sealed)).parts, made_by)
    return found
