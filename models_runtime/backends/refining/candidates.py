"""Features of a stretch of a note, and stretches that are not gold, for the model that tells identifiers from text."""

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from annotations.text.spans import Bounds, Span, covered
from models_runtime.backends.notes import Note, read
from models_runtime.backends.refining.logistic import DecisionExample, Logistic, Vocabulary
from models_runtime.backends.rule_tags import FeatureRules

CONTEXT: Final = 3
"""Tokens on each side that are features."""
EDGE: Final = "_"
SURE: Final = 0.6
"""The measured precision of a rule from which on its label counts against another one."""
# Of a kind of stretch that is not gold, one in so many is an example; the hash of its place decides.
_ONE_IN: Final = {"lower": 8, "upper": 2, "number": 1, "pair": 1, "run": 1, "rule": 1}
MOST_EXAMPLES: Final = 4
"""Stretches that are not gold, for each gold span of the training notes, at most."""
_PAIR: Final = re.compile(r"[0-9]+(?:[/.,:-][0-9]+)+")


@dataclass(frozen=True)
class AnalyzedNote:
    """A note with its tokens, and what the rules find in it."""

    note: Note
    rules: dict[Bounds, str]
    by_token: list[str]
    sure: frozenset[Bounds]
    """What rules find that are right more often than not by SURE."""
    norms: list[str]
    """The normal form of each token, with CONTEXT edges before the first and after the last one."""


def read_note(text: str, rules: FeatureRules) -> AnalyzedNote:
    """Read a note for features. The rules are the validators: dates that exist, check digits, gazetteers."""
    note = read(text)
    (found,) = rules.predict([text])
    by_token = [""] * len(note.tokens)
    for span in found:
        for at in range(*covered(note.tokens, span.start, span.end)):
            by_token[at] = span.label
    sure = frozenset((span.start, span.end) for span in found if (span.confidence or 0.0) >= SURE)
    edges = [EDGE] * CONTEXT
    norms = [*edges, *(word.norm for word in note.words), *edges]
    return AnalyzedNote(note, {(span.start, span.end): span.label for span in found}, by_token, sure, norms)


def features(own: AnalyzedNote, start: int, end: int) -> list[str]:
    """The features of `text[start:end]`: its words and shapes, what is around it, and the opinion of the rules."""
    note = own.note
    first, past = covered(note.tokens, start, end)
    if first >= past:
        return ["bias"]
    words = note.words[first:past]
    norms = own.norms[first + CONTEXT : past + CONTEXT]
    found = [
        "bias",
        f"n={min(len(words), 6)}",
        f"q={' '.join(norms[:6])}",
        f"qs={' '.join(word.short for word in words[:6])}",
        f"rule={own.rules.get((start, end), '')}",
        *{f"part={own.by_token[at]}" for at in range(first, past)},
        *{f"b={norm}" for norm in norms[:12]},
        *(f"a{size}={words[0].lower[:size]}" for size in (2, 3, 4)),
        *(f"z{size}={words[-1].lower[-size:]}" for size in (2, 3, 4)),
        f"fs={words[0].shape}",
        f"ls={words[-1].shape}",
        f"upper={sum(word.shape[:1] == 'X' for word in words) / len(words):.1f}",
    ]
    position = note.positions[first]
    found += [f"field={position.field}", f"since={position.since}", f"into={min(position.into, 3)}"]
    found += [f"fq={position.field}|{words[0].short}", f"line={min(position.line, 12)}"]
    found += [f"memory={field}" for field in note.memory.get(words[0].lower, ())]
    around = own.norms[first : first + CONTEXT]
    after = own.norms[past + CONTEXT : past + 2 * CONTEXT]
    found += [f"l{CONTEXT - at}={norm}" for at, norm in enumerate(around)]
    found += [f"r{at + 1}={norm}" for at, norm in enumerate(after)]
    found += [f"l2l1={around[-2]} {around[-1]}", f"r1r2={after[0]} {after[1]}", f"l1r1={around[-1]} {after[0]}"]
    found += [f"l1q={around[-1]} {words[0].short}", f"r1q={words[-1].short} {after[0]}"]
    return found


def not_gold(own: AnalyzedNote, gold: Sequence[Span], most: int) -> list[Bounds]:
    """Stretches that overlap no gold span, at most `most`; the same ones every time.

    Words, numbers, pairs of numbers such as pressures, runs of capitalized words, and what the rules find.
    """
    taken = bytearray(len(own.note.text))
    for span in gold:
        taken[span.start : span.end] = b"\1" * (span.end - span.start)
    found = {
        bounds: lot
        for kind, bounds in _stretches(own)
        if taken.find(1, *bounds) < 0 and (lot := _lot(own.note.text, bounds)) % _ONE_IN[kind] == 0
    }
    return sorted(sorted(found, key=lambda bounds: (found[bounds], bounds))[:most])


def _lot(text: str, bounds: Bounds) -> int:
    return zlib.crc32(f"{bounds[0]} {text[bounds[0] : bounds[1]]}".encode("utf-8", "surrogatepass")) >> 4


def _stretches(own: AnalyzedNote) -> Iterator[tuple[str, Bounds]]:
    note = own.note
    yield from (("rule", bounds) for bounds in own.rules)
    yield from (("pair", match.span()) for match in _PAIR.finditer(note.text))
    run: list[int] = []
    for at, (token, word) in enumerate(zip(note.tokens, note.words, strict=True)):
        shape = word.shape[:1]
        if shape == "d":
            yield "number", (token.start, token.end)
        elif shape in ("X", "x") and token.end - token.start > 1:
            yield "upper" if shape == "X" else "lower", (token.start, token.end)
        if shape == "X":
            run.append(at)
            continue
        yield from _run(note, run)
        run = []
    yield from _run(note, run)


def _run(note: Note, run: Sequence[int]) -> Iterable[tuple[str, Bounds]]:
    if len(run) > 1 and note.positions[run[0]].line == note.positions[run[-1]].line:
        yield "run", (note.tokens[run[0]].start, note.tokens[run[-1]].end)


NEAR: Final = 2
"""Ends at most so many tokens away are compared with the annotation's own."""


class Ends(NamedTuple):
    """The tokens of a stretch: the first one and the one after the last."""

    first: int
    past: int


def end_examples(note: Note, gold: Sequence[Span], vocabulary: Vocabulary) -> list[DecisionExample]:
    """What gold teaches about begins and ends."""
    found = []
    for span in gold:
        own = Ends(*covered(note.tokens, span.start, span.end))
        if own.first < own.past:
            found += [
                DecisionExample(vocabulary.add(_features(note, ends, span.label, last)), ends == own)
                for last in (False, True)
                for ends in _moved(note, own, last)
            ]
    return found


def _moved(note: Note, own: Ends, last: bool) -> Iterator[Ends]:
    """The stretch itself, and those whose first or last token is at most NEAR tokens away, in the same line."""
    edge = own.past - 1 if last else own.first
    for by in range(-NEAR, NEAR + 1):
        ends = Ends(own.first, own.past + by) if last else Ends(own.first + by, own.past)
        at = ends.past - 1 if last else ends.first
        if 0 <= ends.first < ends.past <= len(note.tokens) and note.positions[at].line == note.positions[edge].line:
            yield ends


def _features(note: Note, ends: Ends, label: str, last: bool) -> list[str]:
    """The features of a begin, or with `last` of an end: two tokens on each side, in the line of the inner one."""
    inner, outer, step = (ends.past - 1, ends.past, 1) if last else (ends.first, ends.first - 1, -1)
    words, positions = note.words, note.positions
    line = positions[inner].line
    near = [
        words[at] if 0 <= at < len(words) and positions[at].line == line else None
        for at in (inner - step, inner, outer, outer + step)
    ]
    ii, i, o, oo = [EDGE if one is None else one.norm for one in near]
    iis, is_, os, oos = [EDGE if one is None else one.short for one in near]
    letter = "e" if last else "b"
    side = f"{letter}|{label}"
    found = [
        side,
        f"{side} n={min(ends.past - ends.first, 5)}",
        f"{side} i={i}",
        f"{side} o={o}",
        f"{side} is={is_}",
        f"{side} os={os}",
        f"{side} i={ii} {i}",
        f"{side} o={o} {oo}",
        f"{side} io={i} {o}",
        f"{side} ios={is_} {os}",
        f"{side} iios={iis} {is_} {os}",
        f"{side} ioos={is_} {os} {oos}",
        f"{side} iio={ii} {i} {o}",
        f"{letter} io={i} {o}",
    ]
    if near[2] is not None:
        a, b = sorted((inner, outer))
        found.append(f"{side} gap={note.tokens[a].end == note.tokens[b].start}")
    return found


def end_chances(model: Logistic, note: Note, span: Span, last: bool) -> dict[Bounds, float]:
    """The probability that the begin (or with `last` the end) is right, for the span's bounds and those near it."""
    own = Ends(*covered(note.tokens, span.start, span.end))
    if own.first >= own.past:
        return {}
    found = {}
    for ends in _moved(note, own, last):
        if last:
            bounds = span.start, span.end if ends == own else note.tokens[ends.past - 1].end
        else:
            bounds = span.start if ends == own else note.tokens[ends.first].start, span.end
        found[bounds] = model.probability(_features(note, ends, span.label, last))
    return found
