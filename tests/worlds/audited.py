"""A prepared release whose notes can be audited. In every note the release has left the doctor's name."""

from types import SimpleNamespace

from annotations import models
from annotations.release.selectors.audits import shown_of
from annotations.release.services.audits.planning import Choices, plan_audit
from annotations.release.services.audits.reading import finish, mark, next_note, reading_note
from annotations.text.hashes import text_sha256
from tests import factories as make

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
RELEASED = "[PATIENT], 54 anni, visto il [DATE] a [CITY] dal dott. Bianchi."
REPLACED = [(0, 11, "PATIENT"), (31, 41, "DATE"), (44, 50, "CITY")]
KINDS = {
    "PATIENT": "name", "DOCTOR": "staff", "DATE": "date", "CITY": "city", "HOSPITAL": "hospital", "AGE": "age"
}  # fmt: skip


def pieces_of(spans: list[tuple[int, int, str]]) -> list[list[object]]:
    pieces: list[list[object]] = []
    moved = 0
    for start, end, label in spans:
        mask = f"[{label}]"
        pieces.append([start, end, start + moved, start + moved + len(mask), label, "mask"])
        moved += len(mask) - (end - start)
    return pieces


def make_release(project: models.Project, notes: int = 40, patients: int = 0) -> models.Release:
    """A prepared release of new notes in two languages and two types, of `patients` patients (0: without ids)."""
    rules = {code: {"kind": kind, "action": "mask", "numbered": False} for code, kind in KINDS.items()}
    rules["AGE"]["action"] = "keep"
    about = {"name": "Publication mask", "rules": rules}
    policy, _made = models.ReleasePolicy.objects.get_or_create(project=project, slug="mask", version=1, defaults=about)
    gold = make.make_author(project, kind=models.AuthorKind.GOLD, name="gold")
    number = 1 + models.Release.objects.filter(project=project).count()
    release = models.Release.objects.create(
        project=project, number=number, set_spec="gold", policy=policy, state="prepared", note_count=notes
    )
    for at in range(notes):
        patient = f"P-{at % patients:04}" if patients else ""
        note = make.make_note(
            project, TEXT, f"caso-{number}-{at:03}", language="it" if at % 4 else "en", patient_id=patient
        )
        models.NoteMetadata.objects.create(document=note, note_type="letter" if at % 2 else "report", site="Nord")
        make.make_set(note, gold, REPLACED, submitted=True)
        models.ReleasedNote.objects.create(
            release=release, document=note, name=note.name, state=models.ReleasedNoteState.DONE, text=RELEASED,
            sha256=text_sha256(RELEASED), pieces=pieces_of(REPLACED), span_count=3,
        )  # fmt: skip
    return release


def planned(release: models.Release, **choices: object) -> models.AuditPlan:
    return plan_audit(release=release, choices=Choices(**{"target": 0.1, "planted": 0.0, **choices}), actor=None)


def read_one(plan: models.AuditPlan, user: models.User, *marks: str) -> models.AuditNote:
    """Read the next note: mark these words, each with the label DOCTOR, and finish."""
    assert next_note(plan=plan, user=user) is not None
    note = reading_note(plan, user)
    text = shown_of(note).text
    for words in marks:
        start = text.index(words)
        mark(note=note, start=start, end=start + len(words), label="DOCTOR", user=user)
    finish(note=note, user=user)
    plan.refresh_from_db()
    return models.AuditNote.objects.get(pk=note.pk)


def audited_world(project: models.Project, **about: int) -> SimpleNamespace:
    """The project's release with two auditors and a manager."""
    rev, rev2 = (make.make_member(project, "reviewer", name) for name in ("rita", "remo"))
    mia = make.make_member(project, "manager", "mina")
    return SimpleNamespace(project=project, release=make_release(project, **about), rev=rev, rev2=rev2, mia=mia)
