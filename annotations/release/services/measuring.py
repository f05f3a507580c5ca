"""Measures of a release's surrogates (Singh et al. 2025, appendix A.7)."""

from collections.abc import Iterator
from typing import Any, Final

from annotations.core.sealing import Key, project_key
from annotations.domain.redaction.policy import Action
from annotations.domain.redaction.released import Mention
from annotations.domain.surrogates.measures import Replaced, measure
from annotations.domain.surrogates.pipeline import Surrogate
from annotations.models import Release, ReleasedNote, SurrogateEntity, SurrogateMention
from annotations.release.services.policies import read_policy
from annotations.surrogates.selectors.index import opened, surrogate_of
from annotations.surrogates.services.planning import mentioned

MOST_NOTES: Final = 500
"""Larger releases are measured on this many notes: those of the first patients, each with all their notes."""
BATCH: Final = 200


def surrogate_measures(release: Release) -> dict[str, Any]:
    """The measures, with the number of `notes` that were measured; empty under a policy without surrogates."""
    policy = read_policy(release.policy.rules)
    if all(rule.action != Action.SURROGATE for rule in policy.rules.values()):
        return {}
    rows = ReleasedNote.objects.filter(release=release).exclude(state=ReleasedNote.State.PENDING).order_by("id")
    ids = list(rows.values_list("pk", flat=True)[:MOST_NOTES])
    key = project_key(release.project_id)
    known: dict[int, Surrogate] = {}
    kinds = {code: rule.kind for code, rule in policy.rules.items()}

    def replaced() -> Iterator[Replaced]:
        for at in range(0, len(ids), BATCH):
            notes = list(rows.filter(pk__in=ids[at : at + BATCH]).select_related("document"))
            entities = _entities(key, [note.document_id for note in notes], known)
            for note in notes:
                text, language = note.document.text, note.document.language or release.project.language
                for start, end, new_start, new_end, label, action in note.pieces:
                    entity = entities.get((note.document_id, start, end))
                    if action != Action.SURROGATE or entity is None:
                        continue
                    mention = Mention(start, end, label, kinds[label], text[start:end])
                    here = mentioned(note.document_id, text, mention)
                    yield Replaced(entity, here, note.text[new_start:new_end], known[entity], language)

    return {"notes": len(ids), **measure(replaced()).as_dict()}


def _entities(key: Key, notes: list[int], known: dict[int, Surrogate]) -> dict[tuple[int, int, int], int]:
    """The entity of each mention in these notes. Adds the surrogates of new ones to `known`."""
    mentions = SurrogateMention.objects.filter(document__in=notes).order_by()
    found = {
        (document, start, end): entity
        for document, start, end, entity in mentions.values_list("document_id", "start", "end", "entity_id")
    }
    for row in SurrogateEntity.objects.filter(pk__in=set(found.values()) - known.keys()):
        known[row.pk] = surrogate_of(row, opened(key, row))
    return found
