"""Signing a release: what is refused, what the certificate says, and that it never changes."""

import hashlib
import io
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from pypdf import PdfReader

from annotations import models
from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.services.figures import figures_of
from annotations.core.access import Can, enter
from annotations.core.services import ServiceError
from annotations.gold.events import GOLD_MADE
from annotations.gold.services.making import make_gold, withdraw_gold
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.release.events import RELEASE_SIGNED
from annotations.release.rules.certificates.pdf import render
from annotations.release.rules.certificates.signatures import fingerprint_of, open_certificate, signed_pdf
from annotations.release.rules.certificates.verifying import CheckState
from annotations.release.services import deciding
from annotations.release.services.certificates.drafting import Terms
from annotations.release.services.certificates.people import readers_of
from annotations.release.services.certificates.signing import (
    certify,
    content_of,
    newest_key,
    private_part,
    prospect,
    sign,
)
from annotations.release.services.certificates.verifying import verify_certificate
from annotations.release.services.starting import outdated
from annotations.release.services.steps import state_of
from annotations.review.events import REVIEW_FINISHED
from models_runtime.models import Run, TrainedModel
from tests import factories as make
from tests.worlds.checks import check_page, refused

YEAR = timezone.localdate() + timedelta(days=365)
TERMS = Terms("Teaching", "University of Milan", YEAR)


def signed(world, terms=TERMS, **changes):
    release = models.Release.objects.get(pk=world.release.pk)
    risks = prospect(release, terms, world.mia).risks
    found = {"release": release, "terms": terms, "accepted": [risk.key for risk in risks], "actor": world.mia}
    return sign(**{**found, **changes})


def finding(world, **fields):
    note = models.ReleasedNote.objects.filter(release=world.release).first()
    places = {"start": 0, "end": 4, "original_start": 0, "original_end": 4}
    return models.LeakFinding.objects.create(note=note, string_key=1, **{"origin": "note", **places, **fields})


def test_signing_stores_json_pdf_and_the_state(released):
    certificate = signed(released)
    release = models.Release.objects.get(pk=released.release.pk)
    assert (release.state, release.signed_by, release.purpose) == ("signed", released.mia, "Teaching")
    assert [risk["by"] for risk in release.risks] == ["mia"] * 4
    opened = open_certificate(bytes(certificate.pdf))
    assert opened.json == bytes(certificate.json) and opened.fingerprint == fingerprint_of(bytes(newest_key().public))
    assert signed_pdf(render(bytes(certificate.json)), private_part(newest_key())) == bytes(certificate.pdf)
    event = models.Event.objects.get(verb=RELEASE_SIGNED)
    digest = hashlib.sha256(opened.json).hexdigest()
    assert event.data == {"release": 1, "certificate": 1, "sha256": digest, "notes": 3, "risks": 4}
    again = signed(released)
    assert (again.pk, bytes(again.json)) == (certificate.pk, bytes(certificate.json))
    assert models.Event.objects.filter(verb=RELEASE_SIGNED).count() == 1
    second = signed(released, Terms("Research", "University of Milan", YEAR))
    assert second.number == 2 and content_of(second)["supersedes"] == 1
    # The risks were accepted before, and their acceptance stays.
    assert len(content_of(second)["governance"]["risks"]) == 4


def test_the_content_is_that_of_the_release(released):
    content = content_of(signed(released))
    data = content["data"]
    assert data["hashes"]["content"] == data["hashes"]["prepared"] == released.release.content_hash
    assert data["hashes"]["texts"] == released.release.figures["text_hash"]
    assert data["gold"] == {"version": 1, "hash": released.version.content_hash, "notes": 3}
    assert (data["notes"], data["patients"], data["years"]) == (3, 2, [2021, 2021])
    assert data["languages"] == {"en": 1, "it": 2}
    assert content["identifiability"]["utility"] == {"characters": 157, "kept": 75, "share": 0.4777}
    assert content["governance"]["readers"] == [{"name": "ann", "what": "annotated the notes", "notes": 3}]
    assert content["identifiability"]["scores"] == [] and content["identifiability"]["agreement"] is None


@pytest.mark.parametrize(("spec", "checked"), [
    ("gold:1", True), ("union:gold:1+annotator:ann", True), ("run:rules-1", False), ("union:gold:1+run:a", False)
])  # fmt: skip
def test_annotations_of_a_model_are_a_risk_also_in_a_union(released, spec, checked):
    models.Release.objects.filter(pk=released.release.pk).update(set_spec=spec)
    risks = prospect(models.Release.objects.get(pk=released.release.pk), TERMS, released.mia).risks
    assert any("no person checked" in risk.text for risk in risks) is not checked


def test_allowed_findings_are_a_risk_with_the_name(released):
    finding(released, decision="allow", decided_by=released.rev)
    # Marks of auditors are no findings of the leak gate.
    finding(released, origin="audit", original_start=5, original_end=9, decision="allow", decided_by=released.mia)
    content = content_of(signed(released, own_risks=["Names of drugs", " ", "Names of drugs"]))
    texts = [risk["text"] for risk in content["governance"]["risks"]]
    assert "Findings of the leak gate that were allowed by rev: 1." in texts and texts.count("Names of drugs") == 1
    gate = content["identifiability"]["gate"]
    assert (gate["found"], gate["replaced"], gate["allowed"], gate["by"]) == (1, 0, 1, ["rev"])


def test_the_command_accepts_all_risks_and_leaves_out_notes_that_are_held_back(released):
    one = finding(released)
    models.ReleasedNote.objects.filter(pk=one.note_id).update(state=models.ReleasedNoteState.HELD)
    models.Release.objects.filter(pk=released.release.pk).update(content_hash="")
    as_json, as_pdf = certify(released.release, None)
    content = open_certificate(as_pdf).content
    assert content["data"]["notes"] == 2 and content["data"]["held_back"] == 1
    assert {risk["by"] for risk in content["governance"]["risks"]} == {"The operator of the command line"}
    assert any("1 note is held back" in risk["text"] for risk in content["governance"]["risks"])
    assert open_certificate(as_json).json == as_json


def test_measures_of_other_features_are_quoted(released):
    project = released.project
    author = make.make_author(project, kind="run", name="crf-run")
    card = {"gold": 1, "gold_hash": "ab", "notes": 2, "spans": 10}
    model = TrainedModel.objects.create(project=project, name="crf-1", backend="crf", state="ready", card=card)
    Run.objects.create(project=project, author=author, backend="crf", model=model, revision="crf-1+abc")
    for note, site in zip(released.notes, ("north", "south"), strict=True):
        make.make_set(note, author, [(0, 11, "PATIENT")], submitted=True)
        models.Review.objects.create(document=note, author=author, finished_by=released.rev, finished_at=timezone.now())
        make.make_set(note, released.ben, [(0, 11, "PATIENT")], submitted=True)
        models.NoteMetadata.objects.create(document=note, note_type="discharge", site=site)
    figures_of(project=project, unit=ComparedUnit.TOKEN)
    part = content_of(signed(released))
    found = part["identifiability"]
    [score] = found["scores"]
    assert (score["run"], score["gold"]) == ("crf-run", "gold version 1")
    whole = {"group": "", "notes": 2, "all_found": 0, "share": 0, "spans": 10, "found": 2, "recall": 0.2}
    assert score["whole"] == whole
    groups = {row["group"]: (row["notes"], row["recall"]) for row in score["subgroups"]}
    assert groups == {
        "language it": (2, 0.2), "note type discharge": (2, 0.2), "site north": (1, 0.2), "site south": (1, 0.2)
    }  # fmt: skip
    about = {"run": "crf-run", "backend": "crf", "revision": "crf-1+abc", "model": "crf-1", "training": card}
    assert found["models"] == [about]
    assert found["agreement"]["annotators"] == 2 and found["agreement"]["alpha"] is not None
    readers = {(row["name"], row["what"]): row["notes"] for row in part["governance"]["readers"]}
    assert readers["rev", "reviewed the notes"] == 2 and readers["ben", "annotated the notes"] == 2


def test_imported_work_is_named_as_imported(released):
    """An archive's people have accounts of their own, and sets from files name the import."""
    marked = make.make_user("ben (imported)")
    first, second = released.notes
    for note, person, run in ((first, marked, None), (second, released.ben, 1)):
        made = make.make_set(note, person, [(0, 11, "PATIENT")], submitted=True)
        make.change(made, imported_by=run and models.Import.objects.create(project=released.project, format="text"))
    run = make.make_author(released.project, kind="run", name="r")
    models.Review.objects.create(document=first, author=run, finished_by=marked)
    rows = {(row["name"], row["what"]): row["notes"] for row in readers_of(released.release, {})}
    said = "annotated the notes (according to an imported file)"
    assert rows["ben (imported)", said] == rows["ben", said] == 1
    assert rows["ben (imported)", "reviewed the notes (according to an imported file)"] == 1
    assert ("ben", "annotated the notes") not in rows
    # A file can name people who have no account.
    stranger = make.make_author(released.project, kind="annotator", name="cleo")
    models.AnnotationSet.objects.filter(author__user=released.ben).update(author=stranger)
    assert ("cleo", said, 1) in {(row["name"], row["what"], row["notes"]) for row in readers_of(released.release, {})}


@pytest.mark.parametrize("spec", ["gold:1", "gold", "annotator:ann", "union:gold:1+annotator:ann"])
def test_imported_annotations_were_not_checked_here(released, spec):
    """Neither imported gold, nor gold that was made of imported annotations; until a person finishes the note here."""
    models.Release.objects.filter(pk=released.release.pk).update(set_spec=spec)
    release = models.Release.objects.get(pk=released.release.pk)

    def told():
        found = prospect(release, TERMS, released.mia)
        data, risks = found.content["data"], [risk.text for risk in found.risks if "come from a file" in risk.text]
        return data["checked"], data["imported"], len(risks)

    assert told() == (True, 0, 0)
    if spec.startswith("gold"):  # nor gold that was made of a run
        gold = models.AnnotationSet.objects.get(document=released.extra, author__kind="gold")
        author = make.make_author(released.project, kind="run", name="rules")
        run = make.make_set(released.extra, author, submitted=True)
        of = {"project_id": released.project.pk, "annotation_set_id": gold.pk, "document_id": released.extra.pk}
        made = models.Event.objects.create(verb="gold.made", data={"from_set": run.pk}, **of)
        # A version that was frozen before has other spans.
        assert told() == (spec == "gold:1", 0, 0)
        models.Event.objects.create(verb=REVIEW_FINISHED, **of)
        assert told() == (True, 0, 0) and made.verb == GOLD_MADE
        mine = models.AnnotationSet.objects.get(document=released.extra, author__user=released.ann)
        models.Event.objects.create(verb=GOLD_MADE, data={"from_set": mine.pk}, **of)
    by = models.Import.objects.create(project=released.project, format="brat", written_as="annotator:ann")
    mine = models.AnnotationSet.objects.get(document=released.extra, author__user=released.ann)
    models.AnnotationSet.objects.filter(pk=mine.pk).update(imported_by=by)
    assert told() == (False, 1, 1)
    for one in models.AnnotationSet.objects.filter(document=released.extra):
        of = {"project_id": released.project.pk, "annotation_set_id": one.pk, "document_id": released.extra.pk}
        models.Event.objects.create(verb=REVIEW_FINISHED, **of)
    assert told() == (True, 0, 0)


def test_after_an_erasure_a_second_certificate_says_so(released):
    first = signed(released)
    erase_patient(project=released.project, patient_id="P-0001", actor=released.mia)
    access = enter(released.mia, "covid", Can.RELEASE)
    release = models.Release.objects.get(pk=released.release.pk)
    state = state_of(access, release)
    assert (state.due, state.erased_notes, state.erased_patients) == (True, 2, 1)
    second = signed(released)
    content = content_of(second)
    assert (second.number, content["supersedes"], content["data"]["notes"]) == (2, 1, 1)
    assert content["data"]["erased"] == [{"on": timezone.localdate().isoformat(), "notes": 2, "patients": 1}]
    assert content["data"]["hashes"]["prepared"] == content_of(first)["data"]["hashes"]["content"]
    assert any("2 notes are erased" in risk["text"] for risk in content["governance"]["risks"])
    text = " ".join(page.extract_text() for page in PdfReader(io.BytesIO(bytes(second.pdf))).pages)
    assert "patients: 1" in text and not state_of(access, models.Release.objects.get(pk=release.pk)).due
    failed = [check.code for check in verify_certificate(bytes(first.pdf)).checks if check.state is CheckState.FAILED]
    assert failed == ["superseded"] and verify_certificate(bytes(second.json)).verified
    assert b"P-0001" not in bytes(second.json)


def test_a_note_that_is_deleted_before_signing_is_counted(released):
    delete_note(project=released.project, note=released.extra.pk, actor=released.mia)
    data = content_of(signed(released))["data"]
    assert [(row["notes"], row["patients"]) for row in data["erased"]] == [(1, 0)]
    assert data["hashes"]["prepared"] == data["hashes"]["content"]


def test_signing_settles_a_release_that_a_decision_has_changed(released, monkeypatch):
    one = finding(released)
    models.ReleasedNote.objects.filter(pk=one.note_id).update(exceptions={"generic": 3})
    monkeypatch.setattr(deciding, "SETTLED_AT_ONCE", 0)
    deciding.answer_chosen(release=released.release, findings=[one.pk], answer="allow", actor=released.mia)
    release = models.Release.objects.get(pk=released.release.pk)
    assert release.content_hash == ""
    shown = prospect(release, TERMS, released.mia).content
    assert shown["data"]["hashes"]["prepared"] == shown["data"]["hashes"]["content"]
    models.Release.objects.filter(pk=release.pk).update(content_hash="")
    content = content_of(sign(release=release, terms=TERMS, accepted=(), actor=released.mia, everything=True))
    assert content["data"]["hashes"]["prepared"] == content["data"]["hashes"]["content"] != ""
    assert content["identifiability"]["gate"]["exceptions"] == {"generic": 3}


def test_edited_surrogates_are_refused(released, monkeypatch, sign_in):
    monkeypatch.setattr("annotations.release.services.certificates.signing.outdated", lambda _release: True)
    with refused("outdated"):
        sign(release=released.release, terms=TERMS, accepted=(), actor=released.mia)
    assert not outdated(released.release)
    sign_page = reverse("certificate_sign", args=["covid", 1])
    assert f'href="{sign_page}"' not in check_page(sign_in(released.mia).get(reverse("release", args=["covid", 1])))


@pytest.mark.django_db(transaction=True)
def test_two_first_uses_make_one_key(at_once):
    keys = at_once(*[newest_key] * 4)
    assert len({key.pk for key in keys}) == 1 and models.SigningKey.objects.count() == 1


@pytest.mark.django_db
def test_the_private_key_is_sealed(settings):
    key = newest_key()
    assert private_part(key) not in bytes(models.SigningKey.objects.get().sealed)
    settings.SECRET_KEY = "another secret key that is long enough for this test"
    with refused("sealed"):
        private_part(key)


def test_what_is_refused(released):
    past = timezone.localdate() - timedelta(days=1)
    for code, changes in (
        ("risks", {"accepted": ()}), ("risks", {"accepted": ["0" * 16]}),
        ("expiry", {"terms": Terms("Teaching", "Milan", past)}), ("long", {"own_risks": ["x" * 301]}),
        ("long", {"terms": Terms("x" * 301, "", YEAR)}),
    ):  # fmt: skip
        with refused(code):
            signed(released, **changes)
    finding(released)
    with pytest.raises(ServiceError, match="1 finding waits for a decision"):
        sign(release=released.release, terms=TERMS, accepted=(), actor=released.mia)
    models.LeakFinding.objects.all().delete()
    models.ReleasedNote.objects.filter(document=released.note).update(sha256="0" * 64)
    with refused("changed"):
        signed(released)
    for state in ("preparing", "withdrawn"):
        models.Release.objects.filter(pk=released.release.pk).update(state=state)
        with refused(state):
            sign(release=released.release, terms=TERMS, accepted=(), actor=released.mia)
    assert not models.Certificate.objects.exists()


def test_a_review_after_gold_was_frozen_counts_only_for_equal_spans(released):
    """What was frozen was made by a model; a person who changes gold afterwards has not checked what is released."""
    project, (note, _other) = released.project, released.notes
    run = make.make_set(note, make.make_author(project, kind="run", name="rules"), submitted=True)
    gold = models.AnnotationSet.objects.get(document=note, author__kind="gold")
    of = {"project_id": project.pk, "annotation_set_id": gold.pk, "document_id": note.pk}

    def told():
        data = prospect(models.Release.objects.get(pk=released.release.pk), TERMS, released.mia).content["data"]
        return data["checked"], data["imported"]

    def later(verb, data):
        models.Event.objects.create(verb=verb, data=data, **of)
        models.GoldVersion.objects.filter(pk=released.version.pk).update(created_at=timezone.now())

    later(GOLD_MADE, {"from_set": run.pk})
    assert told() == (False, 0)
    span = gold.spans.get(start=0)
    gold.spans.filter(pk=span.pk).update(end=5)
    models.Event.objects.create(verb=REVIEW_FINISHED, **of)
    assert told() == (False, 0)
    gold.spans.filter(pk=span.pk).update(end=11)
    assert told() == (True, 0)
    # A review before the gold was frozen counts, whatever the gold is now.
    gold.spans.filter(pk=span.pk).update(end=5)
    later(REVIEW_FINISHED, {})
    assert told() == (True, 0)


def test_imported_gold_that_was_withdrawn_stays_unchecked_in_the_frozen_version(released):
    """Gold of which no event tells before it was frozen came from a file, even if people made other gold since."""
    gold = models.AnnotationSet.objects.get(document=released.extra, author__kind="gold")
    withdraw_gold(document=released.extra, actor=released.rev)
    version = models.GoldVersion.objects.get(pk=released.version.pk)
    first = models.Event.objects.filter(annotation_set_id=gold.pk, verb=GOLD_MADE).order_by("pk").first()
    models.GoldVersion.objects.filter(pk=version.pk).update(created_at=first.at - timedelta(seconds=1))
    models.AnnotationSet.objects.filter(author__kind="gold").update(created_at=first.at - timedelta(seconds=2))
    own = models.AnnotationSet.objects.get(document=released.extra, author__user=released.ann)
    make_gold(document=released.extra, annotation_set=own, actor=released.rev)
    data = prospect(models.Release.objects.get(pk=released.release.pk), TERMS, released.mia).content["data"]
    assert (data["checked"], data["imported"]) == (False, 1)
