import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotations.core.errors import ServiceError
from annotations.core.events import FILE_DOWNLOADED
from annotations.core.progress import silent
from annotations.core.stored_files import store_file
from annotations.core.tokenizers import KINDS, TokenizerKind
from annotations.exchange.services.exporting import export_to_path, run_export
from annotations.exchange.services.importing import import_files, import_path
from annotations.gold.services.making import freeze, make_gold
from annotations.jobs.runner import run as work
from annotations.models import Document, Event, Job, JobState, StoredFile
from annotations.text.tokens import Token
from tests import factories as make
from tests.exchange.brat_files import files_of, spans_of
from tests.held import fresh
from tests.worlds.checks import WORDS_OF_THE_NOTE, check_page
from tests.worlds.pages import make_world

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


@pytest.fixture(scope="module")
def made_world(once):
    return once(make_export)


@pytest.fixture
def exported(made_world, db):
    return fresh(made_world, make_export)


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
    html = check_page(sign_in(exported.out).get(reverse("export", args=["other"])))
    assert "<form" not in html.split("<main")[1]


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
    assert "caso-001.ann" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    event = Event.objects.get(verb=FILE_DOWNLOADED)
    assert (event.actor, event.project_id) == (exported.mia, exported.project.pk)
    assert not any(word in str(event.data) for word in WORDS_OF_THE_NOTE)


def test_a_file_of_many_chunks_and_an_odd_name(exported, rev):
    data = bytes(range(256)) * 10_000
    response = rev.get(file_url(store(exported.project, data, 'a"b\r\nSet-Cookie: x=1;è.zip').pk))
    assert b"".join(response.streaming_content) == data
    header = response.headers["Content-Disposition"]
    assert "\n" not in header and "\r" not in header and header.startswith("attachment; filename*=utf-8''")


# Options of an export: empty rows between sentences, spaces around attached spans, spaCy's tokens.


TEXT = "Flew from GambiaHome. She is 47aa."
START = reverse("job_start_export", args=["covid"])
asked: list[str] = []


def seen(language):
    """A tokenizer for which a text is one token; `asked` has the languages that it was made for."""
    asked.append(language)
    return lambda text: [Token(0, len(text))]


@pytest.fixture
def attached(world):
    """A submitted note in which a city is tied to the next word."""
    note = make.make_note(world.project, TEXT, "viaggio", language="it")
    make.make_set(note, world.ann, [(10, 16, "CITY"), (29, 31, "AGE")], submitted=True)
    return world


@pytest.fixture
def client(attached, sign_in):
    return sign_in(attached.rev)


def export(client, **choices):
    """Start an export on the page, and do its job."""
    response = client.post(START, {"set": "annotator:ann", "format": "conll", **choices})
    assert response.status_code == 302
    job = Job.objects.latest("pk")
    work(job.pk)
    job.refresh_from_db()
    return job


def take(project, files, format="conll"):
    return import_files(project=project, files=list(files.items()), format=format, written_as="gold")


def rows_of(files):
    return [row.split("\t")[0] for row in files["viaggio.conll"].decode().split("\n") if not row.startswith("# ")]


def test_empty_rows_end_lines_and_on_request_sentences(client):
    files = files_of(export(client))
    assert rows_of(files) == ["Flew", "from", "Gambia", "Home", ".", "She", "is", "47", "aa", ".", "", ""]
    assert files["viaggio.txt"] == TEXT.encode() and "viaggio.map" not in files
    assert json.loads(files["export.json"])["options"] == {}
    job = export(client, sentences="on")
    files = files_of(job)
    assert rows_of(files)[4:8] == [".", "", "She", "is"]
    assert json.loads(files["export.json"])["options"] == {"sentences": True}
    assert StoredFile.objects.get(pk=job.result["file_id"]).name == "covid-annotator-ann-sentences-conll.zip"


@pytest.mark.parametrize("format", ["brat", "conll"])
def test_spaces_around_attached_spans_and_back(client, format):
    job = export(client, format=format, spaced="on")
    files = files_of(job)
    assert files["viaggio.txt"].decode() == TEXT.replace("GambiaHome", "Gambia Home")
    assert json.loads(files["viaggio.map"])["inserted"] == [16]
    check_page(client.get(reverse("job", args=["covid", job.number])))
    back = make.make_project("back")
    mapless = {name: data for name, data in files.items() if name != "viaggio.map"}
    assert [row["code"] for row in take(back, mapless, format)["refused"]] == ["map"]
    assert not Document.objects.filter(project=back).exists()
    report = take(back, files, format)
    assert (report["notes"], report["spans"], report["refused"]) == (1, 2, [])
    assert Document.objects.get(project=back).text == TEXT
    assert spans_of() == [(10, 16, "CITY"), (29, 31, "AGE")]


def test_an_export_with_spaces_belongs_to_the_note_it_came_from(attached, client):
    report = take(attached.project, files_of(export(client, spaced="on")))
    assert (report["notes"], report["sets"], report["refused"]) == (0, 1, [])
    assert spans_of() == [(10, 16, "CITY"), (29, 31, "AGE")]


def test_tokens_of_the_language_of_each_note(attached, client, monkeypatch):
    monkeypatch.setitem(KINDS, "seen", TokenizerKind("Seen", "tests.exchange.test_exports.seen", "seen"))
    asked.clear()
    plain = make.make_note(attached.project, "Anna Neri", "senza")
    make.make_set(plain, attached.ann, [(0, 4, "PATIENT")], submitted=True)
    files = files_of(export(client, tokenizer="seen"))
    assert asked == ["it", attached.project.language]
    # Tokens are split where a span begins or ends, as ever.
    assert rows_of(files)[:2] == ["Flew from ", "Gambia"]


def test_a_tokenizer_that_is_not_there_fails_the_job_with_the_reason(client, monkeypatch):
    monkeypatch.setitem(KINDS, "gone", TokenizerKind("Gone", "nowhere.at_all", "Gone"))
    job = export(client, tokenizer="gone")
    assert job.state == JobState.FAILED and "Gone" in job.error


def test_options_that_the_format_lacks_are_refused(client):
    for choices, words in (
        ({"format": "brat", "sentences": "on"}, "Only CoNLL has empty rows"),
        ({"format": "text", "spaced": "on"}, "takes neither a tokenizer nor inserted spaces"),
        ({"format": "text", "tokenizer": "spacy"}, "takes neither a tokenizer nor inserted spaces"),
        ({"format": "brat", "tokenizer": "spacy"}, "brat has no tokens"),
        ({"format": "conll", "tokenizer": "words"}, "There is no tokenizer “words”"),
    ):
        response = client.post(START, {"set": "annotator:ann", **choices}, follow=True)
        assert words in response.content.decode()
    assert not Job.objects.exists()


def test_the_command(attached, tmp_path):
    pytest.importorskip("spacy")
    words = ["--set=annotator:ann", "--sentences", "--spaces", "--tokenizer=spacy"]
    call_command("export_documents", "covid", str(tmp_path / "out"), "--format=conll", *words)
    assert (tmp_path / "out/viaggio.txt").read_text() == "Flew from Gambia Home. She is 47 aa."
    call_command("import_documents", make.make_project("back").slug, str(tmp_path / "out"), "--as=gold")
    assert Document.objects.get(project__slug="back").text == TEXT
    with pytest.raises(CommandError, match="Only CoNLL has empty rows"):
        call_command("export_documents", "covid", str(tmp_path / "no"), "--format=brat", *words)
