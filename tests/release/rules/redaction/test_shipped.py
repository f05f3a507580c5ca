"""The shipped policies: total, possible, and what the laws say about single kinds."""

import pytest

from annotations.release.rules.redaction.policy import (
    SHIPPED,
    Action,
    LabelRule,
    Policy,
    PolicyError,
    actions_for,
    kinds_of,
    rules_for,
)
from annotations.release.rules.redaction.policy import IdentifierType as Kind

STAYS = {
    Kind.DATE: "dates", Kind.CITY: "cities", Kind.REGION: "states",
    Kind.COUNTRY: "countries", Kind.ZIP: "zip codes",
    Kind.PROFESSION: "professions", Kind.SEX: "sex", Kind.ETHNICITY: "ethnicity",
    Kind.AGE: "ages",
}  # fmt: skip


@pytest.mark.parametrize("slug", SHIPPED)
def test_each_policy_has_a_possible_action_for_every_kind_and_describes_what_stays(slug: str) -> None:
    policy = SHIPPED[slug]
    assert set(policy.actions) == set(Kind)
    assert all(action in actions_for(kind) for kind, action in policy.actions.items())
    kept = {kind for kind, action in policy.actions.items() if action == Action.KEEP}
    assert kept <= set(STAYS)
    assert [STAYS[kind] for kind in kept if STAYS[kind] not in policy.description.lower()] == []


@pytest.mark.parametrize("slug", SHIPPED)
@pytest.mark.parametrize("label_set", ["i2b2-2014", "hipaa-18", "meddocan", "it-4", "omissis", "redactor-33"])
def test_each_policy_is_total_for_the_shipped_label_sets(slug: str, label_set: str) -> None:
    kinds = kinds_of(label_set)
    rules = rules_for(slug, kinds)
    Policy(rules).require(kinds)
    assert Policy.read({code: rule.as_dict() for code, rule in rules.items()}) == Policy(rules)


def test_errors_name_labels_and_choices() -> None:
    with pytest.raises(PolicyError, match=r"can't shift NAME.*keep, mask, remove, hash, surrogate"):
        Policy({"NAME": LabelRule(Kind.NAME, Action.SHIFT)}).require([])


@pytest.mark.parametrize("kind", ["date", "sex", "family", "ethnicity", "biometric", "other"])
def test_dates_and_descriptions_have_no_surrogates(kind: str) -> None:
    policy = Policy({"X": LabelRule(Kind(kind), Action.SURROGATE)})
    with pytest.raises(PolicyError, match=rf"can't replace X by surrogates, whose kind is {kind}.*keep, mask, remove"):
        policy.require([])


def test_safe_harbor_and_the_limited_data_set_treat_places_and_dates_as_the_rule_says() -> None:
    safe, limited = SHIPPED["safe-harbor"].actions, SHIPPED["limited"].actions
    masked = (Kind.NAME, Kind.STREET, Kind.PHONE, Kind.RECORD, Kind.URL, Kind.FAMILY, Kind.ORGANIZATION)
    both = {(Action.MASK, Action.MASK): masked, (Action.KEEP, Action.KEEP): (Kind.REGION, Kind.COUNTRY, Kind.SEX)}
    both |= {
        (Action.MASK, Action.KEEP): (Kind.CITY,),
        (Action.GENERALIZE, Action.KEEP): (Kind.DATE, Kind.AGE, Kind.ZIP),
    }
    assert all((safe[kind], limited[kind]) == actions for actions, kinds in both.items() for kind in kinds)
    surrogate = SHIPPED["surrogate"].actions
    assert (surrogate[Kind.COUNTRY], surrogate[Kind.REGION]) == (Action.KEEP, Action.SURROGATE)
