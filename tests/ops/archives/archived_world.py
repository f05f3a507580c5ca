"""A project with rows in every table that an archive holds, and archives read as data."""

import hashlib
import io
import json
import uuid
from types import SimpleNamespace

from django.utils import timezone

from annotations import models
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.services.figures import amend
from annotations.agreement.services.majority import plan_majority, run_majority
from annotations.exchange.services.label_mappings import add_mapping, change_mapping
from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import split_version
from annotations.models.project import SecondReview
from annotations.ops.services.archives.writing import write_archive
from annotations.projects.services.labels import merge_labels, update_label
from annotations.projects.services.projects import set_guidelines, update_project
from annotations.review.selectors.bulk_rules import BulkRule
from annotations.review.services import deciding as review
from annotations.review.services.bulk import begin_bulk, plan_bulk, run_bulk
from annotations.review.services.deciding import Request
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.records.world import FLAT, VISIT
from tests.zips import unzipped, zipped

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino."
ODD = "\ufeffMario Rossi,\r\n54 anni 😀 \t\u2028  "
NAME, AGE, CITY, HOSPITAL = (0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "CITY"), (44, 50, "HOSPITAL")
PATIENT = "P-1"
BOTH = {"Role": "patient", "initials": True}


def full_project(slug: str = "covid") -> SimpleNamespace:
    """A project in which everything has happened that an archive holds."""
    project = make.make_project(slug, name="Covid ward", language="it")
    people = {name: make.make_member(project, user=name) for name in ("anna", "bruno", "carla")}
    people |= {name: make.make_member(project, models.Role.REVIEWER, name) for name in ("rita", "rosa")}
    people["mia"] = make.make_member(project, models.Role.MANAGER, "mia")
    world = SimpleNamespace(project=project, **people)
    set_guidelines(project=project, text="# Mark names\n\nAll of them: Ü.", actor=world.mia)
    merged = models.Label.objects.get(label_set__project=project, name="DOCTOR")
    merge_labels(source=merged, target=make.label_of(project, "PATIENT"), actor=world.mia)
    patient = make.label_of(project, "PATIENT")
    update_label(label=patient, attributes="Role: patient | relative\ninitials", actor=world.mia)
    mapping = add_mapping(project=project, name="For the registry", target="", actor=world.mia)
    codes = {patient.pk: "NAME", make.label_of(project, "AGE").pk: ""}
    change_mapping(mapping=mapping, name=mapping.name, codes=codes, seen=None, actor=world.mia)
    _annotated(world)
    _reviewed(world)
    _talked(world)
    version, _new = freeze(project=project, actor=world.mia, reason="First round")
    split_version(version=version, seed="seed", shares={"train": 50, "dev": 25, "test": 25}, actor=world.mia)
    project.refresh_from_db()
    update_project(project=project, actor=world.mia, seed_from=world.run, unanimous_passes=True, planted_share=5)
    return world


def _annotated(world: SimpleNamespace) -> None:
    annotators = [world.anna, world.bruno, world.carla]
    whole, tied = [[NAME, CITY], [NAME, CITY, AGE], [NAME]], [[NAME, CITY], [NAME, HOSPITAL], []]
    work = {"whole": whole, "tied": tied, "draft": [[NAME], [], []]}
    world.notes = {}
    for name, versions in work.items():
        note = make.make_note(world.project, TEXT, name, annotators=annotators, patient_id=PATIENT, language="it")
        world.notes[name] = note
        for person, spans in zip(annotators, versions, strict=True):
            submitted = name != "draft"
            at = timezone.now() if submitted else None
            make.make_set(note, person, spans, submitted=submitted, submitted_at=at, version=3)
            if submitted:
                models.Assignment.objects.filter(document=note, user=person).update(state=models.AssignmentState.DONE)
    odd = make.make_note(world.project, ODD, "odd/ñame 😀", patient_id="P-2")
    models.NoteMetadata.objects.create(document=odd, note_type="letter", site="")
    world.notes["odd"] = odd
    models.Span.objects.filter(label__code="PATIENT", annotation_set__author__user__in=annotators[:2]).update(
        attributes=BOTH
    )
    bring_up_to_date(world.project)
    act = plan_majority(project=world.project, user=world.rita, key=uuid.uuid4())
    run_majority(act=act)
    models.Cause.objects.create(document=world.notes["tied"], start=44, end=50, kind="AM", by=world.rita)


def _reviewed(world: SimpleNamespace) -> None:
    """Two runs over three notes: reviewed one by one, in bulk, and by two people, of whom the second is to come."""
    project = world.project
    world.run = make.make_author(project, kind="run", name="rules-1")
    other = make.make_author(project, kind="run", name="crf 2: ü")
    both = make.make_author(project, kind="run", name="merged")
    models.Author.objects.filter(pk=both.pk).update(merged_from=[world.run.pk, other.pk])
    spans = [NAME, AGE, HOSPITAL]
    notes = [make.make_note(project, TEXT, f"review-{number}", patient_id=f"P-{number}") for number in range(5)]
    for note in notes:
        world.notes[note.name] = note
        for author in (world.run, other):
            make.make_set(note, author, spans, submitted=True, blind=False)
    merged = make.make_set(notes[0], both, [NAME], submitted=True)
    said = [{"run": "rules-1", "confidence": 0.5, "source": ""}, {"run": "crf 2: ü", "confidence": None, "source": "x"}]
    merged.spans.update(provenance={"runs": said, "agree": 2, "of": 2, "clear": 2})
    models.Span.objects.filter(annotation_set__author=world.run).update(
        confidence=0.1 + 0.2, raw_confidence=1 / 3, source="rule.of.mine"
    )
    models.Span.objects.filter(annotation_set__author=world.run, start=0).update(attributes=BOTH)
    for author in (world.run, other, both):
        make.list_for_review(author)
    decide(world, notes[0], Act.ACCEPT, 0)
    decide(world, notes[0], Act.REJECT, 13)
    city = make.label_of(project, "CITY").pk
    decide(world, notes[0], Act.CORRECT, 44, bounds=(44, 50, city), quote="Torino")
    decide(world, notes[0], Act.ADD, bounds=(31, 41, make.label_of(project, "DATE").pk), quote="12/03/2021")
    finish_review(document=notes[0], author=world.run, user=world.rita)
    rule = BulkRule("threshold", [world.run.pk], label=make.label_of(project, "AGE").pk, least=0.2)
    bulk = plan_bulk(project=project, user=world.rita, rule=rule, act="accept")
    begin_bulk(bulk=bulk, user=world.rita)
    bulk.refresh_from_db()
    run_bulk(bulk=bulk)
    update_project(project=project, actor=world.mia, second_review=SecondReview.BLIND)
    for start, act in ((0, Act.ACCEPT), (44, Act.REJECT)):
        decide(world, notes[1], act, start)
    finish_review(document=notes[1], author=world.run, user=world.rita)
    found, _new = models.Review.objects.update_or_create(
        document=notes[3], author=world.run, defaults={"planted_share": 5}
    )
    leak = models.Span.objects.get(annotation_set__document=notes[3], annotation_set__author=world.run, start=0)
    models.PlantedLeak.objects.create(
        review=found, suggestion=leak, known="runs", result="found", reviewer=world.rosa, revealed_at=timezone.now()
    )
    text = "[NAME] rewritten"
    models.RewrittenNote.objects.create(
        author=world.run, document=notes[4], text=text, sha256=hashlib.sha256(text.encode()).hexdigest(),
        unmapped=[[0, 6, "[NAME]", "llm", None]],
    )  # fmt: skip
    make.make_error_cause(world.run, notes[0], world.rita, gold=(0, 11, "PATIENT"))
    search = {"window": 10, "threshold": 0.95, "shingle": 1, "permutations": 128, "seed": 41}
    published = models.PublishedDecision.objects.create(
        project=project, name="decision", sha256=hashlib.sha256(b"OMISSIS").hexdigest(), text="OMISSIS", number="1/C",
        document=notes[4], state="paired", author=world.run, method="diff", parameters=search, aligned=0.5, begin=1,
        settled_by=world.rita, settled_at=timezone.now(),
    )  # fmt: skip
    models.PairCandidate.objects.create(published=published, document=notes[4], similarity=0.9, fits=True)
    schema = models.RecordSchema.objects.create(
        project=project, data_type="visit", number=1, record_version="2", schema=FLAT, state="active",
        repairs=["Line 1: a missing comma was added."], created_by=world.rosa, reviewed_by=world.rita,
        reviewed_at=timezone.now(), activated_by=world.rosa, activated_at=timezone.now(),
    )  # fmt: skip
    models.Record.objects.create(
        project=project, schema=schema, document=notes[4], content_hash="0" * 64, sections=[[0, 6, "/name"]],
        record=VISIT,
    )  # fmt: skip


def decide(world, note, act, start=None, **options):
    own = models.Span.objects.filter(annotation_set__document=note, annotation_set__author=world.run)
    suggestion = None if start is None else own.get(start=start).pk
    options.setdefault("seen", None)
    request = Request(change_id=uuid.uuid4(), act=act, suggestion=suggestion, **options)
    review.decide(document=note, author=world.run, user=world.rita, request=request)


def _talked(world: SimpleNamespace) -> None:
    note = world.notes["whole"]
    span = models.Span.objects.get(annotation_set__document=note, annotation_set__author__user=world.anna, start=0)
    about = {"document": note, "annotator": world.anna, "span_id": span.pk, "start": 0, "end": 11}
    first = models.Comment.objects.create(**about, author=world.anna, text="Is this one?\nÜ", change_id=uuid.uuid4())
    models.Comment.objects.create(**about, author=world.rita, text="Yes.", answers=first)
    gone = {"span_id": span.pk + 10_000, "start": 13, "end": 15}
    done = {"resolved_at": timezone.now(), "resolved_by": world.mia, "edited_at": timezone.now()}
    models.Comment.objects.create(document=note, author=world.mia, text="Gone", **gone, **done)
    models.Flag.objects.create(document=note, user=world.bruno, reason="text", text="Cut off")
    cleared = {"cleared_at": timezone.now(), "cleared_by": world.mia}
    models.Flag.objects.create(document=note, user=world.bruno, reason="unsure", **cleared)
    version = models.Project.objects.get(pk=world.project.pk).guidelines_version
    amend(project=world.project, text="Mark ages.", actor=world.mia, location=(note, 13, 15), seen_version=version)
    amend(project=world.project, text="Mark all.", actor=world.mia, seen_version=version + 1)


def archive_of(project: models.Project) -> bytes:
    target = io.BytesIO()
    write_archive(project=project, target=target)
    return target.getvalue()


def rows_of(archive: bytes, name: str) -> list[dict]:
    return [json.loads(line) for line in unzipped(archive)[name].splitlines()]


def changed(archive: bytes, name: str, data: bytes, *, honest: bool = True) -> bytes:
    """The archive with other content of one file; `honest`: the manifest says so."""
    files = {**unzipped(archive), name: data}
    if honest and name != "manifest.json":
        manifest = json.loads(files["manifest.json"])
        manifest["files"][name] = {
            "rows": data.count(b"\n"), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()
        }  # fmt: skip
        files["manifest.json"] = json.dumps(manifest).encode()
    return zipped(files)
