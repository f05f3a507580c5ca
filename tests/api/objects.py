"""Objects to which addresses of routes lead, made only for the routes that need them."""

from annotations.models import LeakFinding, ReleasedNote, StoredFile
from tests.api.conftest import ApiWorld
from tests.deidreview.access_world import certified
from tests.worlds.audited import make_release, planned, read_one


def released_objects(world: ApiWorld, path: str) -> dict[str, object]:
    """What the address `path` of releases, files and gold names, by the name of the parameter."""
    found: dict[str, object] = {}
    if "/files/" in path:
        stored = StoredFile.objects.create(
            project=world.project, kind=StoredFile.Kind.EXPORT, name="brat.zip", expires_at="2099-01-01T00:00:00Z"
        )
        found["file"] = stored.pk
    if "/releases" in path:
        found |= _release(world, path)
    return found


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
