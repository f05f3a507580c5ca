"""What the notes of a release add up to, in one pass over their rows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import QuerySet
from django.http import Http404

from annotations.models import Certificate, Release, ReleasedNote, ReleasedNoteState, SigningKey
from annotations.release.rules.certificates.released_files import texts_hash
from annotations.release.rules.certificates.signatures import fingerprint_of, pem_of
from annotations.text.hashes import gold_hash

BATCH = 2000
_COLUMNS = (
    "state", "name", "sha256", "spans", "characters_kept", "first_year", "last_year", "document__patient_id",
    "document__language", "document__length",
)  # fmt: skip


@dataclass
class ReadyNotes:
    """Counts and hashes of the notes that are ready. `spans` counts the replaced or kept stretches by label code."""

    notes: int = 0
    held_back: int = 0
    pending: int = 0
    patients: int = 0
    without_patient: int = 0
    first_year: int | None = None
    last_year: int | None = None
    characters: int = 0
    characters_kept: int = 0
    released_spans: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    spans: Counter[str] = field(default_factory=Counter)
    content_hash: str = ""
    texts_hash: str = ""

    @property
    def years(self) -> list[int] | None:
        if self.first_year is None or self.last_year is None:
            return None
        return [self.first_year, self.last_year]


def rows_of(release: Release) -> ReadyNotes:
    """Read the rows of a release, in batches without the texts."""
    found = ReadyNotes()
    patients: set[str] = set()
    texts: list[tuple[str, str]] = []

    def ready() -> Iterator[tuple[str, str, list[tuple[int, int, str]]]]:
        rows = ReleasedNote.objects.filter(release=release).order_by().values_list(*_COLUMNS)
        for row in rows.iterator(chunk_size=BATCH):
            (state, name, sha256, spans, kept, first, last, patient, language, length) = row
            if state != ReleasedNoteState.DONE:
                found.held_back += state == ReleasedNoteState.HELD
                found.pending += state == ReleasedNoteState.PENDING
                continue
            found.notes += 1
            if patient:
                patients.add(patient)
            else:
                found.without_patient += 1
            found.languages[language or release.project.language] += 1
            found.characters += length
            found.characters_kept += kept
            found.released_spans += len(spans)
            if first is not None and last is not None:
                found.first_year = first if found.first_year is None else min(found.first_year, first)
                found.last_year = last if found.last_year is None else max(found.last_year, last)
            texts.append((name, sha256))
            yield name, sha256, [(start, end, label) for start, end, label, *_attributes in spans]

    found.content_hash = gold_hash(ready())
    found.texts_hash = texts_hash(texts)
    found.patients = len(patients)
    found.spans = _by_label(release, found.content_hash)
    return found


def _by_label(release: Release, content_hash: str) -> Counter[str]:
    """Count stretches by label: as stored for the very same notes, else by reading them again."""
    if content_hash == release.content_hash and "spans_by_label" in release.figures:
        return Counter(release.figures["spans_by_label"])
    found: Counter[str] = Counter()
    rows = ReleasedNote.objects.filter(release=release, state=ReleasedNoteState.DONE).order_by()
    for pieces in rows.values_list("pieces", flat=True).iterator(chunk_size=BATCH):
        found.update(piece[4] for piece in pieces)
    return found


def kept_share(rows: ReadyNotes) -> float | None:
    """The share of the original characters outside of replaced stretches; None without text."""
    return rows.characters_kept / rows.characters if rows.characters else None


# The public keys of this instance.


@dataclass(frozen=True)
class PublicKey:
    """A key with which this instance signs, or signed, certificates."""

    fingerprint: str
    pem: str
    created_at: datetime


def public_keys() -> list[PublicKey]:
    """The public parts of all signing keys, the one that signs now first."""
    return [
        PublicKey(fingerprint_of(bytes(row.public)), pem_of(bytes(row.public)).decode(), row.created_at)
        for row in SigningKey.objects.order_by("-id").defer("sealed")
    ]


# Certificates of releases.


def certificates_of(release: Release) -> QuerySet[Certificate]:
    """The certificates of a release, the newest first, without their bytes."""
    return release.certificates.select_related("signed_by").defer("json", "pdf").order_by("-number")


def certificate_for(release: Release, number: int) -> Certificate:
    """A certificate of a release by its number, with its bytes. Raises Http404."""
    found = release.certificates.filter(number=number).first()
    if found is None:
        raise Http404("This certificate does not exist.")
    return found
