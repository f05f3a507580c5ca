"""Routes of the index of surrogates: list, search, read an entity with its mentions, and all edits."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Field, Query

from annotations.core.access import Access, Can
from annotations.core.api.answers import check_if_match, unless_stale
from annotations.core.api.paging import Page, PageAnswer, Paging, paged, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, Username, named
from annotations.models import SurrogateEntity, SurrogateMention
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.selectors import surrogates
from annotations.release.services.surrogates import editing
from annotations.text.names import MAX_ID

router = ProjectRouter(tags=["Surrogates"])
PATH = "/projects/{slug:slug}/surrogates"
ONE = f"{PATH}/{{int:entity}}"
Entity = Annotated[SurrogateEntity, surrogates.entity_for]


class FormItem(Answer):
    """A form of the entity in the notes, what releases write in its place, and the number of mentions."""

    original: str
    surrogate: str = Field(validation_alias="written")
    mentions: int


class EntityItem(Answer):
    """An entity of the index. `whose` is the patient's id or the note's name; empty for a shared entity.

    `version` counts its changes. `restorable`: it has a surrogate from before.
    """

    id: int = Field(validation_alias="row.pk")
    kind: str = Field(validation_alias="row.kind")
    whose: str
    mentions: int
    forms: list[FormItem]
    locked: bool = Field(validation_alias="row.locked")
    restorable: bool
    version: int = Field(validation_alias="row.version")
    made_by: str = Field(validation_alias="row.made_by")
    edited_by: Username = Field(validation_alias="row.edited_by")
    edited_at: datetime | None = Field(validation_alias="row.edited_at")


class MentionItem(Answer):
    """A mention in its sentence: `before`, `marked`, `after`. Offsets are code points, end-exclusive."""

    id: int = Field(validation_alias="mention.pk")
    note: int = Field(validation_alias="mention.document_id")
    start: int = Field(validation_alias="mention.start")
    end: int = Field(validation_alias="mention.end")
    before: str = Field(validation_alias="entry.before")
    marked: str = Field(validation_alias="entry.marked")
    after: str = Field(validation_alias="entry.after")


class SearchWords(Body):
    """A name, or a part of a name, or a surrogate."""

    text: str = Field(min_length=1, max_length=editing.MOST_TYPED)


class Seen(Body):
    """An entity, and its version as it was read."""

    entity: int = Field(ge=1, le=MAX_ID)
    version: int = Field(ge=0, le=MAX_ID)


class Merge(Body):
    """Entities of one kind, and of one patient where patients don't share the kind."""

    entities: list[Seen] = Field(max_length=editing.MOST_MERGED)


class Split(Body):
    """The mentions that become a new entity, by their ids."""

    mentions: list[int] = Field(max_length=10_000)


class EntityChange(Body):
    """`replace` gives the surrogate `text`; `draw` another one; `restore` the one from before; `lock` and `unlock`."""

    act: Literal["lock", "unlock", "replace", "draw", "restore"]
    text: str = Field("", max_length=editing.MOST_TYPED)


TYPED = dict.fromkeys(("empty", "long", "format", "original", "taken"), "text")


@router.get(PATH, Can.RELEASE, response=Page[EntityItem])
def list_surrogates(
    request: ApiRequest,
    access: Access,
    paging: Query[Paging],
    kind: IdentifierType | None = None,
    state: Literal["all", "locked", "edited"] = "all",
) -> PageAnswer:
    """List the entities of the index with their surrogates, of one kind or state."""
    rows = surrogates.entities_of(access.project, str(kind or ""), state).select_related("edited_by")

    def fetch(after: int | None, size: int) -> list[surrogates.EntityView]:
        return surrogates.shown(access, list(rows.order_by("pk").filter(pk__gt=after or 0)[:size]))

    return paged(request, paging, fetch, EntityItem.model_validate, lambda one: one.row.pk)


@router.post(f"{PATH}/search", Can.RELEASE, response=list[EntityItem])
def search_surrogates(access: Access, body: SearchWords) -> list[surrogates.EntityView]:
    """Find at most 200 entities with this name or surrogate. Words are in the body, never in an address."""
    rows = surrogates.found_by(access.project, body.text).select_related("edited_by")[: surrogates.MOST_FOUND]
    return surrogates.shown(access, list(rows))


@router.post(f"{PATH}/merge", Can.RELEASE, response=EntityItem)
def merge_surrogates(response: HttpResponse, access: Access, body: Merge) -> surrogates.EntityView:
    """Make one entity of several. A locked one keeps its surrogate; otherwise the one with most mentions does."""
    versions = {one.entity: one.version for one in body.entities}
    with named(dict.fromkeys(("few", "many", "kinds", "patients"), "entities")):
        kept = editing.merge(project=access.project, versions=versions, actor=access.user)
    return _item(response, access, kept)


@router.get(ONE, Can.RELEASE, response=EntityItem)
def read_surrogate(response: HttpResponse, access: Access, entity: Entity) -> surrogates.EntityView:
    """Read an entity with its forms and surrogates."""
    return _item(response, access, entity)


@router.get(f"{ONE}/mentions", Can.RELEASE, response=Page[MentionItem])
def list_mentions(request: ApiRequest, access: Access, entity: Entity, paging: Query[Paging]) -> PageAnswer:
    """List the mentions of an entity. The audit log records that their notes were read."""

    def item(mention: SurrogateMention) -> MentionItem:
        return MentionItem.model_validate(*surrogates.mention_lines(access, [mention]))

    return paged_rows(request, paging, entity.mentions.all(), item)


@router.post(f"{ONE}/split", Can.RELEASE, response=EntityItem)
def split_surrogate(
    request: ApiRequest, response: HttpResponse, access: Access, entity: Entity, body: Split
) -> surrogates.EntityView:
    """Move mentions to a new entity with a new surrogate, which is returned."""
    check_if_match(request, _etag(entity))
    with named({"few": "mentions", "all": "mentions"}):
        made = editing.split(
            project=access.project, entity=entity.pk, version=entity.version, mentions=body.mentions, actor=access.user
        )
    return _item(response, access, made)


@router.post(f"{ONE}/change", Can.RELEASE, response=EntityItem)
def change_surrogate(
    request: ApiRequest, response: HttpResponse, access: Access, entity: Entity, body: EntityChange
) -> surrogates.EntityView:
    """Lock or unlock an entity, or give it another surrogate."""
    check_if_match(request, _etag(entity))
    about: dict[str, Any] = {"entity": entity.pk, "version": entity.version, "act": body.act, "text": body.text}
    current = partial(surrogates.entity_for, access, entity.pk)
    with unless_stale(lambda: _etag(current()), code="changed"), named(TYPED if body.act == "replace" else {}):
        editing.change(project=access.project, actor=access.user, **about)
    return _item(response, access, current())


def _etag(row: SurrogateEntity) -> str:
    return f'"entity-{row.pk}-{row.version}"'


def _item(response: HttpResponse, access: Access, row: SurrogateEntity) -> surrogates.EntityView:
    response["ETag"] = _etag(row)
    (one,) = surrogates.shown(access, [row])
    return one
