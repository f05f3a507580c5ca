import io
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotations.core.services import FILE_DOWNLOADED, ServiceError, silent
from annotations.core.stored_files import store_file
from annotations.exchange.services.exporting import export_to_path, run_export
from annotations.exchange.services.importing import import_path
from annotations.gold.services.making import freeze, make_gold
from annotations.models import Event, StoredFile
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import WORDS_OF_THE_NOTE, check_page
from tests.worlds.pages import make_world
from tests.zips import unzipped

EXPORT = reverse("export", args=["covid"])


def file_url(pk: int) -> str:
    return reverse("file_download", args=["covid", pk])


def make_export():
    """A frozen gold version of one note, and its brat export."""
    world = make_world()
    annotation_set = make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    make_gold(document=world.note, annotation_set=annotation_set, actor=world.rev)
    freeze(project=world.project, actor=world.rev)
    report = run_export(
        project_id=world.project.pk, set_spec="gold:1", format="brat", actor_id=world.rev.pk, progress=silent
    )
    world.file = StoredFile.objects.get(pk=report["file_id"])
    return world


made, exported = made_once(make_export)


@pytest.fixture
def rev(exported, sign_in):
    return sign_in(exported.rev)


def store(project, data=b"x", name="a.zip", kind="export"):
    return store_file(project=project, kind=kind, name=name, content=io.BytesIO(data), actor=None)


def test_notes_have_file_names_that_every_system_holds(exported, tmp_path):
    project = exported.project
    names = {"12:30", "Con", "CASO-1", "caso-1", "-1 + 1."}
    for name in sorted(names):
        note = make.make_note(project, f"Anna {name}", name)
        make.make_set(note, exported.ann, [(0, 4, "PATIENT")], submitted=True)
    for format in ("brat", "csv", "doccano"):
        out = tmp_path / format
        export_to_path(project=project, out=out, format=format, set_spec="annotator:ann")
        files = {path.name for path in out.iterdir()}
        assert ("names.csv" in files) is (format != "doccano")
        other = make.make_project(f"again-{format}")
        report = import_path(project=other, path=out, format=format)
        assert names <= set(other.documents.values_list("name", flat=True)) and not report["refused"]
        if format != "doccano":
            assert {"12_30.txt", "_Con.txt", "CASO-1.txt", "caso-1~2.txt", "-1 + 1_.txt"} <= files
    (tmp_path / "csv/names.csv").write_bytes(b"a,b\n1,2,3\n")
    with pytest.raises(ServiceError):
        import_path(project=project, path=tmp_path / "csv", format="csv")


def test_the_form_offers_sets_formats_and_a_token(rev):
    response = rev.get(EXPORT)
    html = check_page(response)
    assert reverse("job_start_export", args=["covid"]) in html
    assert html.index('value="gold:1"') < html.index('value="gold"') < html.index('value="annotator:ann"')
    assert '<option value="spacy">' in html and 'name="sentences"' in html and 'name="spaced"' in html
    tokens = [each.context["form"]["token"].value() for each in (response, rev.get(EXPORT))]
    assert all(tokens) and tokens[0] != tokens[1]
    html = rev.get(f"{EXPORT}?set=gold&format=conll").text
    assert '<option value="gold" selected>' in html and '<option value="conll" selected>' in html
    html = check_page(rev.get(f"{EXPORT}?set=nobody&format=pdf"))
    assert '<option value="gold:1" selected>' in html and "pdf" not in html


def test_without_annotations_the_page_has_no_form(exported, sign_in):
    assert "<form" not in check_page(sign_in(exported.out).get(reverse("export", args=["other"]))).split("<main")[1]


def test_ready_files_are_listed_until_they_expire(exported, rev):
    assert file_url(exported.file.pk) in check_page(rev.get(EXPORT))
    StoredFile.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert file_url(exported.file.pk) not in check_page(rev.get(EXPORT))
    response = rev.get(file_url(exported.file.pk))
    assert response.status_code == 404 and "no longer available" in check_page(response)
    assert not Event.objects.filter(verb=FILE_DOWNLOADED).exists()


def test_uploads_and_other_projects_files_are_not_listed(exported, rev):
    upload, foreign = store(exported.project, name="u.zip", kind="upload"), store(exported.other, name="o.zip")
    html = check_page(rev.get(EXPORT))
    assert "u.zip" not in html and "o.zip" not in html
    assert rev.get(file_url(upload.pk)).status_code == rev.get(file_url(foreign.pk)).status_code == 404
    assert not Event.objects.filter(verb=FILE_DOWNLOADED).exists()


def test_a_download_is_the_file_and_an_event(exported, sign_in):
    response = sign_in(exported.mia).get(file_url(exported.file.pk))
    content = b"".join(response.streaming_content)
    headers = {
        "Content-Disposition": 'attachment; filename="covid-gold-1-brat.zip"', "Content-Type": "application/zip",
        "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Length": str(len(content)),
    }  # fmt: skip
    assert {name: response.headers[name] for name in headers} == headers
    assert len(content) == exported.file.size
    assert "caso-001.ann" in unzipped(content)
    event = Event.objects.get(verb=FILE_DOWNLOADED)
    assert (event.actor, event.project_id) == (exported.mia, exported.project.pk)
    assert not any(word in str(event.data) for word in WORDS_OF_THE_NOTE)


def test_a_file_of_many_chunks_and_an_odd_name(exported, rev):
    data = bytes(range(256)) * 10_000
    response = rev.get(file_url(store(exported.project, data, 'a"b\r\nSet-Cookie: x=1;è.zip').pk))
    assert b"".join(response.streaming_content) == data
    header = response.headers["Content-Disposition"]
    assert "\n" not in header and "\r" not in header and header.startswith("attachment; filename*=utf-8''")
