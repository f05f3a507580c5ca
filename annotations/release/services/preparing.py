"""Prepare notes of a release: replace what the policy says, and look for identifiers that are still there.

Nothing here writes; `writing.py` stores the result. The text of a note never changes.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from annotations.core.errors import ServiceError
from annotations.core.sealing import Key, project_key
from annotations.domain.folding import folded
from annotations.domain.hashing import text_sha256
from annotations.domain.knowing.person import Identifier
from annotations.domain.leaks import Gate, Leak, Needle
from annotations.domain.masking import stretches
from annotations.domain.redaction.dates import years
from annotations.domain.redaction.kinds import Kind
from annotations.domain.redaction.numbering import numbered
from annotations.domain.redaction.offsets import span_to_original
from annotations.domain.redaction.policy import Action, Policy, PolicyError, Rule
from annotations.domain.redaction.released import Mention, Released
from annotations.domain.redaction.releasing import release_text
from annotations.domain.spans import Bounds, Span
from annotations.known.selectors.identifiers import allowed_terms, denied_terms, identifiers_of
from annotations.models import Document, Label, LeakFinding, Project, Release
from annotations.release.services.sources import Source, source_of
from annotations.surrogates.services.making import NoteMentions, surrogates_for

Origin, Where = LeakFinding.Origin, LeakFinding.Where
MOST_DAYS = 365
"""The largest offset of dates. It hides the day and the season, and moves no age or calendar year by more than one."""
SHORTEST_PATIENT_ID = 4
"""A shorter patient id is looked for in names only: in a text, most equal strings would mean something else."""
HASH_DIGITS = 16
"""Hexadecimal digits of a keyed hash: 64 bits, so that different identifiers of a project have different hashes."""
MASKED = "\x00"
"""Ends the label of a stretch that gets its label's placeholder, whatever the policy does with the label."""


Surrogates = Mapping[tuple[int, int, int], str]
"""What to write for each mention, by note, start and end."""


class Extra(NamedTuple):
    """A stretch of the original that a decision added: bounds, label code, and whether it is masked in any case."""

    start: int
    end: int
    label: str
    masked: bool = False


class GoneMeanwhile(Exception):
    """A note was erased while it was being prepared."""


@dataclass(frozen=True, slots=True)
class Original:
    """A note to prepare. `spans` are the chosen annotations, with the labels' codes; `extras` are decisions."""

    pk: int
    name: str
    text: str
    language: str
    patient: str
    spans: Sequence[Span]
    extras: Sequence[Extra] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where the string of a needle is labeled; `document` is None for a known identifier or a denied term."""

    origin: LeakFinding.Origin
    document: int | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A leak in a prepared note: bounds in the released text (or in the name), and in the original."""

    where: LeakFinding.Where
    start: int
    end: int
    original_start: int
    original_end: int
    part: bool
    label: str
    source: Place
    string_key: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared note. `spans` are those of the released text."""

    pk: int
    released: Released
    spans: Sequence[tuple[int, int, str]]
    sha256: str
    characters_kept: int
    years: Sequence[int]
    found: Sequence[Found]


def source_of_release(release: Release) -> Source:
    """The annotations that a release uses. Raises ServiceError if one of them no longer exists."""
    return source_of(release.project, release.set_spec)


class Preparer:
    """Prepares notes under one policy. Keep it no longer than the work, since it holds the project's key."""

    def __init__(self, project: Project, policy: Policy, source: Source) -> None:
        self.project = project
        self.source = source
        self._policy = policy
        self._masking = _with_masks(policy)
        labels = Label.objects.filter(label_set__project=project).values_list("code", "placeholder")
        placeholders = dict(labels)
        self._placeholder_of = placeholders | {code + MASKED: text for code, text in placeholders.items()}
        self._gates: dict[str, Gate] = {}

    @cached_property
    def _key(self) -> Key:
        return project_key(self.project)

    @cached_property
    def _allowed(self) -> Collection[str]:
        return allowed_terms(self.project)

    @cached_property
    def _denied(self) -> list[Needle]:
        return [Needle(term.text, term.label, Place(Origin.DENIED)) for term in denied_terms(self.project)]

    @property
    def makes_surrogates(self) -> bool:
        return any(rule.action == Action.SURROGATE for rule in self._policy.rules.values())

    def originals(self, notes: Sequence[tuple[Document, Sequence[Extra]]]) -> list[Original]:
        """Read the annotations of notes. The text and the patient id of each must be loaded."""
        spans = self.source.spans([note.pk for note, _extras in notes])
        return [
            Original(
                note.pk,
                note.name,
                note.text,
                note.language or self.project.language,
                note.patient_id,
                spans[note.pk],
                extras,
            )
            for note, extras in notes
        ]

    def prepare(self, notes: Sequence[Original], siblings: Sequence[Original] = ()) -> list[Prepared]:
        """Prepare notes. `siblings`: the other notes of the same patients, which say what must not be left of them.

        Raises ServiceError `unmapped` for a label without a rule, and GoneMeanwhile.
        """
        everything = [*notes, *siblings]
        self._require({span.label for note in everything for span in note.spans})
        mentions = {note.pk: self._mentions(note) for note in everything}
        surrogates = self._surrogates(everything, mentions)
        needles = self._needles(everything)
        known = identifiers_of(self.project, {note.patient for note in notes if note.patient})
        prepared = []
        for note in notes:
            released = release_text(
                note.text,
                [Span(one.start, one.end, one.label) for one in mentions[note.pk]],
                self._masking,
                self._placeholder_of,
                _Replacing(self._key, note, mentions[note.pk], surrogates),
            )
            released = _unmarked(released)
            own = [
                *needles[note.pk],
                *self._of_patient(note, everything, needles),
                *self._known(note, known),
                *self._denied,
            ]
            prepared.append(self._prepared(note, mentions[note.pk], released, own))
        return prepared

    def _require(self, codes: Iterable[str]) -> None:
        try:
            self._policy.require(codes)
        except PolicyError as error:
            raise ServiceError(str(error), code="unmapped") from error

    def _mentions(self, note: Original) -> list[Mention]:
        """The stretches to release, with their labels; those that a decision masks have a marked label."""
        spans = [*note.spans, *(Span(*extra[:3]) for extra in note.extras)]
        forced = [extra for extra in note.extras if extra.masked]
        found = []
        for start, end, label in stretches(spans):
            mark = next((one for one in forced if one.start < end and start < one.end), None)
            kind = self._policy.rules[label].kind
            code = label if mark is None else mark.label + MASKED
            found.append(Mention(start, end, code, kind, note.text[start:end]))
        return found

    def _surrogates(self, notes: Sequence[Original], mentions: Mapping[int, Sequence[Mention]]) -> Surrogates:
        wanted = []
        for note in notes:
            own = [one for one in mentions[note.pk] if self._masking.rules[one.label].action == Action.SURROGATE]
            if own:
                wanted.append(NoteMentions(note.pk, note.patient, note.language, note.text, own))
        made = surrogates_for(project=self.project, notes=wanted) if wanted else {}
        return {(place.document, place.start, place.end): text for place, text in made.items()}

    def _needles(self, notes: Sequence[Original]) -> dict[int, list[Needle]]:
        """The strings of each note that must not be left: those of labels that the policy does not keep."""
        found: dict[int, list[Needle]] = {}
        for note in notes:
            spans = [*note.spans, *(Span(*extra[:3]) for extra in note.extras)]
            distinct: dict[str, Needle] = {}
            for span in spans:
                if self._policy.rules[span.label].action != Action.KEEP:
                    text = note.text[span.start : span.end]
                    place = Place(Origin.NOTE, note.pk, span.start, span.end)
                    distinct.setdefault(text, Needle(text, span.label, place))
            found[note.pk] = list(distinct.values())
        return found

    @staticmethod
    def _of_patient(
        note: Original, notes: Sequence[Original], needles: Mapping[int, Sequence[Needle]]
    ) -> Iterable[Needle]:
        """The strings that are labeled in other notes of the patient, and not in this one."""
        if not note.patient:
            return
        seen = {needle.text for needle in needles[note.pk]}
        for other in notes:
            if other.pk == note.pk or other.patient != note.patient:
                continue
            for needle in needles[other.pk]:
                if needle.text not in seen:
                    seen.add(needle.text)
                    place = needle.source
                    assert isinstance(place, Place)
                    yield Needle(
                        needle.text,
                        needle.label,
                        Place(Origin.PATIENT, place.document, place.start, place.end),
                    )

    def _known(self, note: Original, known: Mapping[str, Sequence[Identifier]]) -> Iterable[Needle]:
        """The known identifiers of the note's patient, without those of kinds that the policy keeps; the patient id."""
        for one in known.get(note.patient, ()):
            label = self._label_of.get(one.kind, "")
            if not label or self._policy.rules[label].action != Action.KEEP:
                yield Needle(one.text, label, Place(Origin.KNOWN))
        yield from _patient_id(note, SHORTEST_PATIENT_ID)

    @cached_property
    def _label_of(self) -> dict[Kind, str]:
        """A label of each kind: one that the policy keeps, if there is one."""
        kept_last = sorted(self._policy.rules.items(), key=lambda pair: pair[1].action == Action.KEEP)
        return {rule.kind: code for code, rule in kept_last}

    def _prepared(
        self, note: Original, mentions: Sequence[Mention], released: Released, needles: Sequence[Needle]
    ) -> Prepared:
        gate = self._gate(note.language)
        found = [
            self._found(Where.TEXT, released.text, *span_to_original(released.pieces, leak.start, leak.end), leak)
            for leak in gate.find(released.text, needles, released.pieces)
        ]
        name_needles = [*needles, *_patient_id(note, 1)]
        found += [
            self._found(Where.NAME, note.name, leak.start, leak.end, leak)
            for leak in gate.find(note.name, name_needles, ())
        ]
        # Several leaks may lie in one replaced stretch: each string is one finding there.
        distinct = {(one.where, one.original_start, one.original_end, one.string_key): one for one in reversed(found)}
        replaced = sum(piece.end - piece.start for piece in released.pieces if piece.action != Action.KEEP)
        dates = [one for one in mentions if one.kind == Kind.DATE]
        return Prepared(
            pk=note.pk,
            released=released,
            spans=[(one.new_start, one.new_end, one.label) for one in released.pieces if one.new_start < one.new_end],
            sha256=text_sha256(released.text),
            characters_kept=len(note.text) - replaced,
            years=sorted({year for one in dates for year in years(one.text, note.language)}),
            found=list(reversed(distinct.values())),
        )

    def _found(self, where: LeakFinding.Where, text: str, original_start: int, original_end: int, leak: Leak) -> Found:
        place = leak.needle.source
        assert isinstance(place, Place)
        string = folded(text[leak.start : leak.end])
        return Found(
            where, leak.start, leak.end, original_start, original_end, leak.part, leak.needle.label, place,
            self._key.number("leak", string),
        )  # fmt: skip

    def _gate(self, language: str) -> Gate:
        if language not in self._gates:
            self._gates[language] = Gate(self._allowed, [language] if language else [])
        return self._gates[language]


class _Replacing:
    """What operators need for one note (domain.redaction.released.Replacing)."""

    def __init__(
        self,
        key: Key,
        note: Original,
        mentions: Sequence[Mention],
        surrogates: Surrogates,
    ) -> None:
        self._key = key
        self._note = note
        self._mentions = mentions
        self._surrogates = surrogates

    @property
    def language(self) -> str:
        return self._note.language

    @cached_property
    def days(self) -> int:
        return date_offset(self._key, self._note.patient, self._note.pk)

    def hashed(self, mention: Mention) -> str:
        words = " ".join(folded(mention.text).split())
        return self._key.hexdigest("hash", str(mention.kind), words)[:HASH_DIGITS]

    def number(self, mention: Mention) -> int:
        return self._numbers[mention.start, mention.end]

    @cached_property
    def _numbers(self) -> Mapping[Bounds, int]:
        return numbered(replace(one, label=one.label.removesuffix(MASKED)) for one in self._mentions)

    def surrogate(self, mention: Mention) -> str:
        try:
            return self._surrogates[self._note.pk, mention.start, mention.end]
        except KeyError:
            raise GoneMeanwhile from None


def date_offset(key: Key, patient: str, note: int) -> int:
    """The secret number of days by which a patient's dates move: from -MOST_DAYS to MOST_DAYS, never 0.

    It is the same in all notes and releases, so that intervals are kept. A note without a patient has its own.
    """
    number = key.number("date offset", "patient", patient) if patient else key.number("date offset", "note", str(note))
    days = number % (2 * MOST_DAYS) - MOST_DAYS
    return days if days < 0 else days + 1


def _with_masks(policy: Policy) -> Policy:
    """The policy with a rule for each label that a decision masks."""
    masks = {code + MASKED: Rule(rule.kind, Action.MASK, rule.numbered) for code, rule in policy.rules.items()}
    return Policy({**policy.rules, **masks})


def _unmarked(released: Released) -> Released:
    if not any(piece.label.endswith(MASKED) for piece in released.pieces):
        return released
    pieces = [replace(piece, label=piece.label.removesuffix(MASKED)) for piece in released.pieces]
    return Released(released.text, pieces)


def _patient_id(note: Original, shortest: int) -> Iterable[Needle]:
    if len(note.patient) >= shortest:
        yield Needle(note.patient, "", Place(Origin.KNOWN))
