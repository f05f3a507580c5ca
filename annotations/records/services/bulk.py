"""What other processes need to de-identify the records of a project."""

from django.utils import timezone

from annotations.core.sealing import project_key
from annotations.core.services import ServiceError
from annotations.models import KnownPerson, Project, ReleasePolicy
from annotations.records.rules.arrow import RecordBatches
from annotations.records.rules.reader import KINDS_OF_RULES
from annotations.records.rules.schemas import FieldRule, check_schema
from annotations.records.selectors import active_schemas
from annotations.records.services.kinds import FieldGate, NamedKinds
from annotations.release.selectors.known import denied_terms, people_of


def record_batches(*, project: Project, policy: ReleasePolicy, data_type: str = "") -> RecordBatches:
    """De-identify record batches by the active schemas, under a policy, as `deid_records` does without free text.

    The object holds the patient master and the denied terms, which it seeks. Raises ServiceError `schema` without an
    active schema.
    """
    schemas = [row.schema for row in active_schemas(project).values()]
    if not schemas:
        raise ServiceError("No schema is active. Add one with “schema add”, review and activate it.", code="schema")
    kinds = NamedKinds(project, policy)
    rules = [leaf.rule for schema in schemas for leaf in check_schema(schema)]
    named = {rule.what for rule in rules if rule.what and rule.rule is not FieldRule.HASH}
    gate = FieldGate(project, kinds)
    patients = KnownPerson.objects.filter(project=project).order_by()
    return RecordBatches(
        schemas=schemas,
        kinds={name: kinds(name) for name in {*named, *KINDS_OF_RULES}},
        secret=project_key(project).secret,
        year=timezone.now().year,
        language=project.language,
        allowed=gate.allowed,
        place_words=gate.words,
        given=data_type,
        people=people_of(project, set(patients.values_list("patient_id", flat=True))),
        denied=denied_terms(project),
    )
