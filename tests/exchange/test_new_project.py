"""A new project in one path: name, notes and labels; people; the pilot, or the manager alone."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Assignment, Import, Job, Label, Project, User
from annotations.projects.services.assigning import PILOT, assign_new_notes
from annotations.release.services.policies import labels_without_kind
from tests import factories as make
from tests.worlds.checks import check_page

ADD = reverse("project_new")
NEW = {"name": "Ward seven", "label_set": "i2b2-2014", "format": "auto"}


@pytest.fixture
def ward(world):
    """A project of mia with more notes than a pilot has, before anybody was added."""
    project = make.make_project("ward", distribution="list")
    make.make_member(project, "manager", world.mia)
    for n in range(PILOT + 2):
        make.make_note(project, "Anna", f"n{n:02}")
    return project


def create(client, files=(), **data):
    sent = [SimpleUploadedFile(name, text) for name, text in dict(files).items()]
    return client.post(ADD, NEW | ({"files": sent} if sent else {}) | data)


def test_plain_notes_are_imported_at_once_and_people_come_next(mia):
    assert create(mia, {"a.txt": b"Anna Neri", "b.txt": b"Luis"}).url == "/projects/ward-seven/people/"
    work(Job.objects.get().pk)
    assert (
        Project.objects.get(name="Ward seven").documents.count() == 2
        and not Assignment.objects.filter(project__slug__in=["ward", "ward-seven"]).exists()
    )


def test_spans_lead_to_the_question_whose_they_are(mia):
    row_page = create(mia, {"a.txt": b"Anna Neri", "a.ann": b"T1\tPATIENT 0 4\tAnna\n"}).url
    row = Import.objects.get()
    assert row_page == reverse("import_preview", args=["ward-seven", row.pk]) and row.written_as == ""
    assert row_page in check_page(mia.get("/projects/ward-seven/")), "an upload that waits is the next step"
    start = reverse("job_start_import", args=["ward-seven", row.pk])
    assert mia.post(start, {"annotations": "run", "run": ""}).url == row_page
    assert mia.post(start, {"annotations": "run", "run": "old"}).url == "/projects/ward-seven/people/"
    work(Job.objects.get().pk)
    assert AnnotationSet.objects.get().author.name == "old"


def test_files_that_are_refused_create_no_project(mia):
    assert "errorlist" in check_page(create(mia, {"a.zip": b"no zip"}))
    assert not Project.objects.filter(name="Ward seven").exists()


def test_own_labels_have_the_type_of_what_they_identify(mia):
    lines = "Case number = id\nJudge = Staff member\nDate\n"
    assert create(mia, label_set="own", own_labels=lines).status_code == 302
    found = Label.objects.filter(label_set__key="own").values_list("name", "identifier")
    assert list(found) == [("Case number", "id"), ("Judge", "staff"), ("Date", "date")]
    assert labels_without_kind(Project.objects.get(name="Ward seven")) == []
    for lines, words in (
        ("Court", "Line 1: Say what “Court” identifies"), ("Date\nDATE = id", "same name"), ("", "at least"),
    ):  # fmt: skip
        assert words in check_page(create(mia, name="Other", label_set="own", own_labels=lines))
    assert create(mia, name="Third", label_set="empty").status_code == 302


def test_pasted_people_get_links_or_nobody_is_added(mia, ward):
    page = reverse("people", args=["ward"])
    html = check_page(mia.post(page, {"username": "Ada Conti\nben@x.org\nann", "account": "new", "role": "annotator"}))
    assert "Line 3" in html and "is taken" in html and not User.objects.filter(username="ada.conti").exists()
    html = check_page(mia.post(page, {"username": "Ada Conti\n\nben@x.org\n", "account": "new", "role": "annotator"}))
    assert html.count("/accounts/password/reset/key/") == 2 and "ada.conti: http" in html
    assert User.objects.get(username="ada.conti").get_full_name() == "Ada Conti"
    assert not Assignment.objects.filter(project__slug__in=["ward", "ward-seven"]).exists(), "the pilot comes first"


def test_a_pilot_gives_all_annotators_the_same_notes_once(mia, ward):
    begin = reverse("begin_annotating", args=["ward"])
    assert "two annotators" in check_page(mia.post(begin, {"do": "pilot"}, follow=True))
    people = [make.make_member(ward, user=name) for name in ("una", "due")]
    for _ in range(2):
        assert (
            'value="pilot"' in mia.get("/projects/ward/").text
            or Assignment.objects.filter(project__slug__in=["ward", "ward-seven"]).exists()
        )
        mia.post(begin, {"do": "pilot"})
    notes = [set(Assignment.objects.filter(user=user).values_list("document", flat=True)) for user in people]
    assert notes[0] == notes[1] and len(notes[0]) == PILOT
    mia.post(begin, {"do": "all"})
    assert Assignment.objects.filter(project=ward).count() == 2 * (PILOT + 2)


def test_a_manager_alone_annotates_but_never_blind(mia, ward, world):
    mia.post(reverse("begin_annotating", args=["ward"]), {"do": "alone"})
    ward.refresh_from_db()
    assert ward.is_alone and set(Assignment.objects.filter(project=ward).values_list("user", flat=True)) == {
        world.mia.pk
    }
    late = make.make_note(ward, "Luis", "late")
    assert assign_new_notes(project=ward, notes=[late.pk]) == 1
    html = check_page(mia.get("/projects/ward/"))
    assert reverse("next_note", args=["ward"]) in html and "Measure agreement" not in html
    mia.post(reverse("submit", args=["ward", late.pk]))
    made = AnnotationSet.objects.get(document=late)
    assert (made.state, made.blind) == ("submitted", False)
