"""Pages of project archives: exporting one, and importing one with its people confirmed."""

import io

import pytest
from django.urls import reverse

from annotations.archives.services.reading import import_archive
from annotations.core.events import FILE_DOWNLOADED
from annotations.jobs.runner import run
from annotations.models import Document, Event, Job, Membership, Project, StoredFile, User
from annotations.projects.services.archiving import archive_project
from tests import factories as make
from tests.archives.archived_world import archive_of, changed, files_of, full_project
from tests.worlds.checks import check_page
from tests.worlds.pages import sign_in

__all__ = ["sign_in"]
pytestmark = pytest.mark.django_db(transaction=True)
EXPORT, START = (reverse(name, args=["covid"]) for name in ("archive_export", "archive_start"))
IMPORT = reverse("archive_import")


@pytest.fixture
def world():
    return full_project()


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)


def upload(client, archive, **fields):
    file = io.BytesIO(archive)
    file.name = "covid-archive.zip"
    return client.post(IMPORT, {"archive": file, **fields})


def job_of(response):
    slug, number = response.url.strip("/").split("/")[1], response.url.strip("/").split("/")[-1]
    return Job.objects.get(project__slug=slug, number=number)


def test_a_manager_exports_and_downloads_an_archive(world, mia):
    assert "No archives yet" in check_page(mia.get(EXPORT))
    job = job_of(mia.post(START, {"token": "t1"}))
    assert job_of(mia.post(START, {"token": "t1"})) == job
    run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    assert "Project archive" in check_page(mia.get(reverse("job", args=["covid", job.number])))
    stored = StoredFile.objects.get(kind=StoredFile.Kind.ARCHIVE)
    url = reverse("archive_file", args=["covid", stored.pk])
    assert url in check_page(mia.get(EXPORT))
    content = b"".join(mia.get(url).streaming_content)
    ours, fresh = files_of(content), files_of(archive_of(world.project))
    assert {name: ours[name] for name in ours if name != "manifest.json"} == {
        name: fresh[name] for name in fresh if name != "manifest.json"
    }
    assert Event.objects.filter(verb=FILE_DOWNLOADED, actor=world.mia).exists()
    assert Event.objects.get(verb="archive.written").data["notes"] == 9


def test_a_reviewer_gets_no_archive_by_the_page_of_exports(world, mia, sign_in):
    run(job_of(mia.post(START)).pk)
    stored = StoredFile.objects.get(kind=StoredFile.Kind.ARCHIVE)
    rita = sign_in(world.rita)
    assert rita.get(reverse("archive_file", args=["covid", stored.pk])).status_code == 403
    assert rita.get(reverse("file_download", args=["covid", stored.pk])).status_code == 404
    assert stored.name not in rita.get(reverse("export", args=["covid"])).content.decode()


def test_an_archived_project_can_still_be_exported(world, mia):
    archive_project(project=world.project, actor=world.mia)
    assert "Export as a project archive" in check_page(mia.get(reverse("project_settings", args=["covid"])))
    job = job_of(mia.post(START))
    run(job.pk)
    job.refresh_from_db()
    assert job.state == "done"


def test_erasing_a_patient_deletes_stored_archives(world, mia):
    from annotations.ops.services.erasing import erase_patient

    run(job_of(mia.post(START)).pk)
    erase_patient(project=world.project, patient_id="P-2", actor=world.mia)
    assert not StoredFile.objects.filter(kind=StoredFile.Kind.ARCHIVE).exists()


def test_an_archive_is_imported_once_its_people_are_confirmed(world, mia):
    archive = archive_of(world.project)
    User.objects.filter(username="rosa").update(username="rosina")
    assert "Import a project archive" in check_page(mia.get(reverse("project_new")))
    check_page(mia.get(IMPORT))
    response = upload(mia, archive, slug="copy")
    page = check_page(mia.get(response.url))
    assert "existing account anna" in page and "new, inactive account" in page
    assert not Document.objects.filter(project__slug="copy").exists(), "nothing is imported before"
    job = job_of(mia.post(response.url))
    assert job_of(mia.post(response.url)) == job
    run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    assert job.result["notes"] == 9 and job.result["accounts"] == 1
    check_page(mia.get(reverse("job", args=["copy", job.number])))
    copy = Project.objects.get(slug="copy")
    assert not User.objects.get(username="rosa").is_active
    assert not StoredFile.objects.filter(project=copy).exists(), "the upload is deleted"
    roles = dict(Membership.objects.filter(project=copy).values_list("user__username", "role"))
    assert (roles["mia"], roles["anna"], roles["rosa"]) == ("manager", "annotator", "reviewer")
    for name in ("project", "notes", "labels", "people", "gold", "guidelines", "project_settings", "agreement"):
        check_page(mia.get(reverse(name, args=["copy"])))
    assert mia.post(response.url).status_code == 404


def test_a_failed_import_leaves_nothing(world, mia):
    archive = changed(archive_of(world.project), "flags.jsonl", b"{}\n")
    response = upload(mia, archive, slug="copy")
    job = job_of(mia.post(response.url))
    run(job.pk)
    job.refresh_from_db()
    assert job.state == "failed" and job.error.startswith("flags.jsonl, line 1: The row lacks “note”.")
    copy = Project.objects.get(slug="copy")
    assert not copy.documents.exists() and not copy.authors.exists() and not copy.stored_files.exists()
    check_page(mia.get(reverse("project", args=["copy"])))


def test_uploads_that_are_no_archive_are_refused(world, mia):
    for archive, message in ((b"no", "not a ZIP"), (archive_of(world.project), "already exists")):
        response = upload(mia, archive)
        assert response.status_code == 422 and message in check_page(response)
    assert Project.objects.count() == 1


def test_a_filled_project_takes_no_archive(world, mia):
    response = upload(mia, archive_of(world.project), slug="copy")
    make.make_note(Project.objects.get(slug="copy"))
    assert mia.post(response.url).url == reverse("project", args=["copy"])
    assert not Job.objects.filter(kind="archive_import").exists()


def test_somebody_without_a_project_can_t_import(sign_in):
    nobody = sign_in(make.make_user("nobody"))
    assert nobody.get(IMPORT).status_code == 403
    assert upload(nobody, b"PK").status_code == 403


def test_a_copy_is_worked_on_page_by_page(world, mia):
    import_archive(file=io.BytesIO(archive_of(world.project)), slug="copy")
    copy = Project.objects.get(slug="copy")
    run_author = copy.authors.get(name="rules-1")
    for note in copy.documents.all():
        check_page(mia.get(reverse("note", args=["copy", note.pk])))
        assert mia.get(reverse("review", args=["copy", run_author.pk, note.pk])).status_code in (200, 302, 404)
        assert mia.get(reverse("adjudicate", args=["copy", note.pk])).status_code in (200, 302, 404)
    version = copy.gold_versions.get()
    check_page(mia.get(reverse("gold_version", args=["copy", version.number])))
