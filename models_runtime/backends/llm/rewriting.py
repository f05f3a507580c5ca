"""The strategy *rewrite*: the model returns the note with placeholders (Miranda et al. 2025, section 3.2).

The placeholders are aligned with the note and bounded by evidence. Where the evidence doesn't settle what a placeholder
stands for, the model gets a second question about the words in doubt.
"""

import json
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from annotations.text.attributes import Doubtful, shifted
from annotations.text.segments import sentences
from annotations.text.spans import Bounds, Span, tokenize
from models_runtime.backends.base import BackendError, RewrittenText
from models_runtime.backends.llm.aligning import Gap, TextChanged, align
from models_runtime.backends.llm.answers import Mention, listed, locate, schema_of
from models_runtime.backends.llm.asking import THOUGHT, Answer, AskingOptions, Meter
from models_runtime.backends.llm.bounding import Bound, Bounder
from models_runtime.backends.llm.driver import AnswerCache, Conversation, Found, cached_or_asked
from models_runtime.backends.llm.evidence import FAMILIES, Families, families_of
from models_runtime.backends.llm.prompts import LabelWord, digest, fenced

# Characters around the words of a second question.
_AROUND: Final = 200


@dataclass(frozen=True)
class Placeholders:
    """What placeholders stand for: the project's labels by placeholder, code and name, and the run's own mapping.

    `mapping`: placeholders of other labels; an empty code means that the placeholder's spans are left out.
    """

    labels: Sequence[LabelWord]
    label_set: str
    mapping: Mapping[str, str]

    def label_of(self, placeholder: str) -> str | None:
        """The label's code, "" for a placeholder that is left out, and None for an unknown one."""
        return self._codes().get(_plain(placeholder))

    def families(self, placeholder: str) -> Families:
        code = self.label_of(placeholder)
        found = [label for label in self.labels if label.code == code]
        return families_of(found[0], self.label_set) if found else FAMILIES

    def _codes(self) -> dict[str, str]:
        codes = {_plain(word): label.code for label in self.labels[::-1] for word in (label.name, label.placeholder)}
        codes |= {_plain(label.code): label.code for label in self.labels}
        return codes | {_plain(word): code for word, code in self.mapping.items()}


def _plain(placeholder: str) -> str:
    """A placeholder without brackets, accents, case, and signs between words."""
    letters = unicodedata.normalize("NFKD", placeholder).casefold()
    return "".join(letter for letter in letters if letter.isalnum())


@dataclass(frozen=True)
class RewritingStrategy:
    """The strategy for a run. `system`, `confirm`: the prompts of the first and of the second question."""

    asking: AskingOptions
    system: str
    confirm: str
    placeholders: Placeholders
    source: str
    meter: Meter
    texts: AnswerCache[str]
    answers: AnswerCache[Found]

    def rewrite(self, text: str, start: int, end: int) -> Conversation[RewrittenText]:
        """The rewritten `text[start:end]` and its spans. Any change besides placeholders is an error of the result."""
        piece = text[start:end]
        key = digest(self.asking.key, piece)
        question = self.asking.question(self.system, fenced(piece), len(piece))
        try:
            said = yield from cached_or_asked(self.texts, key, text, question, partial(self._text, piece), self.meter)
        except TextChanged as changed:
            return RewrittenText(changed.rewritten, error=str(changed))
        tokens = tokenize(piece)
        gaps = align(piece, tokens, said)
        families: dict[str, Families] = defaultdict(lambda: FAMILIES)
        for placeholder in {each for gap in gaps for each in gap.placeholders}:
            families[placeholder] = self.placeholders.families(placeholder)
        bounder = Bounder(piece, tokens, families)
        # Clear gaps come first, because they support doubtful gaps.
        clear = [bounder.clear(gap) for gap in gaps]
        found: list[tuple[Gap, Bound]] = []
        for gap, bounds in zip(gaps, clear, strict=True):
            if bounds is None:
                bounds = bounder.clear(gap)
            if bounds is None:
                answers = yield from self._second(text, piece, gap, bounder.hidden(gap))
                bounds = bounder.doubtful(gap, answers)
            found += [(gap, bound) for bound in bounds]
        return self._result(said, start, found)

    def _text(self, piece: str, answer: Answer) -> str:
        """The rewritten text of an answer. Raises BackendError for one that was cut off, and Changed."""
        if answer.cut:
            self.meter.add(cut=1)
            raise BackendError("The rewritten note was cut off, because it is too long for the model.", permanent=False)
        said = bare(answer.text, piece)
        align(piece, tokenize(piece), said)
        return said

    def _second(self, text: str, piece: str, gap: Gap, hidden: Bounds) -> Conversation[list[tuple[Bounds, int]]]:
        """The bounds and placeholders that the model gives for the words in doubt; none if its answer is unusable."""
        words = piece[slice(*hidden)]
        asked = {"passage": _passage(piece, hidden), "words": words, "tags": list(gap.placeholders)}
        user = json.dumps(asked, ensure_ascii=False)
        question = self.asking.question(
            self.confirm, fenced(user), len(user), schema_of(Mention, {"type": list(dict.fromkeys(gap.placeholders))})
        )
        read = partial(self._confirmed, words)
        try:
            found = yield from cached_or_asked(
                self.answers, digest(self.asking.key, self.confirm, user), text, question, read, self.meter
            )
        except BackendError as error:
            if error.permanent:
                raise
            return []
        numbers: dict[str, list[int]] = defaultdict(list)
        for number, placeholder in enumerate(gap.placeholders):
            numbers[_plain(placeholder)].append(number)
        answers = []
        for first, past, placeholder, _places in sorted(found):
            of_type = numbers[_plain(placeholder)]
            if of_type:
                # The last placeholder of a type stands for all further mentions.
                number = of_type.pop(0) if len(of_type) > 1 else of_type[0]
                answers.append(((hidden[0] + first, hidden[0] + past), number))
        return answers

    def _confirmed(self, words: str, answer: Answer) -> Found:
        answered = listed(answer.text, Mention)
        located = locate(words, answered.entries)
        self.meter.add(broken=answered.broken, hallucinated=located.hallucinated, too_long=located.too_long)
        # The context is a part of the passage, which these words are only a part of.
        return [*located.found, *(one for one in located.doubtful if one.places == 1)]

    def _result(self, said: str, start: int, found: list[tuple[Gap, Bound]]) -> RewrittenText:
        result = RewrittenText(said)
        for gap, bound in found:
            placeholder = gap.placeholders[bound.placeholder]
            code = self.placeholders.label_of(placeholder)
            label = placeholder[1:-1].strip() if code is None else code
            if not label:
                continue
            span: Span = Span(*bound.bounds, label, None, self.source)
            if bound.removed or bound.unsupported:
                span = Doubtful(*bound.bounds, label, None, self.source, bound.removed, bound.unsupported)
            (result.unmapped if code is None else result.spans).append(shifted(span, start))
        return result


def _passage(piece: str, hidden: Bounds) -> str:
    """The sentences of the words in doubt, cut to _AROUND characters on either side."""
    start, end = hidden
    for first, past in sentences(piece):
        if first < hidden[1] and hidden[0] < past:
            start, end = min(start, first), max(end, past)
    return piece[max(start, hidden[0] - _AROUND) : min(end, hidden[1] + _AROUND)]


def bare(answer: str, piece: str) -> str:
    """An answer without thoughts, code fence, and the lines around the note in the question."""
    text = (answer if THOUGHT in piece else answer.rpartition(THOUGHT)[2]).strip()
    lines = text.splitlines(keepends=True)
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    if len(lines) > 1 and lines[0].startswith("note-") and lines[0].strip() == lines[-1].strip():
        lines = lines[1:-1]
    return "".join(lines)


def joined(text: str, pieces: Sequence[Bounds], results: Sequence[RewrittenText]) -> RewrittenText:
    """The rewritten note from the rewritten pieces. If one piece has an error, the note has no spans.

    Partial results would look complete. A piece without a rewritten text stays as it was: nothing was found in it.
    """
    parts, done = [], 0
    for (start, end), result in zip(pieces, results, strict=True):
        parts += [text[done:start], result.text or text[start:end]]
        done = end
    error = next((result.error for result in results if result.error), "")
    return RewrittenText(
        "".join([*parts, text[done:]]) if any(result.text for result in results) else "",
        [] if error else [span for result in results for span in result.spans],
        [] if error else [span for result in results for span in result.unmapped],
        error,
    )
