"""Needles in the form in which the gate looks for them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from annotations.domain.folding import plain_words, words
from annotations.domain.leaks.digits import Numbers
from annotations.domain.leaks.needles import Needle, Sought

Worded = tuple[tuple[str, ...], Needle]
"""A needle with its words."""
Strings = dict[tuple[int, int], dict[tuple[str, ...], list[Sought]]]
"""Strings that share their longest word that isn't generic: by its place among their words and their number, and by all
words. A text is searched in time that doesn't depend on how many strings share the word.
"""


class Prepared:
    """The needles by their words, and the long numbers in them.

    Most words of needles are in no released text. `strings_of` makes the strings of a word when a text first has it.
    """

    def __init__(
        self, needles: Iterable[Needle], numbers: Numbers, strings_of: Callable[[str, Sequence[Worded]], Strings]
    ) -> None:
        self.numbers = numbers
        self._strings_of = strings_of
        self._by_word: defaultdict[str, list[Worded]] = defaultdict(list)
        self._made: dict[str, Strings] = {}
        for needle in needles:
            found = words(needle.text)
            worded = (found, needle)
            for word in found if len(found) < 2 else set(found):
                self._by_word[word].append(worded)
        self._foreign = [word for word in self._by_word if not word.isascii()]

    def strings_in(self, text: str) -> dict[str, Strings]:
        """The strings that may be in a folded text, by their longest word that isn't generic."""
        found = {}
        for word in (*(self._by_word.keys() & plain_words(text)), *self._foreign):
            strings = self._made.get(word)
            if strings is None:
                strings = self._made[word] = self._strings_of(word, self._by_word[word])
            if strings:
                found[word] = strings
        return found
