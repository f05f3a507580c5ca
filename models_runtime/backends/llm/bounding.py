"""Decide what the placeholders of a rewritten note stand for: the identifier alone, never the words beside it.

A model that rewrites a note can delete words beside an identifier, and the gap then covers these words too. The words
of a gap are therefore weighed: rules, lists of names, other mentions in the note, and the shape of the words support
them as an identifier of the placeholder's type. If that doesn't settle the bounds, the model is asked a second
question. Words that stay doubtful are listed with the suggestion, so that the reviewer sees them; a span of several
words never covers one that only its shape supports unless the model confirmed it or the reviewer is told.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

from annotations.text.spans import Bounds, Token
from models_runtime.backends.llm.aligning import Gap
from models_runtime.backends.llm.evidence import Evidence, Families, Support

# Limit of the ways to divide a gap between its placeholders.
_MOST_PLACEHOLDERS: Final = 4

Tokens = tuple[int, int]
"""First and past-the-last index of tokens."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An identifier: its bounds, the number of its placeholder in the gap, and the words in doubt (see Doubtful)."""

    bounds: Bounds
    placeholder: int
    removed: tuple[Bounds, ...] = ()
    unsupported: tuple[Bounds, ...] = ()


class Bounder:
    """Bounds the gaps of one piece of a note. `families`: what each placeholder can stand for, by its text."""

    def __init__(self, text: str, tokens: Sequence[Token], families: dict[str, Families]) -> None:
        self._text, self._tokens, self._families = text, tokens, families
        self._words = [text[token.start : token.end] for token in tokens]
        self._evidence = Evidence(text, tokens)
        self._mentions: dict[str, set[tuple[str, ...]]] = {}
        self._supports: dict[tuple[str, int], Support] = {}
        self._gaps: dict[str, set[tuple[str, ...]]] = {}

    def clear(self, gap: Gap) -> list[Bound] | None:
        """The identifiers of a gap whose words are all supported; None if there are doubts.

        Their words then support other gaps with the same placeholder.
        """
        placeholders, tokens = self._own(gap)
        if not placeholders:
            return []
        if len(placeholders) == 1:
            self._gaps.setdefault(gap.placeholders[placeholders[0]], set()).add(self._said(self._trimmed(tokens)))
        paired = (self._paired(division, placeholders) for division in self._divisions(placeholders, tokens))
        divided = [
            parts
            for parts in paired
            if all(self._all_supported(gap.placeholders[number], part) for part, number in parts)
        ]
        if len(divided) != 1 or gap.others != (gap.first, gap.past):
            return None
        for part, number in divided[0]:
            self._mentions.setdefault(gap.placeholders[number], set()).add(self._said(part))
        return [Bound(self._bounds(part), number) for part, number in divided[0]]

    def hidden(self, gap: Gap) -> Bounds:
        """The bounds of all words of a gap."""
        return self._bounds(self._own(gap)[1])

    def doubtful(self, gap: Gap, answers: Sequence[tuple[Bounds, int]]) -> list[Bound]:
        """The identifiers of a gap with doubts. `answers`: the model's own bounds and placeholders, if it was asked."""
        placeholders, tokens = self._own(gap)
        divisions = self._best_divisions(gap, placeholders, tokens)
        found = self._answered(gap, tokens, answers)
        confirmed = self._confirmed(gap, found, answers)
        unclear = gap.others != (gap.first, gap.past) or (len(divisions) > 1 and not found)
        if found and len(placeholders) == 1:
            answered = {at for part, _ in found for at in range(*part)}
            found = self._with_known(gap.placeholders[placeholders[0]], placeholders[0], tokens, answered)
        if not found:
            found = [
                (stretch, number)
                for part, number in self._paired(divisions[0], placeholders)
                for stretch in self._stretches(gap.placeholders[number], part)
            ]
        if not found:
            # Nothing tells the bounds. A missed name harms more than a wide suggestion, of which the reviewer is told.
            found = [
                (self._without_clinical(gap.placeholders[number], part), number)
                for part, number in self._paired(divisions[0], placeholders)
            ]
        covered = {at for part, _ in found for at in range(*part)}
        removed = self._listed(at for at in range(*tokens) if at not in covered)
        bounds = []
        for part, number in found:
            placeholder = gap.placeholders[number]
            mentioned = self._mentioned(placeholder, part)
            weak = [
                at
                for at in range(*part)
                if unclear or not (at in mentioned or self._is_settled(placeholder, at, confirmed))
            ]
            bounds.append(Bound(self._bounds(part), number, removed, self._listed(weak)))
        return bounds

    def _is_settled(self, placeholder: str, at: int, confirmed: set[int]) -> bool:
        """Whether evidence supports a token: its own, or its shape and the model's answer together."""
        support = self._support(placeholder, at)
        return support in (Support.GLUE, Support.UNIT, Support.KNOWN) or (support is Support.SHAPE and at in confirmed)

    def _confirmed(
        self, gap: Gap, found: Sequence[tuple[Tokens, int]], answers: Sequence[tuple[Bounds, int]]
    ) -> set[int]:
        """The tokens that the model's answers confirm. An answer with clinical words repeats the mistake."""
        for (start, end), number in answers:
            families = self._families[gap.placeholders[number]]
            for at in range(gap.first, gap.past):
                inside = self._tokens[at].start < end and start < self._tokens[at].end
                if inside and self._evidence.is_clinical(at, families):
                    return set()
        return {at for part, _ in found for at in range(*part)}

    def _with_known(
        self, placeholder: str, number: int, tokens: Tokens, answered: set[int]
    ) -> list[tuple[Tokens, int]]:
        """The stretches of the words that the model answered with, or that are known without its answer."""
        mentioned = self._mentioned(placeholder, tokens)
        supports = {at: self._support(placeholder, at) for at in range(*tokens)}
        chosen = {at for at, each in supports.items() if at in answered | mentioned or each is Support.KNOWN}
        chosen |= {
            at
            for at, each in supports.items()
            if each is Support.UNIT and ({at - 1, at + 1} & chosen or {at - 2, at + 2} & chosen)
        }
        stretches: list[Tokens] = []
        for at in sorted(chosen):
            first, past = stretches[-1] if stretches else (at, -1)
            if stretches and all(supports[each] is Support.GLUE for each in range(past, at)):
                stretches[-1] = (first, at + 1)
            else:
                stretches.append((at, at + 1))
        return [(self._trimmed(part), number) for part in stretches]

    def _without_clinical(self, placeholder: str, part: Tokens) -> Tokens:
        """The tokens without clinical words at both ends; all if there is nothing else."""
        families = self._families[placeholder]
        inside = [
            at for at in range(*part) if self._words[at][0].isalnum() and not self._evidence.is_clinical(at, families)
        ]
        return (inside[0], inside[-1] + 1) if inside else part

    def _own(self, gap: Gap) -> tuple[list[int], Tokens]:
        """The placeholders and tokens of a gap without tags that the note itself has there."""
        first, past = gap.first, gap.past
        placeholders = list(range(len(gap.placeholders)))
        while placeholders and (own := self._tag(gap.placeholders[placeholders[0]], first, past)):
            first, placeholders = own[1], placeholders[1:]
        while placeholders and (own := self._tag(gap.placeholders[placeholders[-1]], first, past, last=True)):
            past, placeholders = own[0], placeholders[:-1]
        return (placeholders, (first, past)) if first < past else ([], (gap.first, gap.past))

    def _tag(self, tag: str, first: int, past: int, *, last: bool = False) -> Tokens | None:
        """The tokens of a tag with which these tokens begin, or end (`last`); None if they don't."""
        lengths = range(1, past - first + 1)
        parts = [(past - length, past) if last else (first, first + length) for length in lengths]
        return next(
            (part for part in parts if self._text[slice(*self._bounds(part))].casefold() == tag.casefold()), None
        )

    def _divisions(self, placeholders: list[int], tokens: Tokens) -> Iterator[list[Tokens]]:
        """All ways to divide the tokens between the placeholders, so that each has a word or number."""
        words = [at for at in range(*tokens) if self._words[at][0].isalnum()] or list(range(*tokens))
        if len(placeholders) > min(len(words), _MOST_PLACEHOLDERS):
            return
        for cuts in combinations(words[1:], len(placeholders) - 1):
            ends = [tokens[0], *cuts, tokens[1]]
            yield list(pairwise(ends))

    def _best_divisions(self, gap: Gap, placeholders: list[int], tokens: Tokens) -> list[list[Tokens]]:
        """The divisions that support most words; all tokens for the first placeholder if there are too few words."""
        by_support: dict[int, list[list[Tokens]]] = {}
        for division in self._divisions(placeholders, tokens):
            supported = sum(
                self._support(gap.placeholders[number], at) > Support.GLUE
                for part, number in self._paired(division, placeholders)
                for at in range(*part)
            )
            by_support.setdefault(supported, []).append(division)
        return by_support[max(by_support)] if by_support else [[tokens]]

    def _paired(self, division: list[Tokens], placeholders: list[int]) -> list[tuple[Tokens, int]]:
        """Each part, without signs at its ends, with its placeholder."""
        return [(self._trimmed(part), number) for part, number in zip(division, placeholders, strict=False)]

    def _all_supported(self, placeholder: str, part: Tokens) -> bool:
        supports = [self._support(placeholder, at) for at in range(*part)]
        content = [at for at in range(*part) if self._words[at][0].isalnum()]
        own = [at for at in content if self._support(placeholder, at) is not Support.UNIT]
        if len(own) <= 1:  # The placeholder stands for something, and only one word can be it.
            alone = len(content) == len(own)
            return not any(self._is_unlikely(placeholder, at, alone=alone) for at in own)
        if self._said(part) in self._mentions.get(placeholder, ()) or self._is_repeated(placeholder, part):
            return not any(self._evidence.is_clinical(at, self._families[placeholder]) for at in content)
        if Support.GLUE in (supports[0], supports[-1]):
            return False
        return Support.NONE not in supports and Support.SHAPE not in supports

    def _is_unlikely(self, placeholder: str, at: int, *, alone: bool) -> bool:
        """Whether a single word may be no identifier: a clinical word, or an unsupported one in small letters.

        In small letters, `alone`, it can still be an age, a date or a place, for example "ieri".
        """
        families = self._families[placeholder]
        small = self._words[at].islower() and self._support(placeholder, at) is Support.NONE
        return self._evidence.is_clinical(at, families) or (small and not (alone and families - {"name", "org"}))

    def _is_repeated(self, placeholder: str, part: Tokens) -> bool:
        """Whether all words have the shape of a name, and a longer gap with the same placeholder has them too.

        Words that vanish together each time don't support each other: the model can repeat a mistake. A listed name
        among them could be all that the placeholder stands for, as in "Mario Lasix".
        """
        said = self._said(part)
        shaped = all(
            Support.NONE < self._support(placeholder, at) <= Support.SHAPE and not self._words[at][0].isdigit()
            for at in range(*part)
        )
        return shaped and any(
            said == other[at : at + len(said)]
            for other in self._gaps.get(placeholder, ())
            for at in range(len(other) - len(said) + 1)
            if len(other) > len(said)
        )

    def _stretches(self, placeholder: str, part: Tokens) -> list[Tokens]:
        """The maximal stretches of tokens that other mentions, rules or their shape support."""
        mentioned = self._mentioned(placeholder, part)
        supports = {at: Support.KNOWN if at in mentioned else self._support(placeholder, at) for at in range(*part)}
        found: list[Tokens] = []
        begin = end = -1
        for at, support in supports.items():
            if support is Support.NONE:
                found.append((begin, end))
                begin = end = -1
            elif support > Support.GLUE:
                begin, end = at if begin < 0 else begin, at + 1
        stretches = [
            (first, past)
            for first, past in [*found, (begin, end)]
            if any(supports[at] > Support.UNIT for at in range(max(first, 0), past))
        ]
        # Beside a known identifier, other figures are more likely values: "54 anni, glicemia 140".
        known = [each for each in stretches if any(supports[at] is Support.KNOWN for at in range(*each))]
        return [each for each in stretches if each in known or not (known and self._has_only_figures(each))]

    def _has_only_figures(self, part: Tokens) -> bool:
        return all(self._words[at][0].isdigit() for at in range(*part) if self._words[at][0].isalnum())

    def _mentioned(self, placeholder: str, part: Tokens) -> frozenset[int]:
        """The tokens that are mentioned elsewhere in the note, under the same placeholder."""
        first, past = part
        return frozenset(
            each
            for said in self._mentions.get(placeholder, ())
            for at in range(first, past - len(said) + 1)
            if self._said((at, at + len(said))) == said
            for each in range(at, at + len(said))
        )

    def _answered(self, gap: Gap, tokens: Tokens, answers: Sequence[tuple[Bounds, int]]) -> list[tuple[Tokens, int]]:
        """The model's own bounds, without words that only stand beside supported ones."""
        found: list[tuple[Tokens, int]] = []
        for (start, end), number in answers:
            inside = [at for at in range(*tokens) if self._tokens[at].start < end and start < self._tokens[at].end]
            if not inside:
                continue
            part = self._trimmed((inside[0], inside[-1] + 1))
            stretches = self._stretches(gap.placeholders[number], part)
            found += [(stretch, number) for stretch in stretches or [part]]
        return sorted(found)

    def _support(self, placeholder: str, at: int) -> Support:
        key = placeholder, at
        if key not in self._supports:
            self._supports[key] = self._evidence.of(at, self._families[placeholder])
        return self._supports[key]

    def _trimmed(self, part: Tokens) -> Tokens:
        """The tokens without signs at both ends; all if there is no word or number."""
        inside = [at for at in range(*part) if self._words[at][0].isalnum()]
        return (inside[0], inside[-1] + 1) if inside else part

    def _said(self, part: Tokens) -> tuple[str, ...]:
        return tuple(word.casefold() for word in self._words[slice(*part)])

    def _bounds(self, part: Tokens) -> Bounds:
        return self._tokens[part[0]].start, self._tokens[part[1] - 1].end

    def _listed(self, numbers: "Iterator[int] | Sequence[int]") -> tuple[Bounds, ...]:
        """The bounds of the words and numbers among tokens, neighbors as one stretch."""
        found: list[Tokens] = []
        for at in numbers:
            if found and found[-1][1] == at:
                found[-1] = (found[-1][0], at + 1)
            else:
                found.append((at, at + 1))
        trimmed = [self._trimmed(part) for part in found]
        return tuple(self._bounds(part) for part in trimmed if self._words[part[0]][0].isalnum())
