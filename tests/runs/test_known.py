"""Runs of the backend `known`: every note with its own patient; the command; ensembles; revisions."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import Job, Label, Span
from annotations.release.rules.known.person import MasterPerson
from annotations.release.services.known import add_terms, store_people
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble
from models_runtime.runs.services.runs import start_run
from tests import factories as make
from tests.release.known.files import CSV

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
MARIO = MasterPerson(given=("Mario",), family=("Brambillaschi",))
MARIO_THERE = "BRAMBILLASCHI, Mario"
LUCREZIA = MasterPerson(given=("Lucrezia",), family=("Pontevecchio",))
TEXT = "Visto il sig. BRAMBILLASCHI, Mario con Lucrezia Pontevecchio a Villa Azul."


@pytest.fixture
def project():
    project = make.make_project("ward")
    for patient in ("P-1", "P-2", "", "P-9"):
        make.make_note(project, TEXT, patient_id=patient)
    return project


@pytest.fixture
def known(project):
    store_people(project=project, people={"P-1": MARIO, "P-2": LUCREZIA}, problems=0, actor=None)
    add_terms(project=project, kind="deny", terms=[("villa azul", "CITY")], actor=None)
    return project


def spans_of(run):
    work(Job.objects.get(run=run).pk)
    rows = Span.objects.filter(annotation_set__author=run.author).order_by("annotation_set__document", "start")
    return [
        (span.annotation_set.document.patient_id, TEXT[span.start : span.end], span.label.code, span.source)
        for span in rows.select_related("annotation_set__document", "label")
    ]


def test_every_note_has_the_identifiers_of_its_own_patient(known):
    run = start_run(project=known, backend="known", actor=None, key="k")
    villa = ("Villa Azul", "CITY", "known.denied")
    assert spans_of(run) == [
        ("P-1", MARIO_THERE, "PATIENT", "known.order"), ("P-1", *villa),
        ("P-2", "Lucrezia Pontevecchio", "PATIENT", "known.exact"), ("P-2", *villa), ("", *villa), ("P-9", *villa),
    ]  # fmt: skip
    run.refresh_from_db()
    # The revision changes with the master and the lists.
    for key, same in (("again", True), ("changed", False)):
        if not same:
            add_terms(project=known, kind="allow", terms=[("mario", "")], actor=None)
        other = start_run(project=known, backend="known", actor=None, key=key)
        spans_of(other)
        other.refresh_from_db()
        assert (other.revision == run.revision) == same
    said = json.dumps([run.params, run.revision, run.job.params, run.job.result])
    assert "Brambillaschi" not in said and "azul" not in said.lower()


def test_what_a_run_lacks_is_said(project, tmp_path, request):
    def refused(why):
        with pytest.raises(ServiceError, match=why):
            start_run(project=project, backend="known", actor=None, key="k")

    refused("no patient master and no deny list")
    with pytest.raises(CommandError, match="can't be read"):
        call_command("known_identifiers", "ward", master=str(tmp_path / "none.csv"))
    request.getfixturevalue("known")
    Label.objects.filter(label_set__project=project, code="CITY").update(code="TOWN", name="TOWN")
    refused("no longer has: CITY")


def test_a_member_of_an_ensemble_knows_the_patients_too(known):
    members = [MemberChoice("known", None), MemberChoice("rules", None)]
    known.label_set.key = "i2b2-2014"
    known.label_set.save()
    run = start_ensemble(project=known, members=members, method="union", actor=None, name="", key="k")
    found = spans_of(run)
    assert ("P-1", MARIO_THERE) in [row[:2] for row in found]
    assert not [row for row in found if row[0] == "P-9" and row[1] == MARIO_THERE and "known" in row[3]]


def test_the_command_imports_lists_runs_and_counts(project, tmp_path, capsys):
    (tmp_path / "master.csv").write_bytes(CSV)
    (tmp_path / "deny.txt").write_text("Villa Azul\tCITY\nTorre Blu\n")
    (tmp_path / "allow.txt").write_text("Ponte\n")
    files = {path.stem: str(path) for path in tmp_path.glob("*.*")}
    call_command("known_identifiers", "ward", run="known-a", json=True, **files)
    found = json.loads(capsys.readouterr().out)
    assert found["master"]["added"] == 2 and found["master"]["problems"] == 1
    assert found["master"]["file"]["unknown"] == ["shoe size"]
    assert (found["allow"], found["deny"]) == ({"added": 1, "already": 0}, {"added": 2, "already": 0})
    assert (found["patients"], found["notes"], found["covered"]) == (2, 4, 2)
    assert found["run"] | {"job": 0} == {
        "run": "known-a", "job": 0, "spans": 6, "done": 4, "failed": 0, "pending": 0, "errors": []
    }  # fmt: skip
