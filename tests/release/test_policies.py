"""Policies: shipped ones, versions, and that every label has a rule."""

import pytest
from django.db import connection

from annotations.core.services import ServiceError
from annotations.models import Event, Label, ReleasePolicy
from annotations.release.rules.redaction.policy import SHIPPED
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.services import policies
from tests.factories import reread
from tests.release.conftest import new_project
from tests.worlds.checks import refused


def add_label(project, code, merged_into=None):
    like = project.label_set.labels.first()
    return Label.objects.create(
        label_set=like.label_set, category=like.category, code=code, name=code.title(), placeholder=f"[{code}]",
        position=99, merged_into=merged_into,
    )  # fmt: skip


@pytest.fixture
def project(db):
    return new_project()


@pytest.mark.both_databases
@pytest.mark.parametrize("version", [None, 1])
def test_first_use_by_two_at_once(project, version):
    """Another request saves the policy after the first search: both get the same row."""
    saved = []

    def other_request(execute, sql, *rest):
        found = execute(sql, *rest)
        if not saved and "releasepolicy" in sql:
            saved.append(None)
            saved[0] = policies.policy_named(project, "mask", version)
        return found

    with connection.execute_wrapper(other_request):
        mine = policies.policy_named(project, "mask", version)
    assert mine == saved[0] == ReleasePolicy.objects.get()


def test_versions_are_counted_and_never_changed(project):
    offered = [(policy.slug, policy.version, policy.pk) for policy in policies.policies_of(project)]
    assert offered == [(slug, 0, None) for slug in SHIPPED]
    assert not ReleasePolicy.objects.exists(), "shipped policies are offered before anybody uses them"
    first = policies.policy_named(project, "mask")
    assert first == policies.policy_named(project, "mask") == policies.policy_named(project, "mask", 1)
    assert Event.objects.filter(verb="policy.saved").count() == 1
    rules = first.rules | {"AGE": first.rules["AGE"] | {"action": "keep"}}
    for _ in range(2):
        second = policies.save_policy(project=project, slug="mask", name="Keeps ages", rules=rules, actor=None)
        assert second.version == 2
    assert reread(first).rules["AGE"]["action"] == "mask"
    assert policies.policy_named(project, "mask") == second and policies.policy_named(project, "mask", 1) == first
    assert [policy.version for policy in policies.policies_of(project) if policy.slug == "mask"] == [2]
    made = policies.save_policy(project=project, slug="own", name="Our own", rules=rules, actor=None)
    assert policies.policies_of(project)[-1] == made


SAID = {
    "vehicle": {"mask": "mask", "safe-harbor": "mask", "limited": "mask", "surrogate": "surrogate", "hash": "hash",
                "remove": "remove"},
    "country": {"mask": "mask", "safe-harbor": "keep", "limited": "keep", "surrogate": "keep", "hash": "keep",
                "remove": "remove"},
    "": dict.fromkeys(SHIPPED, "mask"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAID)
def test_a_label_that_somebody_added_is_masked_unless_its_kind_is_said_once(project, kind):
    edited = policies.policy_named(project, "mask")
    add_label(project, "SHIP")
    assert [label.code for label in policies.labels_without_kind(project)] == ["SHIP"]
    first = policies.policy_named(project, "mask", 1, kinds={"SHIP": Kind(kind)} if kind else None)
    assert (first.version, edited.rules.items() <= first.rules.items()) == (2, True)
    assert policies.labels_without_kind(project) == []
    found = {slug: policies.policy_named(project, slug).rules["SHIP"] for slug in SHIPPED}
    assert {slug: rule["action"] for slug, rule in found.items()} == SAID[kind]
    assert {rule["kind"] for rule in found.values()} == {kind or "other"}
    assert policies.policy_named(project, "mask", kinds={"SHIP": Kind(kind or "other")}) == first
    for label, other in (("SHIP", "city"), ("AGE", "city"), ("NONE", "other")):
        with refused("kinds"):
            policies.policy_named(project, "mask", kinds={label: Kind(other)})


def test_a_new_label_follows_the_label_of_its_kind_in_a_policy_of_ones_own(project):
    rules = policies.policy_named(project, "mask").rules
    rules |= {code: rules[code] | {"action": "keep"} for code in ("CITY", "HOSPITAL")}
    policies.save_policy(project=project, slug="own", name="Own", rules=rules, actor=None)
    add_label(project, "SHIP")
    add_label(project, "WARD")
    add_label(project, "OLD", merged_into=Label.objects.get(label_set__project=project, code="WARD"))
    found = policies.policy_named(project, "own", kinds={"WARD": Kind.HOSPITAL}).rules
    assert {code: found[code]["action"] for code in ("WARD", "OLD", "SHIP")} == {
        "WARD": "keep", "OLD": "keep", "SHIP": "mask"
    }  # fmt: skip
    lacking = {code: rule for code, rule in found.items() if code != "SHIP"}
    with pytest.raises(ServiceError, match="SHIP") as refused:
        policies.save_policy(project=project, slug="own", name="Own", rules=lacking, actor=None)
    assert refused.value.code == "unmapped"


def test_merged_labels_have_rules_since_frozen_gold_may_use_them(project):
    target = Label.objects.get(label_set__project=project, code="PATIENT")
    add_label(project, "KIN", merged_into=target)
    assert policies.policy_named(project, "mask").rules["KIN"]["kind"] == "name"


def test_what_is_refused(project):
    rules = policies.policy_named(project, "mask").rules
    for change, code in (
        ({"slug": "Not a slug"}, "slug"), ({"slug": ""}, "slug"), ({"name": " "}, "name"), ({"name": "n" * 81}, "name"),
        ({"rules": rules | {"AGE": {"kind": "age", "action": "burn"}}}, "policy"),
        ({"rules": rules | {"AGE": {"kind": "age", "action": "shift"}}}, "policy"),
    ):  # fmt: skip
        with refused(code):
            policies.save_policy(project=project, actor=None, **{"slug": "own", "name": "Own", "rules": rules} | change)
    assert not ReleasePolicy.objects.filter(slug="own").exists()
