import io
import zipfile
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotations.core.events import FILE_DOWNLOADED
from annotations.core.progress import silent
from annotations.core.stored_files import store_file
from annotations.gold.services.making import freeze, make_gold
from annotations.models import Category, Event, Label, StoredFile
from annotations.transfer.services.exporting import label_definitions, run_export
from tests import factories as make
from tests.worlds.checks import WORDS_OF_THE_NOTE, check_page

ROSSI = (0, 11, "PATIENT")
EXPORT = reverse("export", args=["covid"])


def file_url(pk: int, slug: str = "covid") -> str:
    return reverse("file_download", args=[slug, pk])


@pytest.fixture
def exported(world):
    """A frozen gold version of one note, and its brat export."""
    annotation_set = make.make_set(world.note, world.ann, [ROSSI], submitted=True)
    make_gold(document=world.note, annotation_set=annotation_set, actor=world.rev)
    freeze(project=world.project, actor=world.rev)
    report = run_export(
        project_id=world.project.pk, set_spec="gold:1", format="brat", actor_id=world.rev.pk, progress=silent
    )
    world.file = StoredFile.objects.get(pk=report["file_id"])
    return world


def test_the_form_offers_sets_formats_and_a_token(exported, sign_in):
    html = check_page(sign_in(exported.rev).get(EXPORT))
    assert reverse("job_start_export", args=["covid"]) in html
    assert "Gold version 1 (1 note," in html and "Current gold standard" in html
    assert '<option value="annotator:ann">ann</option>' in html
    assert 'name="token"' in html
    assert html.index('value="gold:1"') < html.index('value="gold"') < html.index('value="annotator:ann"')


def test_each_form_has_its_own_token(exported, sign_in):
    client = sign_in(exported.rev)
    tokens = {client.get(EXPORT).context["form"]["token"].value() for _ in range(2)}
    assert len(tokens) == 2


def test_set_and_format_can_be_preselected(exported, sign_in):
    client = sign_in(exported.rev)
    html = client.get(f"{EXPORT}?set=gold&format=conll").content.decode()
    assert '<option value="gold" selected>' in html
    assert '<option value="conll" selected>' in html
    html = check_page(client.get(f"{EXPORT}?set=nobody&format=pdf"))
    assert '<option value="gold:1" selected>' in html and "pdf" not in html


def test_ready_files_are_listed_until_they_expire(exported, sign_in):
    client = sign_in(exported.rev)
    assert file_url(exported.file.pk) in check_page(client.get(EXPORT))
    StoredFile.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    html = check_page(client.get(EXPORT))
    assert file_url(exported.file.pk) not in html and "No files yet" in html


def test_uploads_and_other_projects_files_are_not_listed(exported, sign_in):
    upload = store_file(project=exported.project, kind="upload", name="u.zip", content=io.BytesIO(b"u"), actor=None)
    foreign = store_file(project=exported.other, kind="export", name="o.zip", content=io.BytesIO(b"o"), actor=None)
    client = sign_in(exported.rev)
    html = check_page(client.get(EXPORT))
    assert "u.zip" not in html and "o.zip" not in html
    assert client.get(file_url(upload.pk)).status_code == 404
    assert client.get(file_url(foreign.pk)).status_code == 404
    assert not Event.objects.filter(verb=FILE_DOWNLOADED).exists()


def test_without_annotations_the_page_says_what_to_do(world, sign_in):
    html = check_page(sign_in(world.mia).get(EXPORT))
    assert "Nothing to export yet" in html and "<form" not in html.split("<main")[1]


# ── Downloads ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_download_is_the_file_and_an_event(exported, sign_in):
    response = sign_in(exported.mia).get(file_url(exported.file.pk))
    content = b"".join(response.streaming_content)
    assert response.status_code == 200
    assert response.headers["Content-Disposition"] == 'attachment; filename="covid-gold-1-brat.zip"'
    assert response.headers["Content-Type"] == "application/zip"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-store"
    assert int(response.headers["Content-Length"]) == len(content) == exported.file.size
    assert "caso-001.ann" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    event = Event.objects.get(verb=FILE_DOWNLOADED)
    assert (event.actor, event.project_id) == (exported.mia, exported.project.pk)
    assert not any(word in str(event.data) for word in WORDS_OF_THE_NOTE)


def test_file_names_cant_break_the_header(exported, sign_in):
    odd = store_file(
        project=exported.project,
        kind="export",
        name='a"b\r\nSet-Cookie: x=1;è.zip',
        content=io.BytesIO(b"x"),
        actor=None,
    )
    header = sign_in(exported.rev).get(file_url(odd.pk)).headers["Content-Disposition"]
    assert "\n" not in header and "\r" not in header and header.startswith("attachment; filename*=utf-8''")


def test_a_file_of_many_chunks_is_sent_whole(exported, sign_in):
    data = bytes(range(256)) * 10_000
    big = store_file(project=exported.project, kind="export", name="b.zip", content=io.BytesIO(data), actor=None)
    assert b"".join(sign_in(exported.rev).get(file_url(big.pk)).streaming_content) == data


def test_an_expired_file_gives_404_with_an_explanation(exported, sign_in):
    StoredFile.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    response = sign_in(exported.rev).get(file_url(exported.file.pk))
    assert response.status_code == 404
    assert "File no longer available" in check_page(response)
    assert not Event.objects.filter(verb=FILE_DOWNLOADED).exists()


def test_the_page_takes_few_queries(exported, sign_in, django_assert_max_num_queries):
    client = sign_in(exported.rev)
    for n in range(5):
        store_file(
            project=exported.project, kind="export", name=f"{n}.zip", content=io.BytesIO(b"x"), actor=exported.rev
        )
    client.get(EXPORT)
    # One query checks whether a run may be exported while planted leaks are hidden.
    with django_assert_max_num_queries(13):
        client.get(EXPORT)


def test_label_definitions_take_two_queries_however_many_categories_there_are(world, django_assert_num_queries):
    label_set = world.project.label_set
    for number in range(20):
        code = f"EXTRA_{number}"
        category = Category.objects.create(label_set=label_set, code=code, name=code, hue=0, position=number)
        Label.objects.create(
            label_set=label_set,
            category=category,
            code=f"EXTRA_LABEL_{number}",
            name=f"Extra label {number}",
            position=number,
        )
    with django_assert_num_queries(2):
        found = label_definitions(world.project)
    assert len(found.categories) >= 20 and all(category.labels for category in found.categories)
