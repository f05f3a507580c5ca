"""An erasure covers every table and every text column, or a reason is given here.

A new table that refers to a note or a project fails this test, and so does a new text column in a table that an
erasure keeps. To pass, a table must cascade from its note, be emptied by `erase_patient`, or have a reason to stay.
"""

import pytest
from django.apps import apps
from django.db import models

from annotations.models import ChangedGold, Document, Event, Project, Stale

# The tables of a project that `erase_patient` empties, besides notes and rows that cascade from notes.
EMPTIED = {
    "annotations.Figures": "all of the project", "annotations.NoteIndex": "what the notes say; other notes stay",
    "annotations.Search": "all of the project", "annotations.KnownPerson": "the row of the patient",
    "annotations.KnownUpload": "all of the project",
    "annotations.SurrogateEntity": "those that no other note mentions; of others, what only the notes say",
    "annotations.SurrogateKey": "with its entity, or with what only the notes say of it",
    "annotations.StoredFile": "uploads, exports, and originals of the notes; a manager is asked to retire models",
    "annotations.StoredChunk": "with its file", "annotations.Delivery": "those about the notes",
    "annotations.SuggestedString": "its count drops by the spans of the note; a string without spans is deleted",
    "annotations.Stale": "those of the notes", "annotations.ChangedGold": "those of the notes",
    "models_runtime.FeedFile": "names of files of the notes, and of the patient's other files; a keyed hash stays",
    "annotations.PublishedDecision": "pairs of the notes, those with a note as candidate, and those not compared yet",
    "annotations.Recording": "with its note; an erasure waits for the job that makes the note",
    "annotations.RecordingBlock": "with its recording", "annotations.AudioRegion": "with its recording",
}  # fmt: skip
# Text columns in tables that stay, with the reason. "listed" means shown at an erasure (ops.selectors.free_texts).
STAYS = {
    "annotations.Project": {
        "name": "listed", "guidelines": "listed", "slug": "listed with the name", "language": "a code"
    },
    "annotations.ApiToken": {"name": "a program", "prefix": "random", "digest": "of a random token"},
    "annotations.ApiAnswer": {"key": "a keyed digest", "fingerprint": "emptied", "sealed": "emptied"},
    "annotations.Membership": {"provided_by": "of the settings"},
    "annotations.ProviderAccount": {
        "provider": "of the settings", "subject": "a member, not a patient", "sealed": "a provider's token"
    },
    "annotations.ProviderSession": {"sid": "a provider's number", "name_id": "a member, not a patient"},
    "annotations.ProvisionedUser": {
        "provider": "of the settings", "user_name": "a member, not a patient", "name_key": "a member, not a patient",
        "external_id": "a member, not a patient", "said": "a member, not a patient",
    },
    "annotations.GroupRole": {"provider": "of the settings", "group": "a group of members, not of patients"},
    "annotations.User": {
        "password": "a hash", "username": "a member, not a patient", "first_name": "a member, not a patient",
        "last_name": "a member, not a patient", "email": "a member, not a patient",
    },
    "annotations.LabelSet": {"key": "shipped", "name": "shipped", "source": "shipped"},
    "annotations.Category": {"code": "shipped", "name": "shipped"},
    "annotations.Label": {
        "code": "listed", "name": "listed", "description": "listed", "placeholder": "listed", "hotkey": "one letter",
        "attributes": "listed", "identifier": "a type of identifier",
    },
    "annotations.RecordSchema": {
        "data_type": "names of types", "record_version": "a version", "schema": "names of fields, without values",
        "repairs": "what was repaired in the schema",
    },
    "annotations.LabelMapping": {"name": "listed", "target": "shipped"},
    "annotations.MappedLabel": {"code": "listed with the name"},
    "annotations.PersonalKey": {"key": "one letter"},
    "annotations.Author": {"name": "listed, or a member, not a patient", "merged_from": "ids"},
    "annotations.Amendment": {"text": "listed"},
    "annotations.GoldVersion": {
        "content_hash": "a hash of all notes, from which no single note follows", "split_seed": "listed",
        "split_shares": "numbers", "reason": "listed",
    },
    "annotations.Import": {
        "format": "a choice", "written_as": "listed as a run, or a member, not a patient", "language": "a code",
        "report": "lines are removed, counts stay", "encoding": "a choice", "no_cleanup": "choices",
        "labels_found": "removed", "label_choices": "removed",
    },
    "annotations.MajorityAct": {},
    "annotations.BulkAct": {"rule": "ids; the number of a string without spans is removed"},
    "annotations.ListedTerm": {"sealed": "listed", "digest": "of a listed term", "label": "a code"},
    "annotations.ProjectKey": {"sealed": "random; without the patient's rows, nothing follows from it"},
    "annotations.ReleasePolicy": {
        "slug": "listed with the name", "name": "listed", "basis": "of a shipped policy", "rules": "codes of labels",
    },
    "annotations.Release": {
        "set_spec": "listed as a run, or a member, not a patient", "searched_runs": "listed as a run, not a patient",
        "surrogate_maker": "of the settings",
        "purpose": "listed", "recipient": "listed", "risks": "listed", "figures": "counts, labels, years",
        "content_hash": "a hash of all notes, from which no single note follows",
    },
    "annotations.Certificate": {
        "sha256": "a hash of the file", "json": "figures, and the listed texts of its release", "pdf": "as its JSON"
    },
    "annotations.ReleaseErasure": {},
    "annotations.AuditPlan": {
        "seed": "random", "strata": "types, sites and languages of notes, with counts", "looks": "as strata"
    },
    "annotations.Event": {"data": "ids, offsets, labels, counts", "verb": "a choice"},
    "annotations.Job": {
        "kind": "a choice", "params": "ids and choices", "key": "a hash or an id", "result": "ids and counts",
        "error": "in plain words, without names of notes or files",
    },
    "annotations.Share": {},
    "annotations.Webhook": {"url": "listed", "kinds": "choices", "sealed": "random"},
    "models_runtime.Run": {"backend": "a key", "revision": "a hash", "params": "listed where they hold a prompt"},
    "models_runtime.TrainedModel": {
        "name": "listed", "backend": "a key", "params": "choices", "card": "figures, ids of notes", "losses": "numbers",
        "hold_out": "numbers",
    },
    "models_runtime.Calibration": {
        "backend": "a key", "revision": "a hash", "gold_hash": "a hash of all notes", "left_out": "counts",
        "curves": "numbers", "figures": "numbers",
    },
    "models_runtime.Judging": {
        "split": "a choice", "language": "a code", "prompt": "listed", "prompt_version": "a number", "labels": "labels",
        "rules": "a key", "unit": "a choice",
    },
    "models_runtime.InjectedRun": {
        "rules": "names of rules", "possible": "counts", "terms": "words of the notes are deleted (forget_terms)"
    },
    "models_runtime.SystemicError": {"name": "a manager's, of a-z, 0-9 and hyphens", "label": "a code"},
    "models_runtime.Refinement": {
        "method": "a choice", "params": "choices", "revision": "a hash", "server": "of the settings",
        "model": "of the settings", "language": "a code", "prompt": "shipped, with the listed labels",
        "prompt_version": "shipped", "switched_off": "choices", "key": "a hash or an id",
    },
    "models_runtime.ReviewSkill": {"name": "listed with the text", "labels": "codes", "text": "listed"},
    "models_runtime.Judge": {"server": "of the settings", "model": "of the settings", "stopped": "a server's error"},
    "models_runtime.Feed": {
        "name": "a manager's, of a-z, 0-9 and hyphens", "source": "a folder of the server",
        "target": "a folder of the server", "backend": "a key or a model's name, which is listed",
        "period": "a choice", "problem": "in plain words, without names of notes or files",
    },
    "models_runtime.FeedDelta": {"folder": "a day"},
    "models_runtime.Tombstone": {
        "path": "a day and a neutral name", "sha256": "of released text", "reason": "a choice"
    },
    "models_runtime.LlmUsage": {"currency": "a code"},
}  # fmt: skip
WORDS = (models.CharField, models.TextField, models.JSONField, models.BinaryField)
OURS = ("annotations", "models_runtime")


def forward(model):
    return [field for field in model._meta.concrete_fields if field.is_relation]


def reaches(model, target, seen=frozenset()):
    """Return whether a chain of foreign keys leads from a model to the target."""
    if model is target:
        return True
    return any(
        reaches(field.related_model, target, seen | {model})
        for field in forward(model)
        if field.related_model not in seen | {model}
    )


def goes_with_notes(model, seen=frozenset()):
    """Return whether deleting a note deletes the row, by required foreign keys that cascade."""
    if model is Document:
        return True
    return any(
        goes_with_notes(field.related_model, seen | {model})
        for field in forward(model)
        if field.remote_field.on_delete is models.CASCADE
        and not field.null
        and field.related_model not in seen | {model}
    )


def concerned():
    for model in apps.get_models():
        ours = model._meta.app_label in OURS
        if ours and (model in (ChangedGold, Event, Stale) or reaches(model, Document) or reaches(model, Project)):
            yield model


@pytest.mark.parametrize("model", list(concerned()), ids=lambda model: model._meta.label)
def test_each_table_is_emptied_or_has_a_reason(model):
    label = model._meta.label
    if goes_with_notes(model) or label in EMPTIED:
        assert label not in STAYS
        return
    assert label in STAYS, f"{label}: what happens to this table when a patient is erased?"
    words = {
        field.name
        for field in model._meta.concrete_fields
        if isinstance(field, WORDS) and not field.is_relation and not field.choices
    }
    explained = {name for name in STAYS[label] if not model._meta.get_field(name).choices}
    assert words == explained, f"{label}: what happens to these columns when a patient is erased?"
