"""Options of an export: empty rows between sentences, spaces around attached spans, spaCy's tokens; and its losses."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.tokenizers import KINDS, TokenizerKind
from annotations.exchange.events import NOTES_EXPORTED
from annotations.exchange.services import exporting
from annotations.exchange.services.exporting import LISTED
from annotations.exchange.services.importing import import_files, import_path
from annotations.exchange.services.staged import start_export
from annotations.jobs.runner import run as work
from annotations.models import Document, Event, Job, JobState, Label, Span, StoredFile
from annotations.text.spans import Token
from tests import factories as make
from tests.exchange.brat_files import files_of, spans_of
from tests.worlds.checks import check_page
from tests.worlds.queue import worked

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
    assert client.post(START, {"set": "annotator:ann", "format": "conll", **choices}).status_code == 302
    return worked(Job.objects.latest("pk"))


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
    monkeypatch.setitem(KINDS, "seen", TokenizerKind("Seen", "tests.exchange.test_writing.seen", "seen"))
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
        assert words in client.post(START, {"set": "annotator:ann", **choices}, follow=True).content.decode()
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


# Losses of an export whose format can't represent all spans: the job stores the first ones, a file lists all


MANY = LISTED + 7
NAME = "=1+1"
REASON = "Plain text contains no spans."


@pytest.fixture
def many(world):
    """Two notes by one annotator with MANY spans, which plain text can't represent. One note's name is a formula."""
    half = MANY // 2
    label = Label.objects.get(label_set__project=world.project, name="PATIENT")
    for name, count in ((NAME, half), ("many-002", MANY - half)):
        note = make.make_note(world.project, "a " * count, name=name, patient_id=f"P-{count}")
        made = make.make_set(note, world.ann, submitted=True)
        Span.objects.bulk_create(
            Span(annotation_set=made, start=2 * at, end=2 * at + 1, label=label) for at in range(count)
        )
    return world


@pytest.fixture
def exported(many):
    many.job = start_export(project=many.project, set_spec="annotator:ann", format="text", actor=many.rev)
    work(many.job.pk)
    many.files = files_of(many.job)
    return many


def losses_in(data):
    assert data.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_the_command_names_the_first_and_writes_all_beside_the_notes(many, tmp_path, capsys):
    out = tmp_path / "out"
    call_command("export_documents", "covid", str(out), "--format", "text", "--set", "annotator:ann")
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if REASON in line]) == LISTED and f"loss_count: {MANY}" in lines
    assert len(losses_in((out / "losses.csv").read_bytes())) == MANY
    # The folder can be imported again.
    report = import_path(project=make.make_project("again"), path=out, format="text")
    assert (report["notes"], report["refused_files"]) == (2, 0)
    exporting.export_to_path(project=many.project, out=tmp_path / "brat", format="brat", set_spec="annotator:ann")
    assert not (tmp_path / "brat/losses.csv").exists()


def test_the_job_stores_the_first_losses_and_the_archive_lists_all(exported):
    result = exported.job.result
    assert (len(result["losses"]), result["loss_count"]) == (LISTED, MANY)
    assert Event.objects.get(verb=NOTES_EXPORTED).data["losses"] == MANY
    rows = losses_in(exported.files["losses.csv"])
    assert len(rows) == MANY and {row["note"] for row in rows} == {f"'{NAME}", "many-002"}, "a formula stays text"
    note = Document.objects.get(name="many-002")
    last = {"note": "many-002", "note_id": str(note.pk), "start": str(note.length - 2), "end": str(note.length - 1)}
    assert rows[-1] == last | {"label": "PATIENT", "reason": REASON}
    manifest = json.loads(exported.files["export.json"])
    assert (len(manifest["losses"]), manifest["loss_count"]) == (LISTED, MANY)
