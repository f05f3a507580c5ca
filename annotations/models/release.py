from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotations.models.gold import GoldVersion
from annotations.models.job import Job
from annotations.models.notes import Author, Document
from annotations.models.project import Created, Project, SigningKey, Table


class ReleasePolicy(Created):
    """One version of a project's policy: what a release does with each label. Versions never change.

    `rules` maps every label code of the project to {"kind", "action", "numbered"} (release.rules.redaction.policy).
    `basis` is the short name of the shipped policy that it is or comes from, however it is called; empty for others.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="release_policies", db_index=False)
    slug = models.SlugField(max_length=40, help_text="Short name, as used for --policy; the same for all versions.")
    version = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    basis = models.CharField(max_length=40, blank=True, db_default="", default="")
    rules = models.JSONField()

    class Meta:
        ordering = ["slug", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["project", "slug", "version"], name="release_policy_version_once")
        ]

    def __str__(self) -> str:
        return f"policy {self.slug}, version {self.version}"


class ReleaseState(models.TextChoices):
    PREPARING = "preparing", _("Being prepared")
    PREPARED = "prepared", _("Prepared")
    SIGNED = "signed", _("Signed")
    WITHDRAWN = "withdrawn", _("Withdrawn")


class Release(Created):
    """De-identified texts of a project's notes, from one choice of annotation sets under one policy.

    `number` counts the project's releases from 1. `content_hash` covers names, texts and spans of the released notes
    (text.hashes.gold_hash). It is empty until the release is prepared, and after a decision until it is computed
    again (release.services.settling).
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="releases", db_index=False)
    number = models.PositiveIntegerField()
    set_spec = models.CharField(max_length=200, help_text="Which annotations: gold, gold:VERSION, run:NAME and so on.")
    author = models.ForeignKey(Author, models.SET_NULL, null=True, related_name="+")
    gold_version = models.ForeignKey(GoldVersion, models.SET_NULL, null=True, related_name="+")
    policy = models.ForeignKey(ReleasePolicy, models.RESTRICT, related_name="releases")
    surrogate_maker = models.JSONField(
        default=dict, help_text="The language model that makes surrogates (surrogates.services.makers); empty: rules."
    )
    searched_runs = models.JSONField(
        default=list, help_text="Runs whose suggestions the leak gate also looks for, as specifications: run:NAME."
    )
    keep_names = models.BooleanField(
        default=False, help_text="Released notes keep the names of the notes, which can hold dates and identifiers."
    )
    continues = models.ForeignKey(
        "self", models.SET_NULL, null=True, related_name="deltas",
        help_text="The first release of the standing release to which this one adds notes.",
    )  # fmt: skip
    state = models.CharField(max_length=10, choices=ReleaseState, default=ReleaseState.PREPARING)
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="+")
    purpose = models.CharField(max_length=300, blank=True)
    recipient = models.CharField(max_length=200, blank=True)
    expires_on = models.DateField(null=True, help_text="When the certificate expires.")
    note_count = models.PositiveIntegerField(default=0)
    span_count = models.PositiveIntegerField(default=0)
    erased_count = models.PositiveIntegerField(default=0, help_text="Notes erased since they were released.")
    revision = models.PositiveIntegerField(default=0, help_text="Counts the changes since its notes were prepared.")
    content_hash = models.CharField(max_length=64, blank=True)
    figures = models.JSONField(default=dict, help_text="Counts and measures of the prepared release.")
    risks = models.JSONField(default=list, help_text="Accepted open risks: [{text, by, at}].")
    begun_at = models.DateTimeField(default=timezone.now, help_text="When preparing all of its notes was last started.")
    signed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    signed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="release_number_once")]

    def __str__(self) -> str:
        return f"release {self.number}"

    @property
    def notes_left(self) -> int:
        """The notes that were not erased since."""
        return self.note_count - self.erased_count

    @property
    def open_findings(self) -> int:
        """The number of findings of the leak gate that nobody has decided yet."""
        return LeakFinding.objects.filter(note__release=self, decision="").count()


class ReleasedNoteState(models.TextChoices):
    PENDING = "pending", _("Waiting")
    DONE = "done", _("Ready")
    HELD = "held", _("Held back")


class ReleasedNote(Table):
    """A note of a release: the de-identified text. It is derived from the note and deleted with it.

    The rows of one patient follow each other by id. `spans`: [start, end, label code] in the released text, and
    with attributes a fourth item, a choice or true by name. `pieces`: [start, end, released start, released end, label
    code, action] of every replaced stretch, which maps the original to the released text and back. `name` is the
    name in the release: neutral, unless the release keeps names. `first_year` and `last_year` are those of the note's
    dates, before the release changed them.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="notes", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    name = models.CharField(max_length=255)
    state = models.CharField(max_length=7, choices=ReleasedNoteState, default=ReleasedNoteState.PENDING)
    sha256 = models.CharField(max_length=64, blank=True)
    span_count = models.PositiveIntegerField(default=0)
    spans = models.JSONField(default=list)
    pieces = models.JSONField(default=list)
    extra = models.JSONField(
        default=list,
        help_text="[start, end, label code, masked] in the original: what the leak gate's decisions added. `masked` "
        "stretches get the label's placeholder, whatever the policy does with the label.",
    )
    exceptions = models.JSONField(default=dict, help_text="How often each exception of the leak gate applied.")
    characters_kept = models.PositiveIntegerField(default=0, help_text="Code points outside of replaced stretches.")
    first_year = models.PositiveSmallIntegerField(null=True)
    last_year = models.PositiveSmallIntegerField(null=True)
    text = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["release", "document"], name="released_note_once")]
        indexes = [models.Index(fields=["release", "state", "id"], name="released_note_by_state")]


class LeakFinding(Table):
    """An identifier that the leak gate found in a released note, until somebody decides about it.

    `start` and `end` are code points of the released text or, for `where` name, of the note's own name, or for `attr`
    of the span's attributes as one line. Once the place is replaced, they say where it was. `original_start` and
    `original_end` are the corresponding bounds in the original, by which a finding is recognized when its note is
    prepared again. `source` and its bounds are the labeled span whose string it is. The row holds no text.
    """

    class Where(models.TextChoices):
        TEXT = "text", _("Text")
        NAME = "name", _("Name of the note")
        ATTRIBUTE = "attr", _("Attribute of an annotation")

    class Origin(models.TextChoices):
        NOTE = "note", _("Labeled in this note")
        PATIENT = "patient", _("Labeled in another note of the patient")
        KNOWN = "known", _("Known identifier of the patient")
        DENIED = "denied", _("On the deny list")
        SHAPE = "shape", _("Looks like an identifier")
        RULES = "rules", _("Found by the rules")
        RUN = "run", _("Suggested by a run")
        MUTED = "muted", _("Muted in the recording by a person")
        AUDIT = "audit", _("Marked in the audit")

    class Answer(models.TextChoices):
        REPLACE = "replace", _("Replace here too")
        ALLOW = "allow", _("Allow")

    note = models.ForeignKey(ReleasedNote, models.CASCADE, related_name="findings", db_index=False)
    where = models.CharField(max_length=4, choices=Where, default=Where.TEXT)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    original_start = models.PositiveIntegerField()
    original_end = models.PositiveIntegerField()
    origin = models.CharField(max_length=7, choices=Origin)
    part = models.BooleanField(default=False, help_text="Only a part of the string, of four letters or more.")
    label = models.CharField(max_length=60, blank=True)
    source = models.ForeignKey(Document, models.CASCADE, null=True, related_name="+")
    source_start = models.PositiveIntegerField(null=True)
    source_end = models.PositiveIntegerField(null=True)
    string_key = models.BigIntegerField(help_text="A keyed hash of the folded string, to decide equal ones together.")
    decision = models.CharField(max_length=7, choices=Answer, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["note", "where", "start", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["note", "where", "original_start", "original_end", "string_key"], name="leak_finding_once"
            ),
            models.CheckConstraint(condition=Q(end__gt=models.F("start")), name="leak_finding_not_empty"),
        ]


class AuditPlanState(models.TextChoices):
    OPEN = "open", _("Being read")
    MET = "met", _("Target met")
    UNMET = "unmet", _("Target not met")


class AuditPlan(Created):
    """The audit of a release: a random sample of its notes, which auditors read for leaks.

    A release has one audit, because with several the best one could be chosen. `strata` holds released notes and
    whether their sample is a simple one ({"name": {"notes", "simple"}}), `looks` the numbers of notes by stratum until
    the end of each look (annotations.release.rules.audits.looks). Shares are from 0 to 1.
    """

    class By(models.TextChoices):
        NONE = "", _("Not stratified")
        TYPE = "type", _("Note type")
        SITE = "site", _("Site")
        LANGUAGE = "language", _("Language")

    release = models.OneToOneField(Release, models.CASCADE, related_name="audit")
    by = models.CharField(max_length=8, choices=By, blank=True)
    confidence = models.FloatField()
    target = models.FloatField()
    planted_share = models.FloatField()
    leaks_allowed = models.PositiveSmallIntegerField(help_text="Notes with a leak after which reading goes on.")
    seed = models.CharField(max_length=32, help_text="Anybody can repeat the draw with it.")
    strata = models.JSONField()
    looks = models.JSONField()
    drawn = models.PositiveIntegerField()
    erased_count = models.PositiveIntegerField(default=0, help_text="Notes of the sample that were erased since.")
    state = models.CharField(max_length=5, choices=AuditPlanState, default=AuditPlanState.OPEN)


class AuditNoteState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    READING = "reading", _("Being read")
    DONE = "done", _("Read")


class AuditNote(Table):
    """A note of an audit's sample, deleted with the note.

    `planted_start` and `planted_end` are the bounds in the original of the identifier that the auditor sees in place of
    its replacement. No page shows whether there is one before the audit has ended.
    """

    plan = models.ForeignKey(AuditPlan, models.CASCADE, related_name="notes", db_index=False)
    note = models.ForeignKey(ReleasedNote, models.CASCADE, related_name="+")
    position = models.PositiveIntegerField(help_text="The order in which notes are read, from 1.")
    look = models.PositiveSmallIntegerField()
    stratum = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=7, choices=AuditNoteState, default=AuditNoteState.WAITING)
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    leased_until = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    planted_start = models.PositiveIntegerField(null=True)
    planted_end = models.PositiveIntegerField(null=True)
    planted_found = models.BooleanField(null=True)

    class Meta:
        ordering = ["plan", "position"]
        constraints = [
            models.UniqueConstraint(fields=["plan", "position"], name="audit_position_once"),
            models.UniqueConstraint(fields=["plan", "note"], name="audit_note_once"),
        ]
        indexes = [models.Index(fields=["plan", "state", "position"], name="audit_note_by_state")]


class AuditMark(Table):
    """A stretch that an auditor marked as a leak, in code points of the original note.

    `leak` is unknown until the note is finished; False if only a planted leak was marked. `finding` is the finding of
    the release, about which a manager decides; a manager may also have said that the stretch identifies nobody.
    """

    note = models.ForeignKey(AuditNote, models.CASCADE, related_name="marks", db_index=False)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    label = models.CharField(max_length=60)
    leak = models.BooleanField(null=True)
    finding = models.ForeignKey(LeakFinding, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    dismissed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    dismissed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["note", "start", "id"]
        constraints = [
            models.UniqueConstraint(fields=["note", "start", "end"], name="audit_mark_once"),
            models.CheckConstraint(condition=Q(end__gt=models.F("start")), name="audit_mark_not_empty"),
        ]


class Certificate(Table):
    """A signed certificate of a release, as the bytes that everybody gets. Certificates never change.

    `number` counts the certificates of a release from 1; a newer one supersedes the older ones. `sha256` is that of the
    JSON, by which a file is found again.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="certificates", db_index=False)
    number = models.PositiveIntegerField()
    key = models.ForeignKey(SigningKey, models.PROTECT, related_name="+")
    sha256 = models.CharField(max_length=64, db_index=True)
    json = models.BinaryField()
    pdf = models.BinaryField()
    note_count = models.PositiveIntegerField()
    expires_on = models.DateField(null=True)
    signed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    signed_at = models.DateTimeField()

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["release", "number"], name="certificate_number_once")]

    def __str__(self) -> str:
        return f"certificate {self.number}"


class ReleaseErasure(Table):
    """Notes that were erased from a prepared or signed release: how many, and of how many patients, but not which.

    `patients` is 1 where a patient was erased, and 0 where a single note was deleted.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="erasures")
    notes = models.PositiveIntegerField()
    patients = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
