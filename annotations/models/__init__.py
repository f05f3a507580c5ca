"""The database models of `annotations`, one subject per module."""

from annotations.models.adjudication import (
    Adjudication,
    Amendment,
    Figures,
    MajorityAct,
    MajorityActState,
    MajorityNote,
    Resolution,
)
from annotations.models.api import ApiAnswer, ApiToken
from annotations.models.assignment import Assignment, AssignmentState
from annotations.models.audits import AuditMark, AuditNote, AuditNoteState, AuditPlan, AuditPlanState
from annotations.models.author import Author, AuthorKind
from annotations.models.causes import Cause, CauseKind, ErrorCause
from annotations.models.certificate import Certificate, ReleaseErasure
from annotations.models.comparison import Comparison, Difference, Stale
from annotations.models.deletion import Deletion
from annotations.models.document import Document, DocumentSource, NoteMetadata
from annotations.models.event import Event
from annotations.models.gold import GoldVersion, GoldVersionNote
from annotations.models.handover import Handover, HandoverState
from annotations.models.imports import Import, ImportState
from annotations.models.job import Job, JobState
from annotations.models.keys import ProjectKey, SigningKey
from annotations.models.known import KnownPerson, KnownUpload, KnownUploadState, ListedTerm, ListedTermKind
from annotations.models.label import Category, Label, LabelSet
from annotations.models.mapping import LabelMapping, MappedLabel
from annotations.models.personal import PersonalKey, Search, SearchKind
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
from annotations.models.release import (
    LeakFinding,
    Release,
    ReleasedNote,
    ReleasedNoteState,
    ReleasePolicy,
    ReleaseState,
)
from annotations.models.review import (
    BulkAct,
    BulkActState,
    Decision,
    RemovalDecision,
    Review,
    SuggestedLabel,
    SuggestedNote,
    SuggestedString,
)
from annotations.models.rewritten import RewrittenNote
from annotations.models.sets import AnnotationSet, AnnotationSetState, Span
from annotations.models.share import Share
from annotations.models.stored_file import StoredChunk, StoredFile, StoredFileKind
from annotations.models.surrogates import SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.models.talk import Comment, Flag
from annotations.models.user import User
from annotations.models.webhook import Delivery, DeliveryState, Webhook, WebhookState

__all__ = [
    "Adjudication",
    "Amendment",
    "AnnotationSet",
    "AnnotationSetState",
    "ApiAnswer",
    "ApiToken",
    "Assignment",
    "AssignmentState",
    "AuditMark",
    "AuditNote",
    "AuditNoteState",
    "AuditPlan",
    "AuditPlanState",
    "Author",
    "AuthorKind",
    "BulkAct",
    "BulkActState",
    "Category",
    "Cause",
    "CauseKind",
    "Certificate",
    "Comment",
    "Comparison",
    "Decision",
    "Deletion",
    "Delivery",
    "DeliveryState",
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
    "HandoverState",
    "Import",
    "ImportState",
    "Job",
    "JobState",
    "KnownPerson",
    "KnownUpload",
    "KnownUploadState",
    "Label",
    "LabelMapping",
    "LabelSet",
    "LeakFinding",
    "ListedTerm",
    "ListedTermKind",
    "MajorityAct",
    "MajorityActState",
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
    "ReleaseState",
    "ReleasedNote",
    "ReleasedNoteState",
    "RemovalDecision",
    "Resolution",
    "Review",
    "RewrittenNote",
    "Role",
    "Search",
    "SearchKind",
    "Share",
    "SigningKey",
    "Span",
    "Stale",
    "StoredChunk",
    "StoredFile",
    "StoredFileKind",
    "SuggestedLabel",
    "SuggestedNote",
    "SuggestedString",
    "SurrogateEntity",
    "SurrogateKey",
    "SurrogateMention",
    "UsedToken",
    "User",
    "Webhook",
    "WebhookState",
]
