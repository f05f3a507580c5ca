"""The measures of Singh et al. 2025, appendix A.7."""

import pytest

from annotations.domain.redaction.kinds import Kind
from annotations.domain.surrogates.measures import Replaced, measure, preserves
from annotations.domain.surrogates.pipeline import Mentioned, Surrogate
from tests.domain.surrogates.worlds import person

CHANG = person("Kevin", "Chang", gender="m")


def row(entity: int, old: str, new: str, surrogate: Surrogate = CHANG, kind: Kind = Kind.NAME) -> Replaced:
    return Replaced(entity, Mentioned(1, 0, len(old), kind, old), new, surrogate, "en")


def test_of_nothing() -> None:
    found = measure([])
    assert (found.preserved, found.consistent, found.mentions) == (None, None, 0)


def test_counts() -> None:
    lee = person("Amy", "Lee")
    found = measure(
        [
            row(1, "Dr. Adam Wilson", "Dr. Kevin Chang"),
            row(1, "Wilson", "Chang"),
            row(2, "Mary Ross", "Amy Lee", lee),
            row(2, "Ross", "Chang"),  # another surrogate elsewhere
            row(3, "John Carr", "John Carr", person("Kevin", "Chang")),  # the original, and a collision with 1 and 2
        ]
    )
    assert found.as_dict() == {
        "mentions": 5,
        "entities": 3,
        "preserved": 1.0,
        "consistent": pytest.approx(2 / 3),
        "collisions": 1,
        "originals_left": 1,
    }


HOSPITAL = Surrogate(Kind.HOSPITAL, {"s0": "Lima", "value": "Lima Medical Center"})
KEPT = [
    (row(1, "Dr. Adam Wilson", "Dr. Kevin Chang"), True),
    (row(1, "Dr. Adam Wilson", "Kevin Chang"), False),  # the title is gone
    (row(1, "WILSON", "Chang"), False),  # the case
    (row(1, "Wilson, Adam", "Kevin Chang"), False),  # the order
    (row(1, "Mrs. Wilson", "Mrs. Chang"), False),  # the gender of the surrogate
    (row(1, "Lincoln Medical Center", "Lima Medical Center", HOSPITAL, Kind.HOSPITAL), True),
    (row(1, "Lincoln Medical Center", "Lima School", HOSPITAL, Kind.HOSPITAL), False),  # the type
    (row(1, "Lincoln Medical Center", "Lima", HOSPITAL, Kind.ORGANIZATION), False),  # the kind
    (row(1, "a@b.org", "c@example.org", Surrogate(Kind.EMAIL, {"value": "c@example.org"}), Kind.EMAIL), True),
    (row(1, "a@b.org", "c", Surrogate(Kind.EMAIL, {"value": "c"}), Kind.EMAIL), False),
]


@pytest.mark.parametrize(("replaced", "kept"), KEPT)
def test_what_is_kept(replaced: Replaced, kept: bool) -> None:
    assert preserves(replaced) is kept


def test_professions_may_repeat() -> None:
    clerk = Surrogate(Kind.PROFESSION, {"value": "clerk"})
    rows = [row(at, old, "clerk", clerk, Kind.PROFESSION) for at, old in enumerate(("baker", "farmer"))]
    assert measure(rows).collisions == 0
