"""The database models of `annotations`, one subject per module."""

from annotations.models.adjudication import Adjudication, Amendment, Figures, MajorityAct, MajorityNote, Resolution
from annotations.models.api import ApiAnswer, ApiToken
from annotations.models.assignment import Assignment
from annotations.models.audits import AuditMark, AuditNote, AuditPlan
from annotations.models.author import Author
from annotations.models.causes import Cause, ErrorCause
from annotations.models.certificate import Certificate, ReleaseErasure
from annotations.models.comparison import Comparison, Difference, Stale
from annotations.models.deletion import Deletion
from annotations.models.document import Document, DocumentSource, NoteMetadata
from annotations.models.event import Event
from annotations.models.gold import GoldVersion, GoldVersionNote
from annotations.models.handover import Handover
from annotations.models.imports import Import
from annotations.models.job import Job
from annotations.models.keys import ProjectKey, SigningKey
from annotations.models.known import KnownPerson, KnownUpload, ListedTerm
from annotations.models.label import Category, Label, LabelSet
from annotations.models.mapping import LabelMapping, MappedLabel
from annotations.models.personal import PersonalKey, Search
from annotations.models.planted import PlantedLeak
from annotations.models.project import Membership, Project, Role
from annotations.models.provider import (
    GroupRole,
    ProviderAccount,
    ProviderSession,
    ProvisionedGroup,
    ProvisionedUser,
    UsedToken,
)
from annotations.models.release import LeakFinding, Release, ReleasedNote, ReleasePolicy
from annotations.models.review import (
    BulkAct,
    Decision,
    RemovalDecision,
    Review,
    SuggestedLabel,
    SuggestedNote,
    SuggestedString,
)
from annotations.models.rewritten import RewrittenNote
from annotations.models.sets import AnnotationSet, Span
from annotations.models.share import Share
from annotations.models.stored_file import StoredChunk, StoredFile
from annotations.models.surrogates import SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.models.talk import Comment, Flag
from annotations.models.user import User
from annotations.models.webhook import Delivery, Webhook

__all__ = [
    "Adjudication",
    "Amendment",
    "AnnotationSet",
    "ApiAnswer",
    "ApiToken",
    "Assignment",
    "AuditMark",
    "AuditNote",
    "AuditPlan",
    "Author",
    "BulkAct",
    "Category",
    "Cause",
    "Certificate",
    "Comment",
    "Comparison",
    "Decision",
    "Deletion",
    "Delivery",
    "Difference",
    "Document",
    "DocumentSource",
    "ErrorCause",
    "Event",
    "Figures",
    "Flag",
    "GoldVersion",
    "GoldVersionNote",
    "GroupRole",
    "Handover",
    "Import",
    "Job",
    "KnownPerson",
    "KnownUpload",
    "Label",
    "LabelMapping",
    "LabelSet",
    "LeakFinding",
    "ListedTerm",
    "MajorityAct",
    "MajorityNote",
    "MappedLabel",
    "Membership",
    "NoteMetadata",
    "PersonalKey",
    "PlantedLeak",
    "Project",
    "ProjectKey",
    "ProviderAccount",
    "ProviderSession",
    "ProvisionedGroup",
    "ProvisionedUser",
    "Release",
    "ReleaseErasure",
    "ReleasePolicy",
    "ReleasedNote",
    "RemovalDecision",
    "Resolution",
    "Review",
    "RewrittenNote",
    "Role",
    "Search",
    "Share",
    "SigningKey",
    "Span",
    "Stale",
    "StoredChunk",
    "StoredFile",
    "SuggestedLabel",
    "SuggestedNote",
    "SuggestedString",
    "SurrogateEntity",
    "SurrogateKey",
    "SurrogateMention",
    "UsedToken",
    "User",
    "Webhook",
]
