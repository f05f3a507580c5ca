"""Routes of release policies: list, read with all versions, create, edit."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from django.http import HttpResponse
from django.utils.translation import gettext as _
from ninja import Field

from annotations.core.access import Access, Can
from annotations.core.api.answers import check_if_match, unless_stale
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, Username, invalid, named
from annotations.models import Project
from annotations.release.forms import policies
from annotations.release.rules.redaction.policy import Action, IdentifierType, LabelRule
from annotations.release.services.policies import codes_of, read_policy, save_policy, with_merged

router = ProjectRouter(tags=["Releases"])
PATH = "/projects/{slug:slug}/releases/policies"


class RuleItem(Body):
    """What a release does with the spans of a label. `numbered`: masks count the entities of a note."""

    kind: IdentifierType
    action: Action
    numbered: bool = False


class PolicyItem(Answer):
    """A policy. `version` is 0 for a shipped policy that nobody has used yet.

    `unmapped` are the codes of labels without a rule; the next release masks them, or is told their kinds.
    """

    policy: str = Field(validation_alias="row.slug")
    version: int = Field(validation_alias="row.version")
    name: str
    about: str = Field(validation_alias="text")
    unmapped: list[str] = Field(validation_alias="missing")


class RuleChange(Answer):
    """A label whose rule a version changed, with both rules in words; empty where there was or is none."""

    label: str = Field(validation_alias="look.code")
    before: str
    after: str


class PolicyVersion(Answer):
    version: int = Field(validation_alias="row.version")
    name: str = Field(validation_alias="row.name")
    created_by: Username = Field(validation_alias="row.created_by")
    created_at: datetime = Field(validation_alias="row.created_at")
    changes: list[RuleChange]


class PolicyWithRules(PolicyItem):
    """A policy with its rule for each label code, and its versions, the newest first."""

    rules: dict[str, RuleItem]
    versions: list[PolicyVersion]


class NewPolicy(Body):
    """A policy under a new short name. It needs a rule for every label of the project."""

    policy: str = Field(max_length=policies.SLUG_LENGTH, description="Short name: a-z, 0-9, “_” and “-”.")
    name: str = Field(max_length=policies.NAME_LENGTH)
    rules: dict[str, RuleItem]


class ChangedPolicy(Body):
    """What to change of a policy. Rules for labels that are not named stay as they are."""

    name: str | None = Field(None, max_length=policies.NAME_LENGTH)
    rules: dict[str, RuleItem] = {}


FIELDS = {"slug": "policy", "name": "name", "unmapped": "rules", "policy": "rules"}


@router.get(PATH, Can.RELEASE, response=list[PolicyItem])
def list_policies(access: Access) -> list[policies.OfferedPolicy]:
    """List the policies of a project, shipped ones first."""
    return policies.offered_policies(access.project)


@router.post(PATH, Can.RELEASE, response={201: PolicyWithRules})
def new_policy(response: HttpResponse, access: Access, body: NewPolicy) -> PolicyWithRules:
    """Create a policy under a new short name."""
    rules = with_merged(access.project, _sent(access.project, body.rules))
    with named(FIELDS):
        made = save_policy(
            project=access.project, slug=body.policy, name=body.name, rules=rules, actor=access.user, new=True
        )
    return _shown(response, access.project, made.slug)


@router.get(f"{PATH}/{{slug:policy}}", Can.RELEASE, response=PolicyWithRules)
def read_release_policy(response: HttpResponse, access: Access, policy: str) -> PolicyWithRules:
    """Read a policy with its rules and versions. The ETag names its version."""
    return _shown(response, access.project, policy)


@router.patch(f"{PATH}/{{slug:policy}}", Can.RELEASE, response=PolicyWithRules)
def change_policy(
    request: ApiRequest, response: HttpResponse, access: Access, policy: str, body: ChangedPolicy
) -> PolicyWithRules:
    """Save the next version of a policy. Releases keep the version that they used."""
    current = policies.offered_policy(access.project, policy)
    seen = current.row.version if check_if_match(request, _etag(current)) else None
    name = current.row.name if body.name is None else body.name
    before = read_policy(current.row.rules).rules
    rules = with_merged(access.project, {**before, **_sent(access.project, body.rules)})
    with unless_stale(lambda: _etag(policies.offered_policy(access.project, policy)), code="changed"), named(FIELDS):
        save_policy(project=access.project, slug=policy, name=name, rules=rules, actor=access.user, seen=seen)
    return _shown(response, access.project, policy)


def _sent(project: Project, rules: Mapping[str, RuleItem]) -> dict[str, LabelRule]:
    """The rules of a request. Raises Problem (422) for codes that are not labels of the project."""
    if unknown := sorted(rules.keys() - set(codes_of(project))):
        raise invalid(*((f"rules.{code}", _("The project has no label with this code.")) for code in unknown))
    return {
        code: LabelRule(item.kind, item.action, item.numbered and item.action is Action.MASK)
        for code, item in rules.items()
    }


def _etag(one: policies.OfferedPolicy) -> str:
    missing = hashlib.sha256(",".join(one.missing).encode()).hexdigest()[:8]
    return f'"policy-{one.row.slug}-{one.row.version}-{missing}"'


def _shown(response: HttpResponse, project: Project, policy: str) -> PolicyWithRules:
    found = policies.offered_policy(project, policy)
    response["ETag"] = _etag(found)
    rules = {code: RuleItem.model_validate(rule) for code, rule in read_policy(found.row.rules).rules.items()}
    versions = list(map(PolicyVersion.model_validate, policies.history_of(project, policy)))
    return PolicyWithRules(**PolicyItem.model_validate(found).dict(), rules=rules, versions=versions)
