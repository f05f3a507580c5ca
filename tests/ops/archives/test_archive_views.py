"""Pages of project archives: exporting one, and importing one with its people confirmed."""

import io

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotations import models
from annotations.core.services import FILE_DOWNLOADED
from annotations.formats.files.archives import is_archive
from annotations.jobs.runner import run
from annotations.models import Import, Project
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.members import add_member
from annotations.projects.services.projects import archive_project, restore_project
from tests import factories as make
from tests.ops.archives.archived_world import archive_of, changed, full_project
from tests.worlds.checks import check_page
from tests.worlds.commands import printed, told
from tests.worlds.pages import mia, sign_in
from tests.worlds.programs import Program
from tests.zips import unzipped, zipped

__all__ = ["mia", "sign_in"]
pytestmark = pytest.mark.django_db(transaction=True)
EXPORT, START = (reverse(name, args=["covid"]) for name in ("archive_export", "archive_start"))
IMPORT = reverse("archive_import")


@pytest.fixture
def world():
    return full_project()


def upload(client, archive, **fields):
    file = io.BytesIO(archive)
    file.name = "covid-archive.zip"
    return client.post(IMPORT, {"archive": file, **fields})


def job_of(response):
    slug, number = response.url.strip("/").split("/")[1], response.url.strip("/").split("/")[-1]
    return models.Job.objects.get(project__slug=slug, number=number)


def test_a_manager_exports_and_downloads_an_archive(world, mia, sign_in):
    archive_project(project=world.project, actor=world.mia)
    assert EXPORT in check_page(mia.get(reverse("project_settings", args=["covid"])))
    check_page(mia.get(EXPORT))
    response = mia.post(START, {"token": "t1"})
    assert job_of(mia.post(START, {"token": "t1"})) == job_of(response)
    job = done(response)
    assert (job.state, job.error) == ("done", "")
    check_page(mia.get(reverse("job", args=["covid", job.number])))
    stored = models.StoredFile.objects.get(kind=models.StoredFileKind.ARCHIVE)
    url = reverse("archive_file", args=["covid", stored.pk])
    assert url in check_page(mia.get(EXPORT))
    ours, fresh = unzipped(b"".join(mia.get(url).streaming_content)), unzipped(archive_of(world.project))
    assert ours.pop("manifest.json") and fresh.pop("manifest.json") and ours == fresh
    assert models.Event.objects.filter(verb=FILE_DOWNLOADED, actor=world.mia).exists()
    assert models.Event.objects.get(verb="archive.written").data["notes"] == 9
    # A reviewer gets none, not by the page of exports either, and nobody once a patient is erased.
    rita = sign_in(world.rita)
    assert rita.get(url).status_code == 403
    assert rita.get(reverse("file_download", args=["covid", stored.pk])).status_code == 404
    assert stored.name not in rita.get(reverse("export", args=["covid"])).content.decode()
    restore_project(project=world.project, actor=world.mia)
    erase_patient(project=world.project, patient_id="P-2", actor=world.mia)
    assert not models.StoredFile.objects.filter(kind=models.StoredFileKind.ARCHIVE).exists()


def test_an_archive_is_imported_once_its_people_are_confirmed(world, mia):
    archive = archive_of(world.project)
    models.User.objects.filter(username="rosa").update(username="rosina")
    assert IMPORT in check_page(mia.get(reverse("project_new")))
    check_page(mia.get(IMPORT))
    response = upload(mia, archive, slug="copy")
    page = check_page(mia.get(response.url))
    assert "no account with this name" in page and " anna " in page
    assert not models.Document.objects.filter(project__slug="copy").exists(), "nothing is imported before"
    begun = mia.post(response.url)
    assert job_of(mia.post(response.url)) == job_of(begun)
    job = done(begun)
    assert (job.state, job.error, job.result["notes"], job.result["accounts"]) == ("done", "", 9, 6)
    check_page(mia.get(reverse("job", args=["copy", job.number])))
    copy = models.Project.objects.get(slug="copy")
    assert not models.User.objects.get(username="rosa (imported)").is_active
    assert not models.StoredFile.objects.filter(project=copy).exists(), "the upload is deleted"
    roles = dict(models.Membership.objects.filter(project=copy).values_list("user__username", "role"))
    assert roles == {"mia": "manager"}, "nobody becomes a member by the act of somebody else"
    assert mia.post(response.url).status_code == 404
    for name in ("project", "notes", "labels", "people", "gold", "guidelines", "project_settings", "agreement"):
        check_page(mia.get(reverse(name, args=["copy"])))
    run_author = copy.authors.get(name="rules-1")
    for note in copy.documents.all():
        check_page(mia.get(reverse("note", args=["copy", note.pk])))
        assert mia.get(reverse("review", args=["copy", run_author.pk, note.pk])).status_code in (200, 302, 404)
        assert mia.get(reverse("adjudicate", args=["copy", note.pk])).status_code in (200, 302, 404)
    check_page(mia.get(reverse("gold_version", args=["copy", copy.gold_versions.get().number])))


def test_people_take_over_their_own_imported_work(world, mia, sign_in):
    """Only they can, before they begin to work in the copy; afterwards it is theirs, and they continue it."""
    done(mia.post(upload(mia, archive_of(world.project), slug="copy").url))
    copy, url = models.Project.objects.get(slug="copy"), reverse("archive_claim", args=["copy"])
    anna = sign_in(world.anna)
    assert anna.get(url).status_code == 404, "she is no member yet"
    for person, role in ((world.anna, "annotator"), (world.bruno, "annotator"), (world.rita, "reviewer")):
        add_member(project=copy, user=person, role=role, actor=world.mia)
    assert url in anna.get(reverse("project", args=["copy"])).content.decode()
    check_page(anna.get(url))
    assert anna.post(url).status_code == 302 and anna.get(url).status_code == 404
    others = models.AnnotationSet.objects.filter(author__project=copy).exclude(author__user=world.anna)
    assert others.exists() and not others.filter(imported_by=None).exists(), (
        "also gold and runs say that they are imported"
    )
    assert not models.AnnotationSet.objects.filter(author__project=copy, author__user=world.anna).exclude(
        imported_by=None
    )
    check_page(mia.get(reverse("import", args=["copy"])))
    check_page(mia.get(reverse("import_preview", args=["copy", others.first().imported_by_id])))
    assert copy.authors.get(user=world.anna).name == "anna" and not copy.authors.filter(name="anna (imported)").exists()
    before = models.AnnotationSet.objects.filter(author__project=world.project, author__user=world.anna)
    after = models.AnnotationSet.objects.filter(author__project=copy, author__user=world.anna)
    states = [sorted(rows.values_list("document__name", "state")) for rows in (before, after)]
    assert states[0] == states[1]
    assert models.Comment.objects.filter(document__project=copy, author=world.anna).exists()
    assert models.Event.objects.get(verb="archive.claimed").data == {"sets": before.count()}
    # Who has begun keeps both apart. Rita did no annotations, so there is nothing to take over.
    make.make_set(copy.documents.get(name="review-4"), world.bruno)
    assert Program(world.bruno).post("/projects/copy/imported-work").status_code == 409
    assert Program(world.rita).post("/projects/copy/imported-work").status_code == 404


def done(response):
    job = job_of(response)
    run(job.pk)
    return make.reread(job)


def test_a_failed_or_refused_import_leaves_nothing(world, mia):
    archive = archive_of(world.project)
    for wrong in (b"no", archive):  # no ZIP, and a short name that is taken
        response = upload(mia, wrong)
        assert response.status_code == 422
        check_page(response)
    assert models.Project.objects.count() == 1
    job = done(mia.post(upload(mia, changed(archive, "flag.jsonl", b"{}\n"), slug="copy").url))
    assert job.state == "failed" and job.error.startswith("flag.jsonl, line 1: ")
    copy = models.Project.objects.get(slug="copy")
    assert not copy.documents.exists() and not copy.authors.exists() and not copy.stored_files.exists()
    check_page(mia.get(reverse("project", args=["copy"])))
    # A filled project takes no archive.
    response = upload(mia, archive, slug="third")
    make.make_note(models.Project.objects.get(slug="third"))
    assert mia.post(response.url).url == reverse("project", args=["third"])
    assert not models.Job.objects.filter(kind="archive_import", project__slug="third").exists()


# Archives as a format of the commands for exports and imports, and on the page for imports


def test_a_project_moves_with_archive_as_the_format(tmp_path, sign_in):
    world = full_project()
    out = tmp_path / "covid.zip"
    assert printed("export_documents", "covid", out, "--format", "archive").startswith(f"file: {out}\n")
    assert "project: copy\n" in printed("import_documents", "copy", out)
    moved = told("import_documents", "second", out, "--format", "archive")
    assert (moved["project"], Project.objects.filter(slug__in=["copy", "second"]).count()) == ("second", 2)
    export = ("export_documents", "covid", tmp_path / "x.zip", "--format")
    for words, message in (
        (("import_documents", "covid", out), "“covid” already exists"),
        (("import_documents", "third", out, "--as", "gold", "--language", "it"), "--as, --language"),
        ((*export, "archive", "--set", "gold", "--sentences"), "--set, --sentences"),
        ((*export, "brat"), "which annotations to export"),
    ):
        with pytest.raises(CommandError, match=message):
            printed(*words)
    assert not Project.objects.filter(slug="third").exists()
    # The page for imports says where archives are imported.
    form = {"do": "files", "format": "auto", "annotations": "none", "files": out.open("rb")}
    answer = sign_in(world.mia).post(reverse("import", args=["covid"]), form)
    assert answer.status_code == 422 and "a project of its own" in answer.content.decode()
    assert not Import.objects.filter(stored_file__name="covid.zip").exists()


def test_other_files_are_no_archives():
    for data in (b"", b"PK", zipped([("a.txt", b"")]), zipped([("manifest.json", b"[")])):
        assert not is_archive(io.BytesIO(data))
