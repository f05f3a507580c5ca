"""Everything of releases in the world of `test_erasing_everything`, made by the services that people use."""

from datetime import timedelta
from types import SimpleNamespace
from uuid import uuid4

from django.utils import timezone

from annotations import models
from annotations.core.sealing import project_key
from annotations.jobs.runner import run as work
from annotations.release.selectors.audits import shown_of
from annotations.release.services.audits.planning import Choices, discard_plan, plan_audit
from annotations.release.services.audits.reading import finish, mark, next_note, reading_note
from annotations.release.services.certificates.drafting import Terms
from annotations.release.services.certificates.signing import prospect, sign
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.exporting import start_release_export
from annotations.release.services.known import add_terms, import_upload, stage_master
from annotations.release.services.policies import save_policy
from annotations.release.services.starting import start_release
from tests import factories as make
from tests.worlds.audited import KINDS
from tests.worlds.queue import worked

TERMS = Terms("Teaching", "University of Milan", None)
# Each table with a sealed column. A test finds tables that are missing here.
SEALED = [models.ApiAnswer, models.KnownPerson, models.KnownUpload, models.ListedTerm, models.SurrogateEntity]


def sealed(project, *, without=()):
    """Yield what is sealed with the project's key, as readable text, like the rows of `tables`."""
    key = project_key(project)
    for model in SEALED:
        if model not in without:
            for row in model.objects.filter(project=project).exclude(sealed=None):
                yield f"sealed {model.__name__}", repr(key.open(bytes(row.sealed)))


def policy(project, slug, action):
    rules = {code: {"kind": kind, "action": action, "numbered": False} for code, kind in KINDS.items()}
    rules["DATE"]["action"] = rules["AGE"]["action"] = "mask"
    return save_policy(project=project, slug=slug, name=slug.title(), rules=rules, actor=None)


def prepared(world, action, **about):
    release = start_release(
        project=world.project, set_spec="gold:1", keep_names=True,
        policy=policy(world.project, f"all-{action}", action), actor=world.mia, **about,
    )  # fmt: skip
    worked(release)
    assert release.state == models.ReleaseState.PREPARED, release.job.error
    return release


def known(world, patient, word):
    """The patient's row in the patient master, uploads that wait for confirmation, and listed terms with the name."""
    _answered(world, word)
    table = f"patient_id,nome,cognome,comune\n{patient},{word},Rossi,Torino\n".encode()
    upload, job = stage_master(project=world.project, content=table, format="csv", actor=world.mia)
    work(job.pk)
    import_upload(project=world.project, upload_id=upload.pk, actor=world.mia)
    _upload, job = stage_master(project=world.project, content=table + b"x,Ugo,Bo,\n", format="csv", actor=world.mia)
    work(job.pk)
    stage_master(project=world.project, content=table + b"y,Ugo,Bo,\n", format="csv", actor=world.mia)
    for kind, label in ((models.ListedTermKind.DENY, "CITY"), (models.ListedTermKind.ALLOW, "")):
        add_terms(project=world.project, kind=kind, terms=[(f"{word}bis", label)], actor=world.mia)
    add_terms(project=world.project, kind=models.ListedTermKind.DENY, terms=[("Milano", "CITY")], actor=world.mia)


def _answered(world, word):
    """A stored answer of the API about the patient's note."""
    expires = timezone.now() + timedelta(days=1)
    token = models.ApiToken.objects.create(
        user=world.mia, name="x", digest="0", project=world.project, expires_at=expires
    )
    models.ApiAnswer.objects.create(
        token=token, key="0", fingerprint="0", claim=uuid4(), claimed_at=timezone.now(), status=200,
        sealed=project_key(world.project).seal({"body": word}), project=world.project,
    )  # fmt: skip


def planned(release, first, actor):
    """An audit with planted leaks whose sample begins with this note."""
    for seed in map(str, range(100)):
        plan = plan_audit(release=release, choices=Choices(target=0.5, planted=0.5), actor=actor, seed=seed)
        if plan.notes.get(position=1).note.document == first:
            return plan
        discard_plan(release=release, actor=actor)
    raise AssertionError("no sample begins with the note")


def read(plan, user):
    """Read all notes of the audit's sample, and mark the first word that the release has left."""
    while next_note(plan=plan, user=user) is not None:
        note = reading_note(plan, user)
        shown = shown_of(note).text
        start = shown.find("visto" if "visto" in shown else "numero")
        mark(note=note, start=start, end=start + 5, label="CITY", user=user)
        finish(note=note, user=user)
        plan.refresh_from_db()
        if plan.state != models.AuditPlanState.OPEN:
            return


def signed(release, actor):
    release.refresh_from_db()
    risks = prospect(release, TERMS, actor).risks
    return sign(release=release, terms=TERMS, accepted=[risk.key for risk in risks], actor=actor)


def releases(world, *, patient, word):
    """A masked release with audit, export and certificate, and one with surrogates whose findings are open.

    Return them as `masked` and `surrogates`, with the `certificate`.
    """
    note = world.note
    models.NoteMetadata.objects.create(document=note, note_type="letter", site=f"{word}site")
    known(world, patient, word)
    masked = prepared(world, "mask", purpose="Teaching")
    own = models.LeakFinding.objects.filter(note__release=masked, note__document=note)
    assert own.filter(origin=models.LeakFinding.Origin.KNOWN).exists(), "the gate finds Torino"
    answer_chosen(
        release=masked, findings=list(own.values_list("pk", flat=True)[:1]), answer="replace", actor=world.mia
    )
    answer_chosen(release=masked, answer="allow", actor=world.mia)
    masked.refresh_from_db()
    read(planned(masked, note, world.mia), make.make_member(world.project, "reviewer", "rita"))
    answer_chosen(release=masked, answer="allow", actor=world.mia)
    masked.refresh_from_db()
    job = worked(start_release_export(release=masked, format="text", actor=world.mia))
    assert job.result["file_id"], job.error
    certificate = signed(masked, world.mia)

    surrogates = prepared(world, "surrogate")
    found = models.LeakFinding.objects.filter(note__release=surrogates)
    some = list(found.filter(note__document=note).values_list("pk", flat=True))
    answer_chosen(release=surrogates, findings=some[:1], answer="allow", actor=world.mia)
    assert found.filter(decision="").exists()
    assert models.ReleasedNote.objects.filter(release=surrogates, document=note).exists()
    return SimpleNamespace(masked=masked, surrogates=surrogates, certificate=certificate, export=job)
