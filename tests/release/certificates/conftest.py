"""A prepared release of two patients' notes from a frozen gold version."""

from annotations.gold.services.making import freeze, make_gold
from annotations.models import GoldVersionNote, Release, ReleasedNote, ReleasedNoteState, ReleasePolicy, ReleaseState
from annotations.release.services.settling import settle
from annotations.text.hashes import text_sha256
from tests import factories as make
from tests.held import made_once
from tests.worlds.pages import make_world

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
SPANS = [(0, 11, "PATIENT"), (13, 15, "AGE"), (31, 41, "DATE"), (44, 50, "CITY"), (61, 68, "DOCTOR")]
KINDS = {"PATIENT": "name", "DOCTOR": "staff", "DATE": "date", "CITY": "city", "HOSPITAL": "hospital", "AGE": "age"}
RULES = {code: {"kind": kind, "action": "mask", "numbered": False} for code, kind in KINDS.items()}


def make_released():
    """The project of `make_world` with `release`: three notes in two languages, of which two are of patient P-0001."""
    world = make_world()
    world.extra = make.make_note(world.project, "Anna Verdi, Torino.", "caso-003", language="en", patient_id="P-0002")
    world.project.documents.filter(pk__in=[note.pk for note in world.notes]).update(patient_id="P-0001")
    for note, spans in ((world.notes[0], SPANS), (world.notes[1], SPANS), (world.extra, [(0, 10, "PATIENT")])):
        annotated = make.make_set(note, world.ann, spans, submitted=True)
        make_gold(document=note, annotation_set=annotated, actor=world.rev)
    world.version, _made = freeze(project=world.project, actor=world.rev)
    about = {"slug": "mask", "version": 1, "name": "Publication mask", "rules": RULES}
    world.policy = ReleasePolicy.objects.create(project=world.project, **about)
    world.release = prepared_release(world, 1)
    return world


made, released = made_once(make_released)


def prepared_release(world, number):
    """Store what preparing a release of gold version 1 stores, with every span masked."""
    release = Release.objects.create(
        project=world.project, number=number, set_spec="gold:1", gold_version=world.version, policy=world.policy,
        state=ReleaseState.PREPARED, note_count=3, created_by=world.mia,
    )  # fmt: skip
    for row in GoldVersionNote.objects.filter(version=world.version).select_related("document").order_by("pk"):
        text, pieces = masked(row.document.text, row.spans)
        ReleasedNote.objects.create(
            release=release, document=row.document, name=row.document.name, state=ReleasedNoteState.DONE, text=text,
            sha256=text_sha256(text), span_count=len(pieces), spans=[[*piece[2:4], piece[4]] for piece in pieces],
            pieces=pieces, characters_kept=len(row.document.text) - sum(end - start for start, end, *_ in pieces),
            first_year=2021 if pieces[1:] else None, last_year=2021 if pieces[1:] else None,
        )  # fmt: skip
    return settle(release=release)


def masked(text, spans):
    """The text with placeholders, and the pieces as ReleasedNote has them."""
    out, pieces, last = "", [], 0
    for start, end, label, _how in spans:
        out += text[last:start]
        pieces.append([start, end, len(out), len(out) + len(label) + 2, label, "mask"])
        out += f"[{label}]"
        last = end
    return out + text[last:], pieces
