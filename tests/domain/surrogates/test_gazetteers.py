"""Made-up names: drawn from a list's letters, the same for a seed."""

import random

from annotations.domain.surrogates.gazetteers import Chain

WORDS = ("Marino", "Martino", "Marchetti", "Mariani", "Moretti", "Monti", "Montanari", "Ferrari", "Ferri", "Fontana")


def drawn(chain: Chain, source: random.Random) -> str:
    """A word of the chain, letter by letter with random.choice."""
    before, word = "^^^", ""
    while len(word) < 14:
        letter = source.choice(chain._next[before])
        if letter == "$":
            return word
        word += letter
        before = before[1:] + letter
    return ""


def test_letters_are_drawn_as_random_choice_draws_them() -> None:
    """Otherwise a project's surrogates would change."""
    chain = Chain(WORDS)
    ours, theirs = random.Random(18), random.Random(18)
    assert [chain._word(ours) for _ in range(300)] == [drawn(chain, theirs) for _ in range(300)]


def test_a_made_up_word_is_none_of_the_list() -> None:
    chain, source = Chain(WORDS), random.Random(7)
    made = {chain.coin(source, "Marino") for _ in range(200)}
    assert len(made) > 2 and not {word.lower() for word in made} & {word.lower() for word in WORDS}
