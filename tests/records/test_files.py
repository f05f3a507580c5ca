"""Files of records through the command: A.9's record, what is refused, what waits, what the gate holds back."""

import json

import pytest
from fhir.resources.R4B.bundle import Bundle

from annotations.models import Event, Record, Release
from annotations.records.rules.fhir import RESOURCES
from annotations.records.services.schemas import activate_schema, add_schema
from tests.records import fhir
from tests.records.world import (
    LISTING_1,
    LISTING_2,
    NOTE,
    STRINGS,
    active,
    label_strings,
    lines,
    saved,
    ward,
)
from tests.worlds.commands import answered

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(db):
    return ward()


def run(tmp_path, records, *more, out="out.ndjson"):
    (tmp_path / out).unlink(missing_ok=True)
    for beside in tmp_path.glob(f"{out}.*"):
        beside.unlink()
    source = saved(tmp_path / "in.ndjson", records)
    return answered("deid_records", "ward", source, tmp_path / out, *more)


def test_the_record_of_the_source_waits_for_review_and_leaves_masked(project, tmp_path):
    active(project, LISTING_1)
    first = run(tmp_path, [LISTING_2], "--type", "clinicalRecord")
    assert (first["records"], first["refused"], first["waiting"], first["leaks"]) == (0, 0, 1, 0)
    record = Record.objects.select_related("document").get()
    assert record.document.patient_id == "123456789" and NOTE in record.document.text
    label_strings(record.document, STRINGS)
    second = run(tmp_path, [LISTING_2], "--type", "clinicalRecord")
    assert (second["records"], second["waiting"], second["leaks"]) == (1, 0, 0), second["problems"]
    (found,) = lines(tmp_path / "out.ndjson")
    assert found["AGE"] == "[AGE]" and len(found["PatientId"]) == 32 != found["MRN"]
    assert not [string for string in STRINGS if string in found["note"]], "the visit dates are masked, too"
    assert "Type 2 diabetes" in found["note"] and "Social Security Number: [SSN]" in found["note"]
    manifest = json.loads((tmp_path / "out.ndjson.manifest.json").read_text())
    assert manifest["release"]["number"] == Release.objects.get().number and manifest["records"] == 1
    assert Event.objects.filter(verb="records.written").count() == 2


def fhir_ready(project, *types):
    for name in types:
        activate_schema(schema=add_schema(project=project, text=f"shipped:{name}", actor=None), actor=None)


def test_a_bundle_of_a_thousand_resources_stays_valid_and_its_links_hold(project, tmp_path):
    fhir_ready(project, *RESOURCES)
    resources = [fhir.patient(), *fhir.others(), *(fhir.observation(number) for number in range(993))]
    source = tmp_path / "in.json"
    source.write_text(json.dumps(fhir.bundle(resources)))
    result = answered("deid_records", "ward", source, tmp_path / "out.json", "--policy", "safe-harbor")
    assert (result["records"], result["refused"], result["leaks"]) == (1, 0, 0), result["problems"]
    text = (tmp_path / "out.json").read_text()
    found = json.loads(text)
    Bundle.model_validate(found)
    first, *rest = [entry["resource"] for entry in found["entry"]]
    assert len(rest) == 999 and {one["subject"]["reference"] for one in rest} == {f"Patient/{first['id']}"}
    assert found["entry"][0]["fullUrl"] == f"https://fhir.invalid/Patient/{first['id']}"
    weight = rest[-1]
    assert weight["valueQuantity"]["value"] == 61.5 and weight["effectiveDateTime"] == "2024"
    assert weight["issued"] == "2024-01-01T00:00:00Z", "an instant can't be a year alone"
    assert not [
        word for word in ("Rossi", "Maria", "pat-1", "obs-", "Torino", "650 555", "A98765", "TWFy") if word in text
    ]
