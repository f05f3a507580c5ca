"""Prepare notes of a release: replace what the policy says, and look for identifiers that are still there.

Nothing here writes; `batches.py` stores the result. The text of a note never changes.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from annotations.core.bulk import in_batches
from annotations.core.sealing import Key, project_key
from annotations.models import Document, Label, LeakFinding, Project
from annotations.release.rules.known.person import Mention as KnownMention
from annotations.release.rules.known.person import identifiers
from annotations.release.rules.leaks.gate import Gate, Leak
from annotations.release.rules.leaks.needles import Needle, needles_of
from annotations.release.rules.leaks.prepared import PreparedNeedles as Sought
from annotations.release.rules.redaction.ages import latest_year
from annotations.release.rules.redaction.dates import years
from annotations.release.rules.redaction.policy import Action, IdentifierType, Policy
from annotations.release.rules.redaction.released import (
    Mention,
    OperatorContext,
    Pieces,
    RedactedText,
    piece_around,
    span_to_original,
)
from annotations.release.rules.redaction.releasing import planned, release_text, writes_label
from annotations.release.selectors.known import Finder, denied_terms, people_of
from annotations.release.services import searching
from annotations.release.services.policies import require
from annotations.release.services.replacing import (
    DAY_FIRST,
    MASKED,
    DateOrder,
    Extra,
    Original,
    Surrogates,
    chosen_spans,
    note_replacing,
    released_spans,
    unmarked,
    with_masks,
)
from annotations.release.services.sources import ReleasedAnnotations, covered_notes
from annotations.release.services.surrogates.makers import Params
from annotations.release.services.surrogates.making import surrogates_for
from annotations.release.services.surrogates.patients import NoteMentions, Originals
from annotations.text.attributes import Attributes, as_text, definitions_of, fitting
from annotations.text.hashes import text_sha256
from annotations.text.search import words
from annotations.text.spans import Bounds, Span

Origin, Where = LeakFinding.Origin, LeakFinding.Where
SHORTEST_PATIENT_ID = 4
"""A shorter patient id is looked for in names only: in a text, most equal strings would mean something else."""
DIGITS_IN_ATTRIBUTE = 4
"""A number of so many digits in an attribute is a finding. Few choices of annotators have one."""
_BY_KIND = frozenset({Origin.KNOWN, Origin.SHAPE, Origin.RULES, Origin.MUTED})
READ_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class PreparedNote:
    """A prepared note. `spans` are those of the released text: start, end, label code and attributes.

    `found` are unsaved rows. Their source is the note in which the string is labeled; known identifiers have none.
    """

    pk: int
    released: RedactedText
    spans: Sequence[tuple[int, int, str, Attributes]]
    sha256: str
    characters_kept: int
    years: Sequence[int]
    found: Sequence[LeakFinding]
    exceptions: Mapping[str, int]


class Preparer:
    """Prepares notes under one policy. Keep it no longer than the work, since it holds the project's key."""

    def __init__(
        self,
        project: Project,
        policy: Policy,
        source: ReleasedAnnotations,
        *,
        runs: Sequence[str] = (),
        keep_names: bool = False,
        maker: Params | None = None,
    ) -> None:
        """`runs`: specifications of runs whose suggestions the leak gate also looks for.

        `keep_names`: the release keeps the names of its notes, so the leak gate reads them too.
        """
        self.project, self.source, self._policy = project, source, policy
        self._keep_names, self._maker = keep_names, maker or {}
        self._key: Key = project_key(project)
        self._avoided: Container[str] = ()
        self._masking = with_masks(policy)
        self._kept = frozenset(code for code, rule in policy.rules.items() if rule.action == Action.KEEP)
        labels = Label.objects.filter(label_set__project=project).values_list("code", "placeholder", "attributes")
        placeholders = {code: text for code, text, _attributes in labels}
        self._definitions = {code: definitions_of(attributes) for code, _text, attributes in labels}
        self._placeholder_of = placeholders | {code + MASKED: text for code, text in placeholders.items()}
        self._date_order = DateOrder(policy, self._first_notes)
        # A label of each kind: the first one that the policy doesn't keep, else the first.
        kept_last = sorted(policy.rules.items(), key=lambda pair: pair[1].action == Action.KEEP)
        self._label_of = {rule.kind: code for code, rule in reversed(kept_last)}
        self._finder = Finder(project, denied=False)
        self._seeking = searching.SightingSearch(project, policy, self._label_of, runs)
        terms = denied_terms(project)
        self._denied = [Needle(text, label, self._kind_of(label), Origin.DENIED) for text, label in terms]
        self._gate = cache(lambda language: Gate(self._finder.allowed, [language], searching.kept_words()))
        self._denied_in = cache(lambda language: self._gate(language).prepared(self._denied))

    def _kind_of(self, label: str) -> IdentifierType:
        return self._policy.rules[label].kind if label in self._policy.rules else IdentifierType.OTHER

    def avoid_originals(self, check: Callable[[], object]) -> None:
        """From now on, make no surrogate that is a name in a note of the release.

        The names are read when the first new surrogate is made; `check` is called between batches. Without this, the
        names that the index holds are avoided: those of the notes that were prepared, and of earlier releases.
        """
        self._avoided = Originals(self._key, self._all_mentions(check))

    def _all_mentions(self, check: Callable[[], object]) -> Iterator[list[NoteMentions]]:
        for some in in_batches(covered_notes(self.project, self.source).defer(None), READ_AT_ONCE):
            check()
            originals = self.originals([(note, ()) for note in some])
            require(self._policy, {span.label for note in originals for span in note.spans}, code="unmapped")
            yield [self._mentions(note, note.spans) for note in originals]

    def originals(self, notes: Sequence[tuple[Document, Sequence[Extra]]]) -> list[Original]:
        """Read the annotations of notes. The text and the patient id of each must be loaded."""
        spans, language = self.source.spans([note.pk for note, _extras in notes]), self.project.language
        return [
            Original(one.pk, one.name, one.text, one.language or language, one.patient_id, spans[one.pk], extras)
            for one, extras in notes
        ]

    def prepare(self, notes: Sequence[Original], siblings: Sequence[Original] = ()) -> list[PreparedNote]:
        """Prepare notes. `siblings`: the other notes of the same patients, which say what must not be left of them.

        Raises ServiceError `unmapped` for a label without a rule, and GoneMeanwhile.
        """
        everything = [*notes, *siblings]
        require(self._policy, {span.label for note in everything for span in note.spans}, code="unmapped")
        spans = {note.pk: chosen_spans(note, self._policy) for note in everything}
        replaces = any(rule.action == Action.SURROGATE for rule in self._policy.rules.values())
        surrogates = self._surrogates(everything, spans) if replaces else {}
        needles = self._needles(everything)
        sought: dict[tuple[object, str], Sought] = {}
        latest: dict[object, int] = {}
        for one in everything:
            if year := latest_year(one.text):
                latest[_whose(one)] = max(year, latest.get(_whose(one), year))
        known = self._finder.find([(note.patient, note.text) for note in notes])
        suggested = self._seeking.by_runs([note.pk for note in notes])
        heard = self._seeking.by_hand([note.pk for note in notes])
        searched = {note.pk: self._seeking.by_search(note.text, note.language) for note in everything}
        repeats: defaultdict[object, searching.Repeats] = defaultdict(searching.Repeats)
        for note in everything:
            repeats[_whose(note)].add(note.text, searched[note.pk])
        prepared = []
        for note, mentions in zip(notes, known, strict=True):
            by_rules = repeats[_whose(note)].found_in(note.text, searched[note.pk])
            sightings = self._sightings(mentions, by_rules, suggested[note.pk], heard.get(note.pk, ()))
            order = self._date_order.month_first(note, everything)
            plan = partial(planned, note.text, spans[note.pk], self._masking)
            replacing = note_replacing(self._key, note, plan, surrogates, order, latest.get(_whose(note)))
            released = release_text(note.text, spans[note.pk], self._masking, self._placeholder_of, replacing)
            whose = (_whose(note), note.language)
            if whose not in sought:
                sought[whose] = self._gate(note.language).prepared(needles[_whose(note)])
            prepared.append(self._prepared(note, unmarked(released), sought[whose], sightings, replacing))
        return prepared

    def _surrogates(self, notes: Sequence[Original], spans: Mapping[int, Sequence[Span]]) -> Surrogates:
        wanted = [mentions for note in notes if (mentions := self._mentions(note, spans[note.pk])).mentions]
        if not wanted:
            return {}
        return surrogates_for(project=self.project, notes=wanted, maker=self._maker, avoid=self._avoided)

    def _mentions(self, note: Original, spans: Sequence[Span]) -> NoteMentions:
        """The mentions of a note that get surrogates."""
        plans = planned(note.text, spans, self._masking)
        own = [plan.mention for plan in plans if plan.action == Action.SURROGATE]
        return NoteMentions(note.pk, note.patient, note.language, note.text, own)

    def _needles(self, notes: Sequence[Original]) -> dict[object, list[Needle]]:
        """What must not be left of each patient: labeled strings that the policy does not keep, known identifiers, and
        the patient id.
        """
        found: dict[object, list[Needle]] = {}
        for note in notes:
            spans = [*note.spans, *(Span(*extra[:3]) for extra in note.extras)]
            # One needle of each string is enough.
            distinct = {(note.text[span.start : span.end], span.label): span for span in reversed(spans)}
            needles = needles_of(note.text, distinct.values(), self._policy, note.pk)
            found.setdefault(_whose(note), []).extend(reversed(needles))
        patients = {note.patient for note in notes if note.patient}
        for patient, person in people_of(self.project, patients).items():
            for text, kind in identifiers(person):
                label = self._label_of.get(kind, "")
                if not label or self._policy.rules[label].action != Action.KEEP:
                    found[patient].append(Needle(text, label, kind, Origin.KNOWN))
        for patient in patients:
            if len(patient) >= SHORTEST_PATIENT_ID:
                found[patient].append(self._patient_id(patient))
        return found

    def _patient_id(self, patient: str) -> Needle:
        label = self._label_of.get(IdentifierType.RECORD) or self._label_of.get(IdentifierType.ID, "")
        return Needle(patient, label, IdentifierType.ID, Origin.KNOWN)

    def _first_notes(self) -> list[Original]:
        """The first notes of the release."""
        if not self.source.wanted:
            return []
        notes = covered_notes(self.project, self.source).defer(None)[:READ_AT_ONCE]
        return self.originals([(note, ()) for note in notes])

    def _sightings(
        self,
        known: Iterable[KnownMention],
        by_rules: Sequence[searching.Sighting],
        suggested: Sequence[searching.Sighting] = (),
        heard: Sequence[searching.Sighting] = (),
    ) -> dict[LeakFinding.Origin, list[searching.Sighting]]:
        return searching.once(
            {
                Origin.KNOWN: [
                    searching.Sighting(one.start, one.end, one.kind, self._label_of.get(one.kind, "")) for one in known
                ],
                Origin.RULES: by_rules,
                Origin.RUN: suggested,
                Origin.MUTED: heard,
            }
        )

    def _in_attributes(
        self, note: Original, label: str, attributes: Attributes, needles: Sought, exceptions: Counter[str]
    ) -> list[Leak]:
        """The leaks in the attributes of a released span: all of them, if its label doesn't define them."""
        line = as_text(attributes)
        if fitting(attributes, self._definitions.get(label, ()))[0] != attributes:
            return [Leak(0, len(line), Needle(line, label, IdentifierType.OTHER, Origin.SHAPE), part=False)]
        leaks = self._in_line(note, line, needles, exceptions)
        return searching.merged(leaks, searching.numbers_in_name(line, self._label_of, DIGITS_IN_ATTRIBUTE))

    def _in_line(self, note: Original, line: str, needles: Sought, exceptions: Counter[str]) -> list[Leak]:
        """The leaks in a line that is released beside the text: whether somebody labeled them or not."""
        leaks = self._leaks(note, line, needles, None, exceptions)
        gate, plain, read = self._gate(note.language), RedactedText(line, ()), line.replace("_", " ")
        (known,) = self._finder.find([(note.patient, read)])
        for origin, some in self._sightings(known, self._seeking.by_search(read, note.language)).items():
            found = searching.sighted_leaks(line, some, origin, plain, gate, self._kept, exceptions)
            leaks = searching.merged(leaks, found)
        return searching.merged(leaks, searching.shape_leaks(plain, gate, self._label_of, self._kept, exceptions))

    def _prepared(
        self,
        note: Original,
        released: RedactedText,
        needles: Sought,
        sightings: Mapping[LeakFinding.Origin, Sequence[searching.Sighting]],
        replacing: OperatorContext,
    ) -> PreparedNote:
        gate, exceptions = self._gate(note.language), Counter[str]()
        found = []
        leaks = self._leaks(note, released.text, needles, released.pieces, exceptions)
        known, *others = (
            searching.sighted_leaks(note.text, some, origin, released, gate, self._kept, exceptions)
            for origin, some in sightings.items()
        )
        leaks = searching.with_longer(
            leaks,
            searching.merged(known, searching.shape_leaks(released, gate, self._label_of, self._kept, exceptions)),
        )
        for some in others:
            leaks = searching.merged(leaks, some)
        if self._policy.seeks_ages:
            label = self._label_of.get(IdentifierType.AGE, self._label_of.get(IdentifierType.DATE, ""))
            leaks = searching.with_longer(
                leaks, searching.age_leaks(released, replacing.latest_year, label, gate, exceptions)
            )
        if replacing.month_first is None and note.language not in DAY_FIRST:
            leaks = searching.merged(leaks, searching.ambiguous_dates(note.text, released.pieces))
        for leak in leaks:
            bounds = span_to_original(released.pieces, leak.start, leak.end)
            one = self._found(note, Where.TEXT, released.text, bounds, leak)
            self._clear(note, one, released.pieces, replacing)
            found.append(one)
        spans = released_spans(released.pieces, note.spans)
        for new_start, new_end, label, attributes in spans:
            if attributes:
                bounds = span_to_original(released.pieces, new_start, new_end)
                leaks = self._in_attributes(note, label, attributes, needles, exceptions)
                line = as_text(attributes)
                found += [self._found(note, Where.ATTRIBUTE, line, bounds, leak) for leak in leaks]
        if self._keep_names:
            leaks = self._in_line(note, note.name, needles, exceptions)
            if note.patient:
                leaks = searching.merged(leaks, gate.find_in_name(note.name, [self._patient_id(note.patient)]))
            leaks = searching.with_longer(leaks, searching.numbers_in_name(note.name, self._label_of))
            found += [self._found(note, Where.NAME, note.name, (leak.start, leak.end), leak) for leak in leaks]
        # Several leaks may lie in one replaced stretch: each string is one finding there.
        distinct = {(one.where, one.original_start, one.original_end, one.string_key): one for one in reversed(found)}
        replaced = sum([piece.end - piece.start for piece in released.pieces if piece.action is not Action.KEEP])
        dates = [one for one in released.pieces if self._policy.rules[one.label].kind is IdentifierType.DATE]
        return PreparedNote(
            pk=note.pk,
            released=released,
            spans=spans,
            sha256=text_sha256(released.text),
            characters_kept=len(note.text) - replaced,
            years=sorted({year for one in dates for year in years(note.text[one.start : one.end], note.language)}),
            found=list(reversed(distinct.values())),
            exceptions=exceptions,
        )

    def _leaks(
        self, note: Original, text: str, needles: Sought, pieces: Pieces | None, exceptions: Counter[str]
    ) -> list[Leak]:
        """The leaks in a text or, without pieces, in a name: of the patient, and of the deny list."""
        gate = self._gate(note.language)
        if pieces is None:
            found = gate.find_in_name(text, needles, note=note.pk, exceptions=exceptions)
        else:
            found = gate.find(text, needles, pieces, note=note.pk, exceptions=exceptions)
        stays = [searching.in_surrogate(leak, note, text, pieces or ()) for leak in found]
        exceptions.update(filter(None, stays))
        leaks = [leak for leak, exception in zip(found, stays, strict=True) if not exception]
        if not self._denied:
            return leaks
        denied = self._denied_in(note.language)
        if pieces is None:
            return searching.merged(leaks, gate.find_in_name(text, denied))
        # What the policy keeps is not an exception for them.
        replaced = [piece for piece in pieces if piece.action != Action.KEEP]
        return searching.merged(leaks, gate.find(text, denied, replaced))

    def _found(self, note: Original, where: LeakFinding.Where, text: str, bounds: Bounds, leak: Leak) -> LeakFinding:
        needle = leak.needle
        start, end = needle.source if isinstance(needle.source, tuple) else (None, None)
        labeled = Origin.NOTE if needle.note == note.pk else Origin.PATIENT
        return LeakFinding(
            where=where,
            start=leak.start,
            end=leak.end,
            original_start=bounds[0],
            original_end=bounds[1],
            part=leak.part,
            label=needle.label,
            origin=needle.source if isinstance(needle.source, Origin) else labeled,
            source_id=needle.note,
            source_start=start,
            source_end=end,
            string_key=self._key.number("leak", " ".join(words(text[leak.start : leak.end]))),
        )

    def _clear(self, note: Original, found: LeakFinding, pieces: Pieces, replacing: OperatorContext) -> None:
        """Take the label from a finding if a person must choose it: a search knows only its kind."""
        start, end, label = found.original_start, found.original_end, found.label
        around = piece_around(pieces, found.start, found.end)
        if not label or found.origin not in _BY_KIND or (around and around.label == label):
            return
        mention = Mention(start, end, label, self._kind_of(label), note.text[start:end])
        own = [rule.action for rule in self._policy.rules.values() if rule.kind is mention.kind]
        if len(own) > 1 and (len(set(own)) > 1 or writes_label(mention, self._policy, replacing)):
            found.label = ""


def _whose(note: Original) -> object:
    """The patient of a note; the note itself where it has none."""
    return note.patient or note.pk
