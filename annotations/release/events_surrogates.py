"""Events of surrogates. They hold ids of entities and counts, never a form or a surrogate."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class EntitiesMerged(TypedDict):
    entity: int
    merged: list[int]
    mentions: int


class EntitySplit(TypedDict):
    entity: int
    into: int
    mentions: int


class EntityChanged(TypedDict):
    entity: int


ENTITIES_MERGED = Verb[EntitiesMerged]("surrogates.merged", _("merged entities of the index of surrogates"))
ENTITY_SPLIT = Verb[EntitySplit]("surrogates.split", _("split an entity of the index of surrogates"))
SURROGATE_LOCKED = Verb[EntityChanged]("surrogate.locked", _("locked a surrogate"))
SURROGATE_UNLOCKED = Verb[EntityChanged]("surrogate.unlocked", _("unlocked a surrogate"))
SURROGATE_REPLACED = Verb[EntityChanged]("surrogate.replaced", _("replaced a surrogate"))
SURROGATE_DRAWN = Verb[EntityChanged]("surrogate.drawn", _("drew another surrogate"))
SURROGATE_RESTORED = Verb[EntityChanged]("surrogate.restored", _("restored the surrogate from before"))
