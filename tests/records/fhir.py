"""Invented FHIR resources of one patient."""

from typing import Any


def patient(number: int = 1) -> dict[str, Any]:
    return {
        "resourceType": "Patient", "id": f"pat-{number}",
        "meta": {"versionId": "3", "lastUpdated": "2024-05-06T10:00:00Z"},
        "text": {"status": "generated", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\">Maria Rossi</div>"},
        "extension": [{"url": "http://example.org/birthPlace", "valueString": "Torino"}],
        "identifier": [{"system": "urn:oid:1.2.3", "value": f"A98765{number:04}"}],
        "name": [{"use": "official", "family": "Rossi", "given": ["Maria", "Luisa"], "prefix": ["Mrs."]}],
        "telecom": [{"system": "phone", "value": "+1 650 555 1234", "use": "home"}],
        "gender": "female", "birthDate": "1979-11-30", "_birthDate": {"extension": [{
            "url": "http://hl7.org/fhir/StructureDefinition/patient-birthTime", "valueDateTime": "1979-11-30T03:04:05Z",
        }]},
        "address": [{"line": ["123 Main St"], "city": "Palo Alto", "state": "CA", "postalCode": "94301"}],
        "multipleBirthInteger": 2,
    }  # fmt: skip


def observation(number: int, patient: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Observation", "id": f"obs-{number}", "status": "final",
        "category": [{"coding": [{"system": "http://terminology.hl7.org/CodeSystem/observation-category",
                                  "code": "vital-signs", "display": "Vital Signs"}]}],
        "code": {"coding": [{"system": "http://loinc.org", "code": "29463-7", "display": "Body Weight"}]},
        "subject": {"reference": f"Patient/pat-{patient}", "display": "Maria Rossi"},
        "encounter": {"reference": f"Encounter/enc-{number % 7}"},
        "effectiveDateTime": f"2024-05-{number % 28 + 1:02}T09:30:00+02:00", "issued": "2024-05-06T09:30:00.123+02:00",
        "valueQuantity": {"value": 61.5, "unit": "kg", "system": "http://unitsofmeasure.org", "code": "kg"},
        **more,
    }  # fmt: skip


def others(patient: int = 1) -> list[dict[str, Any]]:
    """A resource of each other type that is shipped, without free text."""
    subject = {"reference": f"Patient/pat-{patient}"}
    code = {"coding": [{"system": "http://snomed.info/sct", "code": "38341003", "display": "Hypertension"}]}
    return [
        {"resourceType": "Encounter", "id": "enc-1", "status": "finished", "class": {"code": "AMB"}, "subject": subject,
         "period": {"start": "2024-05-06", "end": "2024-05-07"}},
        {"resourceType": "Condition", "id": "con-1", "code": code, "subject": subject, "onsetDateTime": "2019-04"},
        {"resourceType": "MedicationRequest", "id": "mr-1", "status": "active", "intent": "order", "subject": subject,
         "medicationCodeableConcept": code, "authoredOn": "2024-05-06"},
        {"resourceType": "MedicationStatement", "id": "ms-1", "status": "active", "subject": subject,
         "medicationCodeableConcept": code, "effectivePeriod": {"start": "2024"}},
        {"resourceType": "DiagnosticReport", "id": "dr-1", "status": "final", "code": code, "subject": subject,
         "result": [{"reference": "Observation/obs-1"}]},
        {"resourceType": "DocumentReference", "id": "doc-1", "status": "current", "subject": subject,
         "content": [{"attachment": {"contentType": "text/plain", "data": "TWFyaWE="}}]},
    ]  # fmt: skip


def bundle(resources: list[dict[str, Any]]) -> dict[str, Any]:
    entry = [
        {"fullUrl": f"https://fhir.example.org/{one['resourceType']}/{one['id']}", "resource": one} for one in resources
    ]
    return {"resourceType": "Bundle", "id": "b1", "type": "collection", "entry": entry}
