"""Events of annotators on their own annotation sets."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Bounds, NoData, Verb


class KeysChanged(TypedDict):
    """The new key by label name, or a word that says that all are the project's keys again."""

    keys: dict[str, str] | str


class SpanChange(TypedDict, total=False):
    """One span: `span`, `before` and `after`. Many spans: `spans` as [id, start, end, label].

    `attributes` are those before and after a change of one span that changes them: a choice or true by name, or null.
    `already` counts spans that existed before, `left` spans that an undo could not restore or remove.
    """

    kind: str
    span: int | None
    before: Bounds | None
    after: Bounds | None
    confidence: float
    source: str
    attributes: list[dict[str, str | bool] | None]
    spans: list[list[int]]
    already: int
    left: int


class SetMoved(TypedDict):
    version: int


NOTE_FETCHED = Verb[NoData]("note.fetched", _("loaded a note in advance"), reading=True)
KEYS_CHANGED = Verb[KeysChanged]("keys.changed", _("changed their own keyboard shortcuts"))
SPAN_CREATED = Verb[SpanChange]("span.created", _("labeled a span"))
SPAN_CHANGED = Verb[SpanChange]("span.changed", _("changed a span"))
SPAN_DELETED = Verb[SpanChange]("span.deleted", _("deleted a span"))
SPANS_CREATED = Verb[SpanChange]("spans.created", _("labeled several spans"))
SPANS_DELETED = Verb[SpanChange]("spans.deleted", _("deleted several spans"))
SPAN_UNDO_SKIPPED = Verb[SpanChange]("span.undo_skipped", _("skipped an undo that no longer applies"))
SET_SUBMITTED = Verb[SetMoved]("set.submitted", _("submitted a note"))
SET_REOPENED = Verb[SetMoved]("set.reopened", _("reopened a note"))
