"""Needles in the form in which the gate looks for them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from annotations.release.rules.leaks.dated import Dates
from annotations.release.rules.leaks.digits import Numbers
from annotations.release.rules.leaks.misspelled import Misspelled
from annotations.release.rules.leaks.needles import Needle, Sought, is_whole_only, names_person, names_place
from annotations.release.rules.leaks.spacing import Spacing
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.text.search import words

Worded = tuple[tuple[str, ...], Needle]
"""A needle with its words."""
Strings = dict[tuple[int, int], dict[tuple[str, ...], list[Sought]]]
"""Strings that share their longest word that isn't generic: by its place among their words and their number, and by all
words. A text is searched in time that doesn't depend on how many strings share the word.
"""


class Prepared:
    """The needles by their words, the long numbers and the dates in them, and the names that may be written otherwise.

    Most words of needles are in no released text. `strings_of` makes the strings of a word when a text first has it.
    """

    def __init__(
        self,
        needles: Iterable[Needle],
        numbers: Numbers,
        dates: Dates,
        strings_of: Callable[[str, Sequence[Worded]], Strings],
    ) -> None:
        self.numbers = numbers
        self.dates = dates
        self._spacing = Spacing()
        self._misspelled = Misspelled()
        self._strings_of = strings_of
        self._by_word: defaultdict[str, list[Worded]] = defaultdict(list)
        self._made: dict[str, Strings] = {}
        for needle in needles:
            found = words(needle.text)
            worded = (found, needle)
            for word in found if len(found) < 2 else set(found):
                self._by_word[word].append(worded)
            if needle.kind is IdentifierType.DATE:
                dates.add(needle)
            elif len(found) == 1 or names_person(needle):
                self._spacing.add(found, needle)
            if names_person(needle) or names_place(needle):
                self._misspelled.add(found, with_digits=names_person(needle))
            if len(found) > 1 and not is_whole_only(needle) and (joined := "".join(found)).isalpha():
                self._by_word[joined].append(((joined,), needle))
        self._foreign = [word for word in self._by_word if not word.isascii()]

    def strings_in(self, found: set[str]) -> dict[str, Strings]:
        """The strings that may be in a folded text with these words, by their longest word that isn't generic."""
        strings = {word: self._strings(word) for word in (*(self._by_word.keys() & found), *self._foreign)}
        return {word: made for word, made in strings.items() if made}

    def respelled_in(self, text: str, present: set[str]) -> Iterator[tuple[Sought, int, int]]:
        """The names that a folded text with these words has in another spacing or misspelled, and where."""
        for word, start, end in chain(self._spacing.find(text), self._misspelled.find(text, present)):
            for sought in self._strings(word).get((0, 1), {}).get((word,), ()):
                yield sought, start, end

    def _strings(self, word: str) -> Strings:
        if word not in self._made:
            self._made[word] = self._strings_of(word, self._by_word[word])
        return self._made[word]
