"""Options of an export: empty rows between sentences, spaces around attached spans, spaCy's tokens."""

import json
import subprocess
import sys
import zipfile

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.stored_files import open_stored
from annotations.core.tokenizers import KINDS, TokenizerKind
from annotations.jobs.runner import run as work
from annotations.models import Document, Job, StoredFile
from annotations.transfer.services.importing import import_files
from tests import factories as make
from tests.transfer.brat_files import spans_of
from tests.worlds.checks import check_page

TEXT = "Flew from GambiaHome. She is 47aa."
START = reverse("job_start_export", args=["covid"])
EXPORT = reverse("export", args=["covid"])


@pytest.fixture
def attached(world):
    """A submitted note in which a city is tied to the next word."""
    note = make.make_note(world.project, TEXT, "viaggio", language="it")
    make.make_set(note, world.ann, [(10, 16, "CITY"), (29, 31, "AGE")], submitted=True)
    return world


def export(client, **choices):
    """Start an export on the page, and do its job."""
    response = client.post(START, {"set": "annotator:ann", "format": "conll", **choices})
    assert response.status_code == 302
    job = Job.objects.latest("pk")
    work(job.pk)
    job.refresh_from_db()
    return job


def files_of(job):
    assert job.state == Job.State.DONE, job.error
    with open_stored(StoredFile.objects.get(pk=job.result["file_id"])) as content, zipfile.ZipFile(content) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rows_of(files):
    return [row.split("\t")[0] for row in files["viaggio.conll"].decode().split("\n") if not row.startswith("# ")]


def test_without_options_rows_end_lines_and_tokens_are_split(attached, sign_in):
    files = files_of(export(sign_in(attached.rev)))
    assert rows_of(files) == [
        *("Flew", "from", "Gambia", "Home", ".", "She", "is", "47", "aa", ".", "", ""),
    ]
    assert files["viaggio.txt"] == TEXT.encode() and "viaggio.map" not in files
    assert json.loads(files["export.json"])["options"] == {}


def test_an_empty_row_after_each_sentence(attached, sign_in):
    job = export(sign_in(attached.rev), sentences="on")
    files = files_of(job)
    assert rows_of(files)[4:8] == [".", "", "She", "is"]
    assert json.loads(files["export.json"])["options"] == {"sentences": True}
    assert StoredFile.objects.get(pk=job.result["file_id"]).name == "covid-annotator-ann-sentences-conll.zip"


def test_spaces_around_attached_spans_and_back(attached, sign_in):
    client = sign_in(attached.rev)
    for format in ("brat", "conll"):
        job = export(client, format=format, spaced="on")
        files = files_of(job)
        assert files["viaggio.txt"].decode() == TEXT.replace("GambiaHome", "Gambia Home")
        assert json.loads(files["viaggio.map"])["inserted"] == [16]
        page = check_page(client.get(reverse("job", args=["covid", job.number])))
        assert "spaces inserted around attached spans" in page
        back = make.make_project(f"back-{format}")
        report = import_files(project=back, files=list(files.items()), format=format, written_as="gold")
        assert (report["notes"], report["spans"], report["refused"]) == (1, 2, [])
        assert Document.objects.get(project=back).text == TEXT
    assert spans_of() == [(10, 16, "CITY"), (10, 16, "CITY"), (29, 31, "AGE"), (29, 31, "AGE")]


def test_an_export_with_spaces_belongs_to_the_note_it_came_from(attached, sign_in):
    files = files_of(export(sign_in(attached.rev), spaced="on"))
    report = import_files(project=attached.project, files=list(files.items()), format="conll", written_as="gold")
    assert (report["notes"], report["sets"], report["refused"]) == (0, 1, [])
    assert spans_of() == [(10, 16, "CITY"), (29, 31, "AGE")]


@pytest.mark.parametrize("format", ["brat", "conll"])
def test_without_its_map_the_note_is_refused(attached, sign_in, format):
    files = files_of(export(sign_in(attached.rev), format=format, spaced="on"))
    del files["viaggio.map"]
    back = make.make_project("back")
    report = import_files(project=back, files=list(files.items()), format=format, written_as="gold")
    assert [row["code"] for row in report["refused"]] == ["map"]
    assert not Document.objects.filter(project=back).exists()


def test_spacy_tokens_of_the_language_of_each_note(attached, sign_in, monkeypatch):
    monkeypatch.setitem(KINDS, "seen", TokenizerKind("Seen", "tests.transfer.test_writing.seen", "seen"))
    asked.clear()
    plain = make.make_note(attached.project, "Anna Neri", "senza")
    make.make_set(plain, attached.ann, [(0, 4, "PATIENT")], submitted=True)
    files = files_of(export(sign_in(attached.rev), tokenizer="seen"))
    assert asked == ["it", attached.project.language]
    # Tokens are split where a span begins or ends, as ever.
    assert rows_of(files)[:2] == ["Flew from ", "Gambia"]


asked: list[str] = []


def seen(language):
    """A tokenizer for which a text is one token; `asked` has the languages that it was made for."""
    from annotations.domain.tokens import Token

    asked.append(language)
    return lambda text: [Token(0, len(text))]


def test_spacy_tokens(attached, sign_in):
    pytest.importorskip("spacy")
    files = files_of(export(sign_in(attached.rev), tokenizer="spacy"))
    assert rows_of(files)[:4] == ["Flew", "from", "Gambia", "Home"]
    spaced = files_of(export(sign_in(attached.rev), tokenizer="spacy", spaced="on"))
    # The default rule separates digits from letters, spaCy's tokenizer doesn't.
    assert spaced["viaggio.txt"] == b"Flew from Gambia Home. She is 47 aa."
    report = import_files(
        project=make.make_project("back"), files=list(spaced.items()), format="conll", written_as="gold"
    )
    assert report["spans"] == 2 and spans_of() == [(10, 16, "CITY"), (29, 31, "AGE")]


def test_a_tokenizer_that_is_not_there_fails_the_job_with_the_reason(attached, sign_in, monkeypatch):
    monkeypatch.setitem(KINDS, "gone", TokenizerKind("Gone", "nowhere.at_all", "Gone"))
    job = export(sign_in(attached.rev), tokenizer="gone")
    assert job.state == Job.State.FAILED
    assert "This worker doesn't have Gone, which the tokenizer needs." in job.error


def test_a_language_without_tokenizer_fails_the_job_with_the_reason(attached, sign_in):
    pytest.importorskip("spacy")
    Document.objects.filter(name="viaggio").update(language="zz")
    job = export(sign_in(attached.rev), tokenizer="spacy")
    assert job.state == Job.State.FAILED and "no tokenizer for the language “zz”" in job.error


@pytest.mark.parametrize(
    "choices, words",
    [
        ({"format": "brat", "sentences": "on"}, "Only CoNLL has empty rows"),
        ({"format": "text", "spaced": "on"}, "takes neither a tokenizer nor inserted spaces"),
        ({"format": "text", "tokenizer": "spacy"}, "takes neither a tokenizer nor inserted spaces"),
        ({"format": "brat", "tokenizer": "spacy"}, "brat has no tokens"),
        ({"format": "conll", "tokenizer": "words"}, "There is no tokenizer “words”"),
    ],
)
def test_options_that_the_format_lacks_are_refused(attached, sign_in, choices, words):
    client = sign_in(attached.rev)
    response = client.post(START, {"set": "annotator:ann", **choices}, follow=True)
    assert words in response.content.decode()
    assert not Job.objects.exists()


def test_the_form_offers_the_options(attached, sign_in):
    html = check_page(sign_in(attached.rev).get(EXPORT))
    assert '<option value="spacy">' in html and 'name="sentences"' in html and 'name="spaced"' in html


def test_the_command(attached, tmp_path, capsys):
    pytest.importorskip("spacy")
    options = ["--set=annotator:ann", "--sentences", "--spaces", "--tokenizer=spacy"]
    call_command("export_documents", "covid", str(tmp_path / "out"), "--format=conll", *options)
    assert (tmp_path / "out/viaggio.txt").read_text() == "Flew from Gambia Home. She is 47 aa."
    call_command("import_documents", make.make_project("back").slug, str(tmp_path / "out"), "--as=gold")
    assert Document.objects.get(project__slug="back").text == TEXT
    with pytest.raises(CommandError, match="Only CoNLL has empty rows"):
        call_command(
            "export_documents", "covid", str(tmp_path / "no"), "--format=brat", "--set=annotator:ann", "--sentences"
        )


def test_the_web_process_never_loads_spacy():
    """Loading all pages, and asking for an export with spaCy's tokens, import no spaCy; only the job does."""
    code = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'\n"
        "import django; django.setup()\n"
        "from django.urls import get_resolver; get_resolver().url_patterns\n"
        "from annotations.transfer.services.writing import Writing\n"
        "Writing(tokenizer='spacy').check('conll')\n"
        "print('spacy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr
