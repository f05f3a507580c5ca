from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotations.models.project import Created, Label, Project, Table
from annotations.text.names import DOCUMENTS, MIXED


class StoredFileKind(models.TextChoices):
    UPLOAD = "upload", _("Upload")
    EXPORT = "export", _("Export")
    MODEL = "model", _("Model")
    ARCHIVE = "archive", _("Project archive")
    RELEASE = "release", _("Release")
    ORIGINAL = "original", _("Original document")


class StoredFile(Created):
    """An upload to be imported, a document that notes were extracted from, an export, a release, or a trained model.

    Stored in the database, not on disk, so that workers on other machines need no shared file system.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="stored_files")
    kind = models.CharField(max_length=8, choices=StoredFileKind)
    name = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    expires_at = models.DateTimeField(
        null=True, db_index=True, help_text="Null: the file is kept until a person deletes it."
    )

    class Meta:
        ordering = ["-id"]


class StoredChunk(Table):
    """Up to 1 MiB of a stored file; `number` counts from 0."""

    file = models.ForeignKey(StoredFile, models.CASCADE, related_name="chunks", db_index=False)
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["file", "number"], name="chunk_once")]


class ImportState(models.TextChoices):
    STAGED = "staged", _("Waiting for confirmation")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed; nothing was imported")
    CANCELED = "canceled", _("Canceled; nothing was imported")


class Import(Created):
    """One import of notes, with its report. While it runs, it can be canceled, which removes what it has added."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="imports")
    stored_file = models.ForeignKey(StoredFile, models.SET_NULL, null=True, related_name="+")
    format = models.CharField(max_length=20)
    written_as = models.CharField(
        max_length=170, blank=True, help_text="gold, annotator:NAME or run:NAME; empty without annotations."
    )
    language = models.CharField(max_length=8, blank=True)
    labels_found = models.JSONField(
        null=True, help_text="Labels of the files: {name: [spans, notes]}. Null: not counted."
    )
    notes_found = models.PositiveIntegerField(
        default=0, help_text="Notes counted when the files were staged, for files that hold many; 0: not counted."
    )
    label_choices = models.JSONField(
        default=dict, help_text="What to do with labels of the files, by name; complete once the import starts."
    )
    take_duplicates = models.BooleanField(default=False, help_text="Import texts that exist under another name.")
    repair_offsets = models.BooleanField(
        default=False, help_text="Move a span to the text that it quotes, if that stands nearby."
    )
    all_or_nothing = models.BooleanField(default=False, help_text="Import nothing if a note is refused.")
    encoding = models.CharField(
        max_length=40, blank=True, help_text="Encoding of the text in documents; empty: it is detected."
    )
    no_cleanup = models.JSONField(default=list, help_text="Clean-up rules that documents are read without.")
    state = models.CharField(max_length=10, choices=ImportState, default=ImportState.STAGED)
    notes_done = models.PositiveIntegerField(default=0, help_text="Notes that a resumed import may skip.")
    files_done = models.PositiveIntegerField(
        default=0, help_text="Documents read to the end, which a resumed import doesn't read again."
    )
    notes_of_files = models.PositiveIntegerField(default=0, help_text="Those of `notes_done` from `files_done`.")
    report = models.JSONField(default=dict)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    @property
    def has_documents(self) -> bool:
        """Whether some of the files are documents, which take long to read."""
        return self.format == DOCUMENTS or self.format.endswith(MIXED)

    @property
    def main_format(self) -> str:
        """The format of the other files."""
        return self.format.removesuffix(MIXED)


class Document(Table):
    """A note. `text` is stored exactly as imported and never changes; `length` counts code points.

    `text` is the last column, so that SQLite reads the other columns without its overflow pages.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="documents", db_index=False)
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    length = models.PositiveIntegerField()
    language = models.CharField(max_length=8, blank=True)
    patient_id = models.CharField(max_length=80, blank=True)
    imported_by = models.ForeignKey(Import, models.SET_NULL, null=True, related_name="documents")
    created_at = models.DateTimeField(auto_now_add=True)
    text = models.TextField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="note_name_once")]
        indexes = [
            # PostgreSQL counts the entries of an index without a unique column in less than half of the time.
            models.Index(fields=["project"], name="note_count"),
            models.Index(fields=["project", "id"], name="note_by_project"),
            models.Index(fields=["project", "sha256"], name="note_by_sha256"),
            models.Index(fields=["project", "patient_id"], name="note_by_patient"),
        ]


class NoteIndex(Table):
    """Signatures of many notes of a project (annotations.text.search), so that a search reads few texts.

    Notes get into the index in the order of their ids: those after the last one of the last row are not indexed yet.
    """

    SIZE = 1024

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    last = models.BigIntegerField()
    notes = models.JSONField(help_text="The ids of up to SIZE notes.")
    shift = models.PositiveSmallIntegerField()
    bits = models.BinaryField(help_text="SIZE bits for each hash: which notes have it.")

    class Meta:
        ordering = ["last"]
        constraints = [models.UniqueConstraint(fields=["project", "last"], name="index_once")]


class NoteMetadata(Table):
    """What is known about a note beside its text, for strata and subgroups: its type and the site that wrote it.

    A table of its own, so that the table of notes, the largest one, is not rebuilt, and its text stays the last column.
    """

    document = models.OneToOneField(Document, models.CASCADE, primary_key=True, related_name="metadata")
    note_type = models.CharField(max_length=80, blank=True)
    site = models.CharField(max_length=80, blank=True)


class DocumentSource(Table):
    """The document from which the text of a note was extracted.

    `places` is the source map, a list of [start, end, place]: offsets in code points, end-exclusive, and the name of a
    page or part. `ocr_confidence` is null unless OCR read the text. Several notes may come from one original; it is
    deleted when one of them is erased.
    """

    RECORDING = "audio"
    """The kind of the source of a transcript: its original is the recording."""

    document = models.OneToOneField(Document, models.CASCADE, primary_key=True, related_name="source")
    original = models.ForeignKey(StoredFile, models.SET_NULL, null=True, related_name="sources")
    name = models.CharField(max_length=255, help_text="Relative path of the document in its import.")
    kind = models.CharField(max_length=12)
    encoding = models.CharField(max_length=40, blank=True)
    cleaned = models.JSONField(default=dict, help_text="Number of changes by clean-up rule.")
    places = models.JSONField(default=list)
    ocr_confidence = models.FloatField(null=True, help_text="Mean confidence of the words that OCR read, from 0 to 1.")


class AuthorKind(models.TextChoices):
    ANNOTATOR = "annotator", _("Annotator")
    RUN = "run", _("Model run")
    REFINED = "refined", _("Refined run")
    ADJUDICATED = "adjudicated", _("Adjudicated")
    GOLD = "gold", _("Gold")
    BENCH = "bench", _("Injected errors")


class Author(Table):
    """The author of annotation sets in a project: a person, a model run, a refiner, an adjudicator or gold.

    Annotation sets of the kind BENCH were made to measure who finds errors. They are never reviewed, made gold, learned
    from or released.
    """

    # Kinds whose annotation sets no person has checked.
    MODELS = (AuthorKind.RUN, AuthorKind.REFINED)

    project = models.ForeignKey(Project, models.CASCADE, related_name="authors", db_index=False)
    kind = models.CharField(max_length=12, choices=AuthorKind)
    name = models.CharField(max_length=150)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="authors")
    merged_from = models.JSONField(null=True, help_text="For merged suggestions: the author ids of the merged runs.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["kind", "name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "kind", "name"], name="author_once"),
            models.UniqueConstraint(
                fields=["project", "user"],
                condition=Q(kind="annotator", user__isnull=False),
                name="one_author_per_person",
            ),
        ]

    def __str__(self) -> str:
        return self.name


# Kinds whose annotation sets can't become gold in bulk: gold itself, and sets that no person has checked.
NOT_IN_BULK = (AuthorKind.GOLD, AuthorKind.BENCH, *Author.MODELS)


class AnnotationSetState(models.TextChoices):
    DRAFT = "draft", _("Draft")
    SUBMITTED = "submitted", _("Submitted")
    WITHDRAWN = "withdrawn", _("Withdrawn")


class AnnotationSet(Table):
    """One author's spans on one note.

    In agreement, an unmarked token of a submitted set counts as O; a draft or withdrawn set counts as missing.
    `version` counts the changes, so that an outdated page is noticed.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="annotation_sets", db_index=False)
    author = models.ForeignKey(Author, models.CASCADE, related_name="annotation_sets", db_index=False)
    state = models.CharField(max_length=10, choices=AnnotationSetState, default=AnnotationSetState.DRAFT)
    version = models.PositiveIntegerField(default=0)
    blind = models.BooleanField(
        default=True, help_text="False where the author could see other annotators' spans, or candidates."
    )
    seeded = models.BooleanField(default=False, help_text="The annotator began from a model's spans.")
    imported_by = models.ForeignKey(Import, models.SET_NULL, null=True, related_name="annotation_sets")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    submitted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["document", "author"], name="one_set_per_author")]
        indexes = [
            models.Index(fields=["author", "state"], name="set_count"),  # As in Document.
            models.Index(fields=["author", "state", "document"], name="set_by_author"),
            # For the number of notes that a person submitted today.
            models.Index(fields=["author", "submitted_at"], name="set_by_submission"),
        ]


class Span(Table):
    """A labeled stretch of the note: code points, end-exclusive, never empty, within the text."""

    annotation_set = models.ForeignKey(AnnotationSet, models.CASCADE, related_name="spans", db_index=False)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    label = models.ForeignKey(Label, models.PROTECT, related_name="spans")
    confidence = models.FloatField(null=True)
    raw_confidence = models.FloatField(
        null=True, help_text="The backend's own confidence, where `confidence` is calibrated."
    )
    source = models.CharField(max_length=80, blank=True, help_text="Rule id, model pass or prompt version.")
    provenance = models.JSONField(
        null=True, help_text="For gold: who suggested and who decided. For merged suggestions: their runs."
    )
    string_key = models.BigIntegerField(null=True, help_text="For suggestions: a hash of the string.")
    attributes = models.JSONField(
        null=True, help_text="A choice or true by name of attribute; null without attributes."
    )

    class Meta:
        ordering = ["start", "end", "id"]
        constraints = [
            models.UniqueConstraint(fields=["annotation_set", "start", "end", "label"], name="span_once"),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="span_not_empty"),
        ]
        indexes = [
            models.Index(fields=["string_key", "label"], condition=Q(string_key__isnull=False), name="span_by_string")
        ]


class Comment(Table):
    """A comment on a note, a span or a disagreement. It is not an annotation and never counts as one.

    `annotator` is the annotator whose annotation set the comment is about. Only that annotator and people who may read
    every note see it, so that annotators stay blind to each other. A comment without `annotator` is about the note
    itself: people who may see everyone's spans see it, and each annotator once the note is adjudicated and they have
    submitted. The bounds (code points, end-exclusive) stay when the span is deleted.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="comments", db_index=False)
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False)
    # No foreign key: an undo restores a deleted span under the same id, with its comments.
    span_id = models.BigIntegerField(null=True)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    answers = models.ForeignKey("self", models.CASCADE, null=True, related_name="answered_by")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    text = models.TextField(max_length=4000)
    change_id = models.UUIDField(
        null=True, help_text="From the client, so that a repeated request adds no second comment."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "change_id"], condition=Q(change_id__isnull=False), name="comment_once"
            )
        ]
        indexes = [models.Index(fields=["document", "annotator", "id"], name="comment_by_note")]


class Flag(Table):
    """A person's request to have a note checked, with a reason. One open flag for each person and note."""

    class Reason(models.TextChoices):
        UNSURE = "unsure", _("I am not sure how to label it")
        TEXT = "text", _("The text is damaged or incomplete")
        LANGUAGE = "language", _("It is in a language I don't read")
        NOT_A_NOTE = "not_a_note", _("It is the wrong type of note")
        SENSITIVE = "sensitive", _("It contains unusually sensitive information")
        OTHER = "other", _("Something else")

    document = models.ForeignKey(Document, models.CASCADE, related_name="flags", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    reason = models.CharField(max_length=12, choices=Reason)
    text = models.CharField(max_length=500, blank=True)
    raised_at = models.DateTimeField(auto_now_add=True)
    cleared_at = models.DateTimeField(null=True)
    cleared_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "user"], condition=Q(cleared_at__isnull=True), name="flag_open_once"
            )
        ]
        indexes = [models.Index(fields=["document", "cleared_at"], name="flag_by_note")]


class AssignmentState(models.TextChoices):
    OPEN = "open", _("To do")
    DONE = "done", _("Done")
    RELEASED = "released", _("Released")


class Assignment(Table):
    """A note assigned to an annotator. A released row keeps the history; the work stays in the annotation set."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="assignments", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="assignments", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="assignments", db_index=False)
    state = models.CharField(max_length=8, choices=AssignmentState, default=AssignmentState.OPEN)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["document", "user"], name="assigned_once")]
        indexes = [
            models.Index(fields=["project", "user", "state", "document"], name="assignment_work_list"),
            # For counts, as in Document. Deletion checks and joins by person need an index that begins with the person.
            models.Index(fields=["user", "project", "state"], name="assignment_count"),
        ]
