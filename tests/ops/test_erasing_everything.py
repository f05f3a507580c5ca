"""Erase a patient, and search everything that deidreview stores for the patient's data.

The patient's note and everything that may name the patient contain unique words. After the erasure, the test searches
for these words in all tables, in the raw bytes of SQLite's files, in stored files and the archives in them, in
sessions, Redis, the data folder and the logs.
"""

import base64
import io
import itertools
import json
import logging
import os
import uuid
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotations import models
from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.services.figures import start_agreement
from annotations.core.sealing import project_key
from annotations.core.stored_files import store_file
from annotations.exchange.services.importing import import_files
from annotations.exchange.services.staged import pack, stage_import, start_export
from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import split_version
from annotations.ops.services.backup import backups_before_erasing, write_backup
from annotations.ops.services.erasing import erase_patient
from annotations.release.rules.certificates.verifying import CheckState
from annotations.release.selectors.surrogates import form_number, identity_digest, private_scope
from annotations.release.services.certificates.signing import content_of
from annotations.release.services.certificates.verifying import verify_certificate
from annotations.release.services.policies import codes_of, save_policy
from annotations.scores.services.asking import start_score
from annotations.scores.services.scoring import score_request
from annotations.scores.services.side_by_side import comparison_request
from annotations.text.hashes import string_key
from models_runtime import models as runtime
from models_runtime.runs.services import runs
from models_runtime.runs.services.comparing import start_comparison
from models_runtime.training.jobs.kept_models import checkpoint_of
from models_runtime.training.services.calibration import start_calibration
from tests import factories as make
from tests.ops.released_world import SEALED, releases, sealed, signed
from tests.worlds.checks import bytes_elsewhere, check_page
from tests.worlds.commands import answered
from tests.worlds.queue import worked

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]

PATIENT, NOTE, WORD = "zqpatientid77", "zqnotename77", "Zqnoteword77"
SOUGHT, SOUGHT_NAME, REFUSED, COMMENT, FLAG, STAGED = (
    "zqsought77", "zqnotena", "zqrefused77", "zqcomment77", "zqflag77", "zqstaged77",
)  # fmt: skip
TEXT = f"{WORD} Rossi, visto a Torino."
TOKENS = [PATIENT, NOTE, WORD, SOUGHT, SOUGHT_NAME, REFUSED, COMMENT, FLAG, STAGED, str(string_key(WORD))]
PAGE = "/projects/covid/patients/"


@pytest.fixture
def world(redis_server, fake):
    project = make.make_project("covid", name="Covid ward")
    world = SimpleNamespace(project=project, redis=redis_server, mia=make.make_member(project, "manager", "mia"))
    world.ann, world.ben = (make.make_member(project, user=name) for name in ("ann", "ben"))
    world.note = make.make_note(project, TEXT, NOTE, patient_id=PATIENT, annotators=[world.ann, world.ben])
    others = [make.make_note(project, f"Anna Verdi numero {n}, Milano.", f"other-{n}") for n in range(4)]
    world.run = make.make_author(project, kind="run", name="rules-1")
    gold = make.make_author(project, kind="gold", name="gold")
    for note in (world.note, *others):
        end = len(WORD) if note == world.note else 4
        make.make_set(note, world.ann, [(0, end, "PATIENT")], submitted=True)
        make.make_set(note, world.ben, [(0, end, "DOCTOR"), (0, end + 2, "PATIENT")], submitted=True)
        for author in (world.run, gold):
            # Two overlapping spans: CoNLL can represent only one of them, and the export reports the loss.
            make.make_set(note, author, [(0, end, "PATIENT"), (0, end + 2, "DOCTOR")], submitted=True)
    version, _ = freeze(project=project, actor=world.mia, reason="first")
    split_version(version=version, seed="s", shares={"train": 60, "dev": 20, "test": 20}, actor=world.mia)
    world.version = version
    world.client = Client()
    world.client.force_login(world.mia)
    return world


def listen(caplog):
    caplog.set_level(logging.DEBUG)
    caplog.handler.addFilter(lambda record: not record.name.startswith("django.db"))


def fill(world):
    """Rows of everything but releases."""
    for part in (talk, jobs, language_models, trainings, uploads, recordings, feeds):
        part(world)


def jobs(world):
    """Finish one job of each kind, and leave one job waiting."""
    project, mia = world.project, world.mia
    export = worked(start_export(project=project, set_spec="gold:1", format="conll", actor=mia))
    assert export.state == models.JobState.DONE and export.result["losses"]
    assert all(isinstance(loss["note"], int) for loss in export.result["losses"])
    both = comparison_request(project, version=1, names=["annotator:ann", "annotator:ben"])
    done = [
        start_score(wanted=score_request(project, version=1, author="annotator:ann"), actor=mia),
        start_comparison(wanted=both, actor=mia),
        start_agreement(project=project, unit=ComparedUnit.TOKEN, actor=mia),
    ]
    assert [worked(job).state for job in done] == [models.JobState.DONE] * 3
    run = runs.start_run(project=project, backend="fake", actor=mia, key="k", name="fake-1")
    assert worked(run.job).state == models.JobState.DONE
    worked(start_calibration(project=project, author_id=run.author_id, gold=1, actor=mia))
    make.make_calibration(run, world.version)
    start_export(project=project, set_spec="gold:1", format="brat", actor=mia)  # this job stays in the queue


def language_models(world):
    judging = runtime.Judging.objects.create(
        project=world.project, author=world.run, gold_version=world.version, threshold=0.5, language="it",
        prompt="Judge.", prompt_version="1",
    )  # fmt: skip
    judge = runtime.Judge.objects.create(judging=judging, position=0, server="ward", model="small")
    judged = runtime.JudgedNote.objects.create(judging=judging, document=world.note, entities=[], hidden=[], beside={})
    runtime.Judgment.objects.create(judge=judge, note=judged, verdicts={}, error=f"about {WORD}")
    runtime.LlmAnswer.objects.create(document=world.note, key="k", found=[[0, 3, WORD]])
    models.RewrittenNote.objects.create(
        author=world.run, document=world.note, text=f"[NOME] {WORD}", sha256="0" * 64, unmapped=[[0, 3, WORD, "", None]]
    )
    published = {"project": world.project, "text": f"OMISSIS {WORD}"}
    models.PublishedDecision.objects.create(name="own", sha256="0" * 64, document=world.note, **published)
    other = models.PublishedDecision.objects.create(name="open", sha256="1" * 64, state="ambiguous", **published)
    models.PairCandidate.objects.create(published=other, document=world.note, similarity=0.9)
    schema = models.RecordSchema.objects.create(project=world.project, data_type="visit", number=1, schema={})
    models.Record.objects.create(
        project=world.project, schema=schema, document=world.note, content_hash="0" * 64, record={"name": WORD}
    )


def recordings(world):
    row = models.Import.objects.create(project=world.project, format="text", state=models.ImportState.DONE)
    # A note of its own: what a release mutes must be a real recording.
    note = make.make_note(world.project, TEXT, f"{NOTE}-recorded", patient_id=PATIENT)
    recording = models.Recording.objects.create(
        document=note, imported_by=row, format="WAV", subtype="PCM_16", rate=8000, channels=1, frames=8000,
        source="file of words", margin=0.2, words=[[0, 3, 0.2, 0.7, None, WORD, False]], peaks=[0, 50],
    )  # fmt: skip
    models.RecordingBlock.objects.create(recording=recording, end=1.0, words=[[WORD, 0, 1, None, "", False]])
    models.AudioRegion.objects.create(recording=recording, start=0.7, end=0.9, cause="gap", verdict=WORD)


def feeds(world):
    rules = {code: {"kind": "other", "action": "mask"} for code in codes_of(world.project)}
    policy = save_policy(project=world.project, slug="letters", name="Letters", rules=rules, actor=world.mia)
    feed = runtime.Feed.objects.create(
        project=world.project, name="letters", source="in", target="out", policy=policy, created_by=world.mia
    )
    file = runtime.FeedFile.objects.create(
        feed=feed, key="0" * 64, name=f"{NOTE}.txt", patient=PATIENT, detail=WORD, problems=[{"path": WORD}]
    )
    runtime.FeedNote.objects.create(file=file, feed=feed, document=world.note, path="note-1.txt")


def trainings(world):
    model = runtime.TrainedModel.objects.create(
        project=world.project, name="learning", backend="bilstm", gold_version=world.version
    )
    checkpoint_of(model.pk).write_text(f"weights that know {WORD}")


def uploads(world):
    bad = {"project": world.project, "format": "text", "actor": world.mia}
    import_files(files=[(f"{REFUSED}.txt", b"\xff\xfe\x00bad"), ("fine-1.txt", b"Buono.")], **bad)
    import_files(files=[(f"{REFUSED}-twin.txt", TEXT.encode())], **bad)
    content = pack([(f"{STAGED}.txt", TEXT.encode()), ("patients.csv", f"name,patient_id\nx,{PATIENT}".encode())])
    stage_import(
        project=world.project, name=f"{STAGED}.zip", content=io.BytesIO(content.read()), format="text",
        written_as="", language="", take_duplicates=False, actor=world.mia,
    )  # fmt: skip
    assert models.Import.objects.count() == 3
    original = store_file(
        project=world.project, kind="original", name=f"{NOTE}.pdf", content=io.BytesIO(TEXT.encode()), actor=world.mia
    )
    models.DocumentSource.objects.create(document=world.note, original=original, name=f"{NOTE}.pdf", kind="pdf")


def talk(world):
    models.Comment.objects.create(document=world.note, author=world.ann, text=f"Is {COMMENT} a name?")
    models.Flag.objects.create(document=world.note, user=world.ann, reason=models.Flag.Reason.OTHER, text=FLAG)
    models.BulkAct.objects.create(
        project=world.project, user=world.mia, act="accept",
        rule={"kind": "string", "runs": [world.run.pk], "string": string_key(WORD), "label": 1},
    )  # fmt: skip


def pages(world):
    client, note = world.client, world.note.pk
    assert NOTE in client.get(client.post("/projects/covid/notes/", {"name": SOUGHT_NAME}).url).content.decode()
    asked = {"text": WORD, "where": "all", "annotation_set": "own", "accents": "on"}
    sought = client.post("/projects/covid/search/", asked)
    assert sought.status_code == 303 and WORD in client.get(sought.url).content.decode()
    client.post("/projects/covid/search/", {"text": SOUGHT, "where": "all", "annotation_set": "own"})
    annotation_set = world.note.annotation_sets.get(author__user=world.ann)
    as_gold = {"set": annotation_set.pk, "version": annotation_set.version, "replace": "1", "gold_version": 0}
    assert client.post(f"/projects/covid/notes/{note}/gold", as_gold).status_code in (302, 303)
    assert models.Search.objects.count() == 3
    for address in (f"notes/{note}/", f"notes/{note}/annotate/", "gold/1/", "export/", "disagreements/", "import/"):
        client.get(f"/projects/covid/{address}")
    return client


def tables():
    """Yield each row of each table as text."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                yield table, " ".join(_text(value) for value in row)


def _text(value):
    if isinstance(value, memoryview | bytes | bytearray):
        return _unzipped(bytes(value))
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else str(value)


def _unzipped(data):
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return data.decode("latin-1")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return " ".join(f"{name} {_unzipped(archive.read(name))}" for name in archive.namelist())


def stored_files():
    for stored in models.StoredFile.objects.all():
        chunks = models.StoredChunk.objects.filter(file=stored).order_by("number").values_list("data", flat=True)
        yield f"stored file {stored.name}", _unzipped(b"".join(bytes(chunk) for chunk in chunks))


def redis_rows(server):
    client = server.client()
    for key in client.scan_iter("*"):
        kind = client.type(key).decode()
        read_of_kind = {
            "string": client.get, "list": lambda k: client.lrange(k, 0, -1), "set": client.smembers,
            "hash": client.hgetall, "zset": lambda k: client.zrange(k, 0, -1, withscores=True),
        }  # fmt: skip
        yield "redis", f"{key!r} {read_of_kind[kind](key)!r}"
    for file in Path(server.folder).rglob("*"):
        if file.is_file():
            yield f"redis file {file.name}", file.read_bytes().decode("latin-1")


def data_folder(*, backups):
    """Yield the files of the data folder without the database: backups, or all others."""
    own = Path(str(connection.settings_dict["NAME"])).name
    for file in Path(settings.DATA_DIR).rglob("*"):
        if file.is_file() and not file.name.startswith(own) and (file.parent.name == "backups") == backups:
            yield f"file {file}", f"{file.name} {_unzipped(file.read_bytes())}"


def raw_sqlite():
    if connection.vendor == "sqlite":
        name = str(connection.settings_dict["NAME"])
        for file in (name, f"{name}-wal"):
            if Path(file).exists():
                yield f"raw {file}", bytes_elsewhere(file).decode("latin-1")


def found_in(rows):
    variants = [(token, word) for token in TOKENS for word in (token, base64.b64encode(token.encode()).decode())]
    return sorted({(token, where) for where, text in rows for token, word in variants if word in text})


def everywhere(world, log):
    yield from tables()
    yield from stored_files()
    yield from (("session", json.dumps(SessionStore().decode(each.session_data))) for each in Session.objects.all())
    yield from redis_rows(world.redis)
    yield from data_folder(backups=False)
    yield from raw_sqlite()
    yield "log", log


@pytest.fixture
def backup():
    folder = Path(settings.DATA_DIR) / "backups"
    folder.mkdir(exist_ok=True)
    file = folder / f"{uuid.uuid4().hex}.deidreview"
    yield file
    file.unlink(missing_ok=True)


def test_nothing_of_an_erased_patient_is_found_anywhere(world, backup, caplog):
    listen(caplog)
    fill(world)
    pages(world)
    write_backup(file=backup)
    before = {token for token, _ in found_in([*tables(), *stored_files()])}
    assert before == set(TOKENS), "before the erasure each of the words is stored somewhere"
    assert models.Figures.objects.exists() and not [row for row in redis_rows(world.redis) if NOTE in row[1]]

    assert backup.name in check_page(world.client.post(PAGE, {"do": "erase", "patient_id": PATIENT, "again": PATIENT}))
    assert found_in(everywhere(world, caplog.text)) == []
    assert not models.Figures.objects.exists()
    version = models.GoldVersion.objects.get(pk=world.version.pk)
    assert (version.erased_count, version.notes.count()) == (1, 4)

    # The waiting job contains no data of the patient either, and the pages of finished jobs still open.
    waiting = models.Job.objects.get(kind="export", state=models.JobState.QUEUED)
    assert worked(waiting).state == models.JobState.DONE
    for job in models.Job.objects.all():
        assert world.client.get(f"/projects/covid/jobs/{job.number}/").status_code == 200
    export = models.Job.objects.get(kind="export", result__format="conll")
    page = world.client.get(f"/projects/covid/jobs/{export.number}/").content.decode()
    assert "erased note" in page and "other-1" in page and ">Download<" not in page
    assert world.client.get(f"/projects/covid/files/{export.result['file_id']}").status_code == 404
    assert ">Download<" in world.client.get(f"/projects/covid/jobs/{waiting.number}/").content.decode()
    report = world.client.get(
        f"/projects/covid/import/{models.Import.objects.order_by('pk').first().pk}/"
    ).content.decode()
    assert "were removed when a patient was erased" in report
    assert found_in(everywhere(world, caplog.text)) == []


def test_nothing_of_an_erased_patient_is_left_of_releases(world, caplog):
    """Also in what is sealed: terms of the lists stay, and the erasure lists them for a check."""
    listen(caplog)
    project, note = world.project, world.note
    made = releases(world, patient=PATIENT, word=WORD)
    tables_before = {where for _token, where in found_in([*tables(), *stored_files()])}
    assert {"annotations_releasednote", "annotations_knownperson", "annotations_notemetadata"} <= tables_before
    before = {where for token, where in found_in(sealed(project)) if token == WORD}
    assert before == {f"sealed {model.__name__}" for model in SEALED}
    digests = keyed_digests(project)
    own = set(models.SurrogateKey.objects.filter(entity__mentions__document=note).values_list("digest", flat=True))
    findings = list(models.LeakFinding.objects.filter(note__document=note).values_list("pk", flat=True))
    assert findings and models.AuditMark.objects.filter(note__note__document=note).exists()
    hashes = made.masked.content_hash, bytes(made.certificate.json), bytes(made.certificate.pdf)
    open_hash = models.Release.objects.get(pk=made.surrogates.pk).content_hash
    exported = made.export.result["file_id"]

    erase_patient(project=project, patient_id=PATIENT, actor=world.mia)

    assert found_in(everywhere(world, caplog.text)) == []
    assert found_in(sealed(project, without=[models.ListedTerm])) == []
    assert {token for token, _where in found_in(sealed(project))} == {WORD}, "terms stay, to be checked by a person"
    left = keyed_digests(project)
    assert digests & of_patient(project) and not left & of_patient(project)
    assert not left & own and own
    assert not models.KnownPerson.objects.exists() and not models.KnownUpload.objects.exists()
    assert not models.LeakFinding.objects.filter(pk__in=findings).exists()
    for model in (models.ReleasedNote, models.SurrogateMention, models.NoteMetadata):
        assert not model.objects.filter(document_id=note.pk).exists()
    assert not models.StoredFile.objects.filter(pk=exported).exists()
    assert not models.AuditNote.objects.exclude(note__document__project=project).exists()

    for release in (made.masked, made.surrogates):
        release.refresh_from_db()
        assert (release.erased_count, release.erasures.get().notes, release.erasures.get().patients) == (1, 1, 1)
    assert models.AuditPlan.objects.get(release=made.masked).erased_count == 1
    assert made.surrogates.content_hash != open_hash, "it is computed again"
    made.certificate.refresh_from_db()
    assert (made.masked.content_hash, bytes(made.certificate.json), bytes(made.certificate.pdf)) == hashes
    assert failing(made.certificate) == []
    newer = signed(made.masked, world.mia)
    assert newer.number == 2 and content_of(newer)["data"]["erased"][0]["patients"] == 1
    assert failing(made.certificate) == ["superseded"]
    assert failing(newer) == []
    assert found_in(everywhere(world, caplog.text)) == []


def failing(certificate):
    verdict = verify_certificate(bytes(certificate.json))
    return [check.code for check in verdict.checks if check.state == CheckState.FAILED]


def keyed_digests(project):
    """All keyed digests that the release work stores about the project."""
    keys = models.SurrogateKey.objects.filter(project=project).values_list("digest", "scope")
    return {
        *itertools.chain.from_iterable(keys),
        *models.SurrogateEntity.objects.filter(project=project).values_list("scope", flat=True),
        *models.SurrogateMention.objects.filter(entity__project=project).values_list("form", flat=True),
        *models.LeakFinding.objects.filter(note__release__project=project).values_list("string_key", flat=True),
        *models.KnownPerson.objects.filter(project=project).values_list("digest", flat=True),
    }


def of_patient(project):
    """Digests by which somebody who has the key could tell that the patient was in the project."""
    key, names = project_key(project), [WORD, f"{WORD} R", f"{WORD} Rossi"]
    identities = {identity_digest(key, name.lower()) for name in names}
    leaks = {key.number("leak", name.lower()) for name in (*names, "torino")}
    return {private_scope(key, PATIENT, 0), *identities, *leaks, *(form_number(key, name) for name in names)}


def test_each_sealed_column_is_searched():
    """A new column with sealed data has to be added to the search above."""
    columns = {model for model in apps.get_models() if "sealed" in {each.name for each in model._meta.concrete_fields}}
    secrets = {models.ProjectKey, models.ProviderAccount, models.SigningKey, models.Webhook}
    assert columns - set(SEALED) == secrets, "keys and tokens hold nothing of a patient"


def test_the_backup_that_contains_the_patient_is_listed(world, backup):
    write_backup(file=backup)
    assert backup.name not in world.client.get(PAGE).content.decode()
    erase_patient(project=world.project, patient_id=PATIENT, actor=world.mia)
    assert backup.name in check_page(world.client.get(PAGE))
    # For a file that is not a readable backup, the modification time counts.
    hour = timezone.now().timestamp() + 3600
    os.utime(backup, (hour, hour))
    backup.write_bytes(b"damaged")
    assert [row.file for row in backups_before_erasing(world.project)] == []
    os.utime(backup, (0, 0))
    assert [row.file for row in backups_before_erasing(world.project)] == [backup.name]


def test_free_texts_are_listed_by_page_and_command(world):
    other = models.Document.objects.get(name="other-1")
    models.Comment.objects.create(document=other, author=world.ann, text="Like the other patient")
    models.Flag.objects.create(document=other, user=world.ann, reason=models.Flag.Reason.OTHER, text="Named twice")
    models.Project.objects.update(guidelines="Rossi is a name.")
    at = timezone.now()
    models.Amendment.objects.create(
        project=world.project, number=1, text="As in that note", guidelines_version=1, at=at
    )
    expected = {"Guidelines", "Amendments", "Reason and seed of gold version 1", "Comments on the note other-1"}
    expected |= {"Reasons of flags on the note other-1", "Names of runs"}
    html = check_page(world.client.post(PAGE, {"do": "preview", "patient_id": PATIENT}))
    assert [words for words in expected if words not in html] == []
    printed = answered("erase_patient", "covid", PATIENT, "--yes")["free_texts"]
    assert [words for words in expected if not any(words in text["what"] for text in printed)] == []
    for text in printed:
        assert world.client.get(text["url"]).status_code == 200, text
