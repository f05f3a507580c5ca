"""No form of a name leaves a part of it, whatever the name."""

import random

from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.redaction.kinds import Kind
from annotations.domain.surrogates.folding import folded
from annotations.domain.surrogates.gazetteers import names_of
from annotations.domain.surrogates.generating.rules import RuleGenerator
from annotations.domain.surrogates.pipeline import Around
from annotations.domain.surrogates.writing import Writer
from tests.domain.surrogates.worlds import one

MANNERS = (
    "{given} {family}",
    "{family}, {given}",
    "Dr. {given} {family}",
    "Dra. {family}",
    "{given}",
    "{family}'s",
    "{given} de la {family}",
    "{given} {family}-{family}",
)


@st.composite
def names(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """A language, forms of one name, and its parts."""
    language = draw(st.sampled_from(["en", "es", "it"]))
    lists = names_of(language)
    first = draw(st.sampled_from(sorted(known.text for known in lists.given.values())) | st.just("Yrsa"))
    last = draw(st.sampled_from(sorted(known.text for known in lists.surnames.values())) | st.just("Quetzalli"))
    forms = [manner.format(given=first, family=last) for manner in draw(st.lists(st.sampled_from(MANNERS), min_size=1))]
    case = draw(st.sampled_from([str, str.upper, str.lower]))
    return language, [case(form) for form in forms], [first, last]


@given(names(), st.integers(0, 5))
def test_no_part_of_a_name_stays(name: tuple[str, list[str], list[str]], attempt: int) -> None:
    language, forms, parts = name
    cluster = one(Kind.NAME, *forms, language=language)
    surrogate = RuleGenerator(random.Random(3)).generate(cluster, Around(), frozenset(), attempt)
    writer = Writer(surrogate, cluster)
    for mention in cluster.mentions:
        new = writer.write(mention)
        assert not {folded(part) for part in parts} & set(folded(new).split()), (mention.text, new)
        assert new.isupper() == mention.text.isupper()
