"""What people do with notes, as rows. One file per noun."""

from annotations.models.assignment import Assignment
from annotations.models.author import Author
from annotations.models.document import Document
from annotations.models.event import Event, Verb
from annotations.models.gold import GoldVersion, GoldVersionNote
from annotations.models.imports import Import
from annotations.models.label import Category, Label, LabelSet
from annotations.models.project import Membership, Project, Role
from annotations.models.review import Decision, Review
from annotations.models.sets import AnnotationSet, Span
from annotations.models.stored_file import StoredChunk, StoredFile
from annotations.models.user import User

__all__ = [
    "AnnotationSet",
    "Assignment",
    "Author",
    "Category",
    "Decision",
    "Document",
    "Event",
    "GoldVersion",
    "GoldVersionNote",
    "Import",
    "Label",
    "LabelSet",
    "Membership",
    "Project",
    "Review",
    "Role",
    "Span",
    "StoredChunk",
    "StoredFile",
    "User",
    "Verb",
]
