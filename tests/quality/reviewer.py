"""An ideal reviewer: knows the gold, never decides wrongly, and takes the fewest acts that the review page allows.

An act is one key stroke, click, double click or drag (DOMAIN, section 10). What each costs, as the page has it:

* The page opens with the proposal chosen that is likeliest wrong, and after a decision goes on to the next open one. To
  choose another is a click; to accept the right ones on the way there, one key each.
* Reject: one key, or a click with Alt wherever it stands. Another label: one key. Other ends: a key for each word that
  an end moves by, or a drag and `e`.
* What was missed: a drag (or double click) and a label's key. A possible miss that the page itself chooses: one key.
* The rest of a note is accepted and the note closed by one key; where the page has possible misses to show, that takes
  one more. A note in which nothing is open is closed by one key.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from annotations.domain.precision import Rate, likely_right
from annotations.domain.tokens import tokenize

HERE: Final = Path(__file__).parent
Place = tuple[int, int, int]
Truth = set[Place]


@dataclass
class Plan:
    """What is done in one note: proposals to reject or correct, spans to add; `acts` by kind."""

    reject: list[int] = field(default_factory=list)
    correct: list[tuple[int, Place]] = field(default_factory=list)
    add: list[Place] = field(default_factory=list)
    rest: list[int] = field(default_factory=list)
    acts: dict[str, int] = field(default_factory=dict)
    # What the same would take where every proposal is decided by a key of its own.
    one_by_one: int = 0

    def count(self, kind: str, acts: int) -> None:
        if acts:
            self.acts[kind] = self.acts.get(kind, 0) + acts

    @property
    def total(self) -> int:
        return sum(self.acts.values())


@dataclass(frozen=True)
class Note:
    """A note as the reviewer finds it: what is proposed there, what is true, and what other runs say."""

    text: str
    proposals: Sequence[dict[str, Any]]
    truth: Truth
    others: Sequence[dict[str, Any]]

    @property
    def covered(self) -> list[dict[str, int]]:
        return [dict(zip(("start", "end", "label"), _place(each), strict=True)) for each in self.proposals]


class Reviewer:
    """Plans notes; the page's own script says which possible misses it would show."""

    def __enter__(self) -> "Reviewer":
        command = ["node", str(HERE / "hints.mjs")]
        self._node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._node.communicate()

    def plan(self, note: Note, rates: Mapping[tuple[int, str], Rate]) -> Plan:
        """What to do in a note; `rates` are what the page orders the proposals by."""
        plan = _decisions(note, rates)
        missed = note.truth - _kept(note, plan)
        by_hint = _chain(self._hints(note, note.truth - missed), missed)
        plan.add += sorted(missed)
        plan.count("possible miss", len(by_hint))
        plan.count("marked", 2 * len(missed - by_hint))
        plan.one_by_one = plan.total - plan.acts.get("reach", 0) + len(plan.rest) + 1
        plan.count("close", 1 + bool(plan.rest and self._hints(note, note.truth - by_hint)))
        return plan

    def _hints(self, note: Note, gold: Truth) -> list[dict[str, Any]]:
        asked = {
            "text": note.text,
            "gold": [{"start": start, "end": end, "label": label} for start, end, label in sorted(gold)],
            "covered": note.covered,
            "others": list(note.others),
        }
        assert self._node.stdin and self._node.stdout
        self._node.stdin.write(json.dumps(asked) + "\n")
        self._node.stdin.flush()
        found: list[dict[str, Any]] = json.loads(self._node.stdout.readline())
        return found


def _place(span: Mapping[str, Any]) -> Place:
    return span["start"], span["end"], span["label"]


def _kept(note: Note, plan: Plan) -> Truth:
    """What of the truth comes from proposals."""
    whole = {_place(each) for each in note.proposals if each["id"] in plan.rest}
    return whole | {place for _pk, place in plan.correct}


def _decisions(note: Note, rates: Mapping[tuple[int, str], Rate]) -> Plan:
    """What becomes of each proposal, in the page's order: likeliest wrong first."""
    plan = Plan()
    order = sorted(
        note.proposals,
        key=lambda each: (
            likely_right(rates.get((each["label"], each["source"]), Rate(0, 0)), each["confidence"]),
            each["start"],
        ),
    )
    meant = _meant(note)
    tokens = tokenize(note.text)
    between, lost = 0, False  # right ones between the chosen proposal and this one; whether a decided one is chosen
    for each in order:
        if _place(each) in note.truth:
            plan.rest.append(each["id"])
            between += 1
            continue
        reach = 1 if lost or between else 0
        wanted = meant.get(each["id"])
        if wanted is None or (wanted[2] != each["label"] and wanted[:2] != (each["start"], each["end"])):
            # Wrong altogether, or in two ways: it goes, and what is true there is marked.
            plan.reject.append(each["id"])
            plan.count("reject", 1)
        elif wanted[2] != each["label"]:
            plan.correct.append((each["id"], wanted))
            plan.count("reach", reach)
            plan.count("label", 1)
        else:
            plan.correct.append((each["id"], wanted))
            steps = sum(
                min(a, b) <= token.start and token.end <= max(a, b)
                for a, b in zip(_place(each)[:2], wanted[:2], strict=True)
                for token in tokens
            )
            on_tokens = {edge for token in tokens for edge in (token.start, token.end)} >= set(wanted[:2])
            if on_tokens and reach + steps <= 2:
                plan.count("reach", reach)
                plan.count("ends", steps)
                between, lost = 0, True
            else:
                plan.count("ends", 2)
                lost = lost or not reach
            continue
        between, lost = 0, False
    return plan


def _meant(note: Note) -> dict[int, Place]:
    """Which true span a wrong proposal stands for: one to one, most overlap first."""
    free = note.truth - {_place(each) for each in note.proposals}
    pairs = sorted(
        (
            (-(min(each["end"], end) - max(each["start"], start)), each["id"], (start, end, label))
            for each in note.proposals
            if _place(each) not in note.truth
            for start, end, label in free
            if each["start"] < end and start < each["end"]
        ),
    )
    found: dict[int, Place] = {}
    for _shared, pk, place in pairs:
        if pk not in found and place not in found.values():
            found[pk] = place
    return found


def _chain(hints: Sequence[dict[str, Any]], missed: Truth) -> Truth:
    """The page chooses the first hint, and after one is taken the next: those at the beginning that are right."""
    taken: Truth = set()
    for hint in hints:
        if _place(hint) not in missed:
            break
        taken.add(_place(hint))
    return taken
