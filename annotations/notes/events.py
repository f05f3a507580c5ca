"""Events of searching, flagging and commenting notes."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


class NotesSearched(TypedDict, total=False):
    """The notes that a search went through, and its options; a search in review (`review`) has no options."""

    review: bool
    after: int
    looked: int
    notes: list[int]
    hits: int
    case: bool
    accents: bool
    word: bool
    where: str
    label: int
    reading: str


class NoteFlagged(TypedDict):
    flag: int
    reason: str


class CommentDone(TypedDict, total=False):
    """`annotator`: whose set it is about; `bounds`: start and end; `answers`: the thread's first comment."""

    comment: int
    answers: int
    annotator: int
    bounds: list[int]
    length: int
    resolved: bool


NOTES_SEARCHED = Verb[NotesSearched]("notes.searched", _("searched the notes"), reading=True)
NOTE_FLAGGED = Verb[NoteFlagged]("note.flagged", _("flagged a note"))
NOTE_UNFLAGGED = Verb[NoteFlagged]("note.unflagged", _("cleared a flag"))
COMMENT_ADDED = Verb[CommentDone]("comment.added", _("commented"))
COMMENT_CHANGED = Verb[CommentDone]("comment.changed", _("changed a comment"))
COMMENT_DELETED = Verb[CommentDone]("comment.deleted", _("deleted a comment"))
COMMENT_RESOLVED = Verb[CommentDone]("comment.resolved", _("resolved a comment"))
