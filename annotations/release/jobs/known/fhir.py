"""Validate FHIR Patient resources. Only workers and commands import this module, because it loads pydantic."""

from collections.abc import Collection
from typing import Any

from fhir.resources.R4B.patient import Patient

from annotations.release.rules.known.fhir_master import person_of, resources
from annotations.release.rules.known.master import Master, Problem


def read_fhir(data: bytes, patients: Collection[str]) -> Master:
    """Read a patient master from FHIR JSON. `patients` are the patient ids of notes. Raises MasterError.

    A resource that doesn't follow FHIR R4B is a problem, named by its number and element.
    """
    master = Master(encoding="utf-8")
    for number, resource in resources(data):
        try:
            Patient.model_validate(dict(resource))
        except (ValueError, RecursionError) as error:  # of pydantic; the latter for hundreds of levels
            master.rows += 1
            master.problems.append(Problem(number, _element(error), "fhir"))
            continue
        patient, person = person_of(resource, patients)
        master.add(patient, person, number)
    for person in master.people.values():
        master.columns.update({name: name for name in person.as_dict()})
    return master


def _element(error: Any) -> str:
    """The element of a resource that is wrong: "name.0.family"; empty if it is unknown.

    The names of elements are no values of the resource.
    """
    if isinstance(error, RecursionError):
        return ""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    return ".".join(str(part) for part in first["loc"] if str(part).isalnum())[:80]
