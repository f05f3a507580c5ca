"""Objects to which addresses of routes lead, made only for the routes that need them."""

from annotations.domain.knowing.person import Person
from annotations.domain.redaction.kinds import Kind
from annotations.domain.redaction.released import Mention
from annotations.gold.services.making import freeze, make_gold
from annotations.known.services.lists import add_terms
from annotations.known.services.master import store_people
from annotations.models import (
    KnownPerson,
    KnownUpload,
    LeakFinding,
    ListedTerm,
    ReleasedNote,
    StoredFile,
    SurrogateEntity,
)
from annotations.surrogates.services.making import NoteMentions, surrogates_for
from annotations.transfer.services.staged import pack, stage_import
from tests.api.conftest import ApiWorld
from tests.deidreview.access_world import certified
from tests.factories import make_set
from tests.worlds.audited import make_release, planned, read_one


def objects_of(world: ApiWorld, path: str) -> dict[str, object]:
    """What the address `path` of releases, files and gold names, by the name of the parameter."""
    found: dict[str, object] = {}
    if "/files/" in path:
        stored = StoredFile.objects.create(
            project=world.project, kind=StoredFile.Kind.EXPORT, name="brat.zip", expires_at="2099-01-01T00:00:00Z"
        )
        found["file"] = stored.pk
    if "/releases" in path:
        found |= _release(world, path)
    for part, make in MAKERS.items():
        if part in path:
            found |= make(world)
    return found


def _gold(world: ApiWorld) -> dict[str, object]:
    held = make_set(world.note, world.manager, [(0, 11, "PATIENT")], submitted=True)
    make_gold(document=world.note, annotation_set=held, actor=world.manager)
    return {"version": freeze(project=world.project, actor=world.manager)[0].number}


def _entity(world: ApiWorld) -> dict[str, object]:
    mention = Mention(0, 11, "PATIENT", Kind.NAME, world.note.text[:11])
    note = NoteMentions(world.note.pk, "", "it", world.note.text, [mention])
    surrogates_for(project=world.project, notes=[note])
    return {"entity": SurrogateEntity.objects.get(project=world.project).pk}


def _known(world: ApiWorld) -> dict[str, object]:
    people = {"P-1": Person(given=("Anna",))}
    store_people(project=world.project, people=people, problems=0, actor=world.manager)
    add_terms(project=world.project, kind="allow", terms=["Villa Verde"], actor=world.manager)
    upload = KnownUpload.objects.create(project=world.project, format="csv", sealed=b"", created_by=world.manager)
    return {
        "known_person": KnownPerson.objects.get(project=world.project).pk,
        "known_upload": upload.pk,
        "term": ListedTerm.objects.get(project=world.project).pk,
    }


def _import(world: ApiWorld) -> dict[str, object]:
    row = stage_import(
        project=world.project, name="a.zip", content=pack([("a.txt", b"Anna")]), format="text", written_as="",
        language="", take_duplicates=False, actor=world.manager,
    )  # fmt: skip
    return {"import_id": row.pk}


def _archive(world: ApiWorld) -> dict[str, object]:
    kinds = {"archive": StoredFile.Kind.ARCHIVE, "archive_upload": StoredFile.Kind.UPLOAD}
    return {
        name: StoredFile.objects.create(project=world.project, kind=kind, name="archive.zip").pk
        for name, kind in kinds.items()
    }


MAKERS = {
    "/versions/": _gold,
    "{int:entity}": _entity,
    "/known/": _known,
    "{int:import_id}": _import,
    "{int:archive": _archive,
}


def _release(world: ApiWorld, path: str) -> dict[str, object]:
    """A release with a finding and an audit in which the manager reads a note; or one with a certificate."""
    release = make_release(world.project, notes=2)
    note = ReleasedNote.objects.filter(release=release).order_by("pk")[0]
    found: dict[str, object] = {"release": release.number, "policy": "mask", "note": note.document_id}
    if "{int:certificate}" in path:
        certificate = certified(world.project)
        return found | {"release": certificate.release.number, "certificate": certificate.number}
    if "/audit/" in path:
        read = read_one(planned(release), world.manager, "Bianchi")
        return found | {"mark": read.marks.get().pk}
    LeakFinding.objects.create(
        note=note, start=11, end=13, original_start=13, original_end=15, origin="note", string_key=7, label="AGE"
    )
    return found
