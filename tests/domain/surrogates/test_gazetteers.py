"""Made-up names: drawn from a list's letters, the same for a seed."""

import random

from annotations.domain.surrogates.gazetteers import Chain

WORDS = ("Marino", "Martino", "Marchetti", "Mariani", "Moretti", "Monti", "Montanari", "Ferrari", "Ferri", "Fontana")


def test_made_up_words_stay_the_same() -> None:
    """Otherwise a project's surrogates would change."""
    source, chain = random.Random(18), Chain(WORDS)
    assert [chain.coin(source, "Marino") for _ in range(4)] == ["Montana", "Montana", "Fonti", "Montana"]


def test_a_made_up_word_is_none_of_the_list() -> None:
    chain, source = Chain(WORDS), random.Random(7)
    made = {chain.coin(source, "Marino") for _ in range(200)}
    assert len(made) > 2 and not {word.lower() for word in made} & {word.lower() for word in WORDS}
