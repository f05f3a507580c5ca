"""The shipped policies: total, possible, and what the laws say about single kinds."""

import pytest

from annotations.domain.redaction.kinds import Kind, kinds_of
from annotations.domain.redaction.policy import Action, Policy, PolicyError, Rule, actions_for
from annotations.domain.redaction.shipped import SHIPPED, rules_for


def test_there_are_six_in_the_order_of_the_command() -> None:
    assert list(SHIPPED) == ["mask", "safe-harbor", "limited", "surrogate", "hash", "remove"]


@pytest.mark.parametrize("slug", SHIPPED)
def test_each_policy_has_a_possible_action_for_every_kind(slug: str) -> None:
    assert set(SHIPPED[slug].actions) == set(Kind)
    assert all(action in actions_for(kind) for kind, action in SHIPPED[slug].actions.items())


STAYS = {
    Kind.DATE: "dates",
    Kind.CITY: "cities",
    Kind.REGION: "states",
    Kind.COUNTRY: "countries",
    Kind.ZIP: "zip codes",
    Kind.PROFESSION: "professions",
    Kind.SEX: "sex",
    Kind.ETHNICITY: "ethnicity",
    Kind.AGE: "ages",
}


@pytest.mark.parametrize("slug", SHIPPED)
def test_each_description_names_everything_that_stays(slug: str) -> None:
    policy = SHIPPED[slug]
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


def test_a_label_without_a_kind_and_an_unknown_policy_are_errors_that_name_them() -> None:
    with pytest.raises(PolicyError, match="no kind: NEW, OTHER"):
        rules_for("mask", {"OTHER": None, "NAME": Kind.NAME, "NEW": None})
    with pytest.raises(PolicyError, match=r"“nothing”.*mask, safe-harbor"):
        rules_for("nothing", {})


def test_an_impossible_rule_is_an_error_that_names_the_choices() -> None:
    policy = Policy({"NAME": Rule(Kind.NAME, Action.SHIFT)})
    with pytest.raises(PolicyError, match=r"can't shift NAME.*keep, mask, remove, hash, surrogate"):
        policy.require([])


@pytest.mark.parametrize("kind", ["date", "sex", "family", "ethnicity", "biometric", "other"])
def test_dates_and_descriptions_have_no_surrogates(kind: str) -> None:
    policy = Policy({"X": Rule(Kind(kind), Action.SURROGATE)})
    with pytest.raises(PolicyError, match=rf"can't replace X by surrogates, whose kind is {kind}.*keep, mask, remove"):
        policy.require([])


def test_surrogates_keep_countries() -> None:
    assert SHIPPED["surrogate"].actions[Kind.COUNTRY] is Action.KEEP
    assert SHIPPED["surrogate"].actions[Kind.REGION] is Action.SURROGATE


def test_safe_harbor_and_the_limited_data_set_treat_places_and_dates_as_the_rule_says() -> None:
    safe, limited = SHIPPED["safe-harbor"].actions, SHIPPED["limited"].actions
    for kind in (Kind.NAME, Kind.STREET, Kind.PHONE, Kind.RECORD, Kind.URL, Kind.FAMILY, Kind.ORGANIZATION):
        assert (safe[kind], limited[kind]) == (Action.MASK, Action.MASK)
    for kind in (Kind.REGION, Kind.COUNTRY, Kind.SEX):
        assert (safe[kind], limited[kind]) == (Action.KEEP, Action.KEEP)
    assert (safe[Kind.CITY], limited[Kind.CITY]) == (Action.MASK, Action.KEEP)
    for kind in (Kind.DATE, Kind.AGE, Kind.ZIP):
        assert (safe[kind], limited[kind]) == (Action.GENERALIZE, Action.KEEP)
