"""The rules backend, measured: notes a second on one core, and binary character precision and recall.

`python -m tests.bench.rules` reads MEDDOCAN dev and the demo's gold. `--part train --by-rule` shows what each rule gets
right: rules are tuned, and their confidences estimated, on train and the demo alone.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from annotations.domain.formats import FORMATS
from annotations.domain.notes import ParsedNote
from annotations.domain.spans import Span
from models_runtime.backends.base import Backend
from models_runtime.backends.rules import RulesBackend
from models_runtime.backends.rules.backend import CONFIDENCES, RULES
from tests.bench.figures import Figure, table

ROOT = Path(__file__).resolve().parents[2]
MEDDOCAN = ROOT.parent / "shared" / "data" / "meddocan"
DEMO = ROOT / "fixtures" / "demo"
LANGUAGES = ("it", "es", "en")
PART = "rules"


@dataclass
class Score:
    """Characters: `right` are in gold and prediction, whatever the label."""

    gold: int = 0
    said: int = 0
    right: int = 0
    label_gold: Counter[str] = field(default_factory=Counter)
    label_found: Counter[str] = field(default_factory=Counter)
    rule_said: Counter[str] = field(default_factory=Counter)
    rule_right: Counter[str] = field(default_factory=Counter)
    rule_spans: Counter[str] = field(default_factory=Counter)
    rule_exact: Counter[str] = field(default_factory=Counter)
    rule_labelled: Counter[str] = field(default_factory=Counter)

    @property
    def precision(self) -> float:
        return self.right / self.said if self.said else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.gold if self.gold else 1.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def add(self, gold: Sequence[Span], said: Sequence[Span]) -> None:
        """One note's spans."""
        in_gold, in_said = _characters(gold), _characters(said)
        self.gold += len(in_gold)
        self.said += len(in_said)
        self.right += len(in_gold & in_said)
        for span in gold:
            self.label_gold[span.label] += span.end - span.start
            self.label_found[span.label] += sum(at in in_said for at in range(span.start, span.end))
        for span in said:
            self.rule_said[span.source] += span.end - span.start
            self.rule_right[span.source] += sum(at in in_gold for at in range(span.start, span.end))
            self.rule_spans[span.source] += 1
            self.rule_exact[span.source] += all(at in in_gold for at in range(span.start, span.end))
            of_label = _characters(other for other in gold if other.label == span.label)
            shared = sum(at in of_label for at in range(span.start, span.end))
            self.rule_labelled[span.source] += shared >= 0.9 * (span.end - span.start)


def _characters(spans: Iterable[Span]) -> set[int]:
    return {at for span in spans for at in range(span.start, span.end)}


def read_folder(texts: Path, marks: Path) -> Iterator[ParsedNote]:
    """The notes of `texts` that have brat marks in `marks`, in order of name."""
    brat = FORMATS["brat"]
    for ann in sorted(marks.glob("*.ann")):
        files = {f"{ann.stem}.txt": (texts / f"{ann.stem}.txt").read_bytes(), ann.name: ann.read_bytes()}
        rows = (row.split("\t") for row in files[ann.name].decode().split("\n"))
        codes = {row[1].split(" ")[0] for row in rows if len(row) > 1 and row[0].startswith("T")}
        groups, _ = brat.group(files)
        for group in groups:
            for note in brat.read_many(group, files.__getitem__, {code: code for code in codes}):
                assert isinstance(note, ParsedNote)
                yield note


def meddocan(part: str) -> list[ParsedNote]:
    folder = MEDDOCAN / part
    return list(read_folder(folder, folder)) if folder.is_dir() else []


def demo(language: str) -> list[ParsedNote]:
    """The demo's notes in a language that have gold."""
    manifest = json.loads((DEMO / "manifest.json").read_text(encoding="utf-8"))
    of_language = {note["name"] for note in manifest["notes"] if note["language"] == language}
    return [note for note in read_folder(DEMO / "notes", DEMO / "sets" / "gold") if note.name in of_language]


def score(backend: Backend, notes: Sequence[ParsedNote]) -> Score:
    whole = Score()
    for note, said in zip(notes, backend.stream(note.text for note in notes), strict=True):
        whole.add(note.spans or [], said)
    return whole


def speed(backend: Backend, texts: Sequence[str], seconds: float = 2.0) -> float:
    """Notes a second of this process's own processor time, which is one core's; the best of the rounds that fit."""
    backend.predict(texts[:5])
    best, began = 0.0, time.process_time()
    while time.process_time() - began < seconds or not best:
        at = time.process_time()
        for _ in backend.stream(texts):
            pass
        best = max(best, len(texts) / (time.process_time() - at))
    return best


def _quality(name: str, result: Score, aim: float | None = None) -> list[Figure]:
    return [
        Figure(PART, f"{name}: character precision", 100 * result.precision, "%", aim, at_least=True),
        Figure(PART, f"{name}: character recall", 100 * result.recall, "%", aim, at_least=True),
        Figure(PART, f"{name}: character F1", 100 * result.f1, "%"),
    ]


def figures(part: str = "dev") -> list[Figure]:
    """What `make bench` shows; MEDDOCAN's figures only where it is beside the repository."""
    found: list[Figure] = []
    notes = meddocan(part)
    spanish = RulesBackend("meddocan")
    if notes:
        texts = [note.text for note in notes]
        found.append(Figure(PART, "rules, one core", speed(spanish, texts), "notes/s", 300, at_least=True))
        result = score(spanish, notes)
        found += _quality(f"MEDDOCAN {part}", result, 85)
        for label, gold in result.label_gold.most_common():
            share = 100 * result.label_found[label] / gold
            found.append(Figure(PART, f"  recall of {label} ({gold} characters)", share, "%"))
    backend = RulesBackend()
    for language in LANGUAGES:
        found += _quality(f"demo {language}", score(backend, demo(language)))
    return found


def by_rule(results: Iterable[tuple[str, Score]]) -> str:
    """Spans of each rule, how many lie wholly in gold, and the share of right characters."""
    rows: dict[str, list[str]] = defaultdict(list)
    for name, result in results:
        for rule, spans in result.rule_spans.items():
            share = result.rule_right[rule] / result.rule_said[rule]
            rows[rule].append(f"{name} {result.rule_exact[rule]}/{spans} {share:.2f}")
    return "\n".join(f"{rule:30} {'   '.join(cells)}" for rule, cells in sorted(rows.items()))


def estimate(results: Iterable[Score]) -> dict[str, float]:
    """Each rule's confidence: the share of its spans that lie in gold of their label, and ten spans of what it says."""
    right: Counter[str] = Counter()
    spans: Counter[str] = Counter()
    for result in results:
        right += result.rule_labelled
        spans += result.rule_spans
    return {
        rule.id: min(0.99, round((right[rule.id] + 10 * rule.confidence) / (spans[rule.id] + 10), 2))
        for rule in sorted(RULES, key=lambda rule: rule.id)
        if spans[rule.id]
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("dev", "train"), default="dev", help="which part of MEDDOCAN")
    parser.add_argument("--by-rule", action="store_true", help="what each rule gets right")
    parser.add_argument("--estimate", action="store_true", help="write the rules' confidences from train and the demo")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    said = parser.parse_args(words)
    if said.estimate:
        scores = [score(RulesBackend("meddocan"), meddocan("train"))]
        scores += [score(RulesBackend(), demo(language)) for language in LANGUAGES]
        CONFIDENCES.write_text(json.dumps(estimate(scores), indent=1) + "\n", encoding="utf-8")
        return
    if said.by_rule:
        results = [(said.part, score(RulesBackend("meddocan"), meddocan(said.part)))]
        results += [(language, score(RulesBackend(), demo(language))) for language in LANGUAGES]
        print(by_rule(results))
        return
    found = figures(said.part)
    print(json.dumps([figure.as_dict() for figure in found]) if said.json else table(found))


if __name__ == "__main__":
    main(sys.argv[1:])
