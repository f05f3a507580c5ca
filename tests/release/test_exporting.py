"""Exports by a job: stored files, what is refused, and what a withdrawal deletes."""

import json

import pytest
from django.urls import reverse

from annotations.core.stored_files import open_stored
from annotations.models import Event, Job, JobState, Release, ReleaseState, StoredFile
from annotations.ops.services.erasing import delete_note
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.exporting import start_release_export, withdraw
from annotations.release.services.files import RELEASE_FORMATS
from annotations.release.services.policies import policy_named
from annotations.release.services.starting import start_release
from tests import factories as make
from tests.held import made_once
from tests.release.conftest import add_note, make_ward
from tests.worlds.checks import check_page, refused
from tests.worlds.queue import worked
from tests.worlds.released import make_release
from tests.zips import unzipped

pytestmark = pytest.mark.usefixtures("no_redis")


def make_held():
    """The ward with a prepared release of it, which holds one note back."""
    ward = make_ward()
    add_note(ward.project, "en-3", "«Nora Quimby|PATIENT» is well. Quimby slept.\n", language="en")
    ward.release = make_release(ward.project, ward.manager)
    return ward


made, ward = made_once(make_held)


@pytest.fixture
def release(ward):
    return ward.release


def exported(release, actor, format="text", **options):
    return worked(start_release_export(release=release, format=format, actor=actor, **options))


@pytest.mark.parametrize("format", RELEASE_FORMATS)
def test_the_file_expires_and_names_nothing_of_the_project(release, ward, format):
    job = exported(release, ward.manager, format, leave_out=True)
    stored = StoredFile.objects.get(pk=job.result["file_id"])
    assert (stored.kind, stored.name) == ("release", f"release-1-{format}.zip") and stored.expires_at
    files = unzipped(open_stored(stored))
    named = {row["name"] for row in json.loads(files["release.json"])["files"]}
    assert named == files.keys() - {"release.json", "release.json.sig"} and b"Quimby" not in b"".join(files.values())
    event = Event.objects.get(verb="release.exported")
    assert (event.actor, event.data["format"], event.data["notes"]) == (ward.manager, format, 4)


def test_deleting_a_note_deletes_stored_exports_and_later_ones_lack_it(release, ward):
    exported(release, ward.manager, leave_out=True)
    delete_note(project=ward.project, note=ward.notes["en-1"].pk, actor=None)
    assert not StoredFile.objects.exists()
    release.refresh_from_db()
    job = exported(release, ward.manager, leave_out=True)
    release.refresh_from_db()
    assert (job.result["notes"], release.erased_count) == (3, 1)
    assert release.content_hash == job.result["content_hash"] != ""


def test_a_decision_during_an_export_stores_nothing(release, ward, monkeypatch):
    from annotations.release.services import exporting

    write = exporting.write_zip

    def deciding(*args):
        write(*args)
        answer_chosen(release=Release.objects.get(), answer="replace", actor=None)

    monkeypatch.setattr(exporting, "write_zip", deciding)
    job = exported(release, ward.manager, leave_out=True)
    assert job.state == "failed" and "decided during the export" in job.error and not StoredFile.objects.exists()


def test_withdrawing_deletes_exports_and_keeps_the_texts(release, ward, sign_in):
    job = exported(release, ward.manager, leave_out=True)
    queued = start_release_export(release=release, format="csv", actor=ward.manager, leave_out=True)
    withdraw(release=release, actor=ward.manager)
    withdraw(release=release, actor=ward.manager)
    assert make.reread(release).state == ReleaseState.WITHDRAWN and release.notes.count() == 5
    assert not StoredFile.objects.exists() and Job.objects.get(pk=queued.pk).state == JobState.CANCELED
    assert Event.objects.get(verb="release.withdrawn").data == {"release": 1, "files": 1}
    client = sign_in(ward.manager)
    for name, pk in (("job", job.number), ("file_download", job.result["file_id"])):
        html = check_page(client.get(reverse(name, args=["ward", pk])))
        assert "Release 1 was withdrawn." in html and "expired" not in html and "Start the export again" not in html
    for state in ("preparing", "withdrawn"):
        Release.objects.update(state=state)
        release.refresh_from_db()
        with refused("state"):
            start_release_export(release=release, format="text", actor=ward.manager, leave_out=True)


def test_a_release_that_is_withdrawn_while_it_is_prepared(ward):
    policy = policy_named(ward.project, "mask")
    release = start_release(project=ward.project, set_spec="gold", policy=policy, actor=ward.manager, keep_names=True)
    withdraw(release=release, actor=ward.manager)
    worked(release)
    assert release.state == ReleaseState.WITHDRAWN and Job.objects.get(pk=release.job_id).state == JobState.CANCELED


def test_only_managers_see_and_download_the_file(release, ward, sign_in):
    """A released text beside the one that an auditor reads would show which leaks are planted."""
    file = exported(release, ward.manager, leave_out=True).result["file_id"]
    path = reverse("file_download", args=[ward.project.slug, file])
    reviewer = sign_in(make.make_member(ward.project, "reviewer", "rev"))
    assert [sign_in(ward.manager).get(path).status_code, reviewer.get(path).status_code] == [200, 404]
    assert "release-1-" not in reviewer.get(reverse("export", args=[ward.project.slug])).content.decode()
