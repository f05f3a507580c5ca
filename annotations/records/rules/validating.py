"""Whether a de-identified record is valid: by its schema, and FHIR by fhir.resources.

Only workers and commands load that library, which is slow to load.
"""

from typing import Any

from annotations.records.rules.plans import RecordError, RecordPlan


def check_output(plan: RecordPlan, output: Any) -> None:
    """Raise RecordError unless the output of a record is valid. Names of elements are not values of the record."""
    if not plan.fhir:
        plan.check(output)
        return
    from fhir.resources.R4B import get_fhir_model_class

    try:
        get_fhir_model_class(plan.data_type).model_validate(output)
    except (ValueError, RecursionError) as error:
        path, kind = "", "nested too deeply"
        if isinstance(error, ValueError) and hasattr(error, "errors"):
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            path, kind = "".join(f"/{part}" for part in first["loc"]), str(first["type"])
        raise RecordError(path, "The de-identified resource is not valid FHIR R4: {kind}.", kind) from None
