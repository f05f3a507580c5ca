"""`python -m tests.quality.effort`: how review's effort falls as gold grows. An ideal reviewer over MEDDOCAN train.

Rounds of 50 notes go through the product itself: freeze, train, run on what is left, review note by note, close. The
reviewer knows the gold and never decides wrongly; every act that their hands make is counted (see `Reviewer`). What a
bulk act accepted unseen, or what nobody marked, would be an error let through: gold is compared with the truth at the
end of each round. The notes that models are scored on are gold from the start, and in no round.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.bench.acts import FEATURES, planned
from tests.bench.rules import MEDDOCAN, ROOT
from tests.quality.product import command, product
from tests.quality.reviewer import Note, Plan, Reviewer, Truth

PROJECT: Final = "effort"
PER_ROUND: Final = 50
HELD_OUT: Final = 100
ROUNDS: Final = 6
AIM: Final = 0.15
SEED: Final = "rounds of train"
TRAIN: Final = MEDDOCAN / "train"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.effort", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    parser.add_argument("--held-out", type=int, default=HELD_OUT, metavar="N")
    parser.add_argument("--order", default="note", help="of the review: note, uncertainty, false, label")
    parser.add_argument("--algorithm", default="lbfgs", help="of the CRF: lbfgs, or ap (faster, and not as good)")
    options = parser.parse_args()
    if not TRAIN.is_dir():
        print("MEDDOCAN is not beside the repository: nothing is measured.")
        return 0
    names = sorted(file.stem for file in TRAIN.glob("*.ann"))
    random.Random(SEED).shuffle(names)
    held_out, pool = names[: options.held_out], names[options.held_out :][: options.rounds * PER_ROUND]
    rows: list[dict[str, Any]] = []
    print(HEAD)
    with product(), Reviewer() as reviewer:
        world = World(reviewer, held_out, pool)
        for number in range(1, options.rounds + 1):
            rows.append(world.round(number, options.order, options.algorithm))
            print(line(rows[-1]), flush=True)
        loop = command("loop", PROJECT)
    now = datetime.now(UTC)
    file = Path(ROOT, "bench-results", f"effort-{now:%Y%m%d-%H%M%S}.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"at": now.isoformat(), "rounds": rows, "loop": loop}, indent=1))
    return int(any(row["round"] == 5 and row["acts_per_span"] >= AIM for row in rows))


HEAD: Final = (
    "round  learned from      F1  spans  acts  per span  one by one  from nothing  errors  seconds  acts by kind"
)


def line(row: dict[str, Any]) -> str:
    kinds = ", ".join(f"{kind} {count}" for kind, count in row["by_kind"].items())
    f1 = f"{row['f1']:.4f}" if row["f1"] is not None else "-"
    figures = f"{row['acts_per_span']:8.3f}  {row['one_by_one']:10.3f}  {row['nothing']:12.2f}"
    return (
        f"{row['round']:5}  {row['learned']:>12}  {f1:>6}  {row['spans']:5}  {row['acts']:4}  {figures}  "
        f"{row['errors']:6}  {row['seconds']:7.0f}  {kinds}"
    )


class World:
    """The project, the truth about its notes, and the reviewer."""

    def __init__(self, reviewer: Reviewer, held_out: Sequence[str], pool: Sequence[str]) -> None:
        from annotations.gold.services.rounds import SEED as LOOP
        from annotations.models import GoldVersion, GoldVersionNote, Label, Membership, Project, Role, User

        self._reviewer = reviewer
        command("create_project", PROJECT, "--labels", "meddocan", "--language", "es", "--slug", PROJECT)
        command("create_project", "truth", "--labels", "meddocan", "--language", "es", "--slug", "truth")
        _import("truth", pool, ("txt", "ann"))
        _import(PROJECT, held_out, ("txt", "ann"))
        # In rounds, so that their order is by chance and not by name.
        for at in range(0, len(pool), PER_ROUND):
            _import(PROJECT, pool[at : at + PER_ROUND], ("txt",))
        self.project = Project.objects.get(slug=PROJECT)
        self.user = User.objects.create_user(username="ideal")
        Membership.objects.create(project=self.project, user=self.user, role=Role.REVIEWER)
        self.labels = dict(Label.objects.filter(label_set__project=self.project).values_list("code", "pk"))
        self.truth = _truth(self.labels)
        command("freeze_gold", PROJECT)
        version = GoldVersion.objects.get(project=self.project)
        GoldVersionNote.objects.filter(version=version).update(split="dev")
        GoldVersion.objects.filter(pk=version.pk).update(
            split_seed=LOOP, split_shares={"train": 0, "dev": 100, "test": 0}
        )

    def round(self, number: int, order: str, algorithm: str) -> dict[str, Any]:
        began = time.monotonic()
        model: dict[str, Any] = {"model": "rules", "f1": None, "notes": 0}
        if number > 1:
            frozen = command("freeze_gold", PROJECT, "--hold-out", "20")
            model = command(
                "train_model", PROJECT, "--gold", str(frozen["version"]), "--algorithm", algorithm, "--wait"
            )
        run = command("run_model", PROJECT, model["model"], "--left", "--wait")
        planned_acts, texts = self._review(run["run_id"], order)
        acts, spans = sum(plan.total for plan in planned_acts), sum(len(self.truth[name]) for name, _ in texts)
        kinds: Counter[str] = Counter()
        for plan in planned_acts:
            kinds.update(plan.acts)
        return {
            "round": number,
            "learned": f"{model['notes']} notes" if number > 1 else "rules",
            "f1": model["f1"],
            "notes": len(texts),
            "spans": spans,
            "acts": acts,
            "acts_per_span": acts / spans,
            "one_by_one": sum(plan.one_by_one for plan in planned_acts) / spans,
            "nothing": self._from_nothing(texts) / spans,
            "errors": self._errors([name for name, _ in texts]),
            "by_kind": dict(kinds.most_common()),
            "seconds": time.monotonic() - began,
        }

    def _review(self, run: int, order: str) -> tuple[list[Plan], list[tuple[str, str]]]:
        """A round's notes as the product offers them: planned, decided, closed. Plans; the notes' names and texts."""
        from annotations.models import Author
        from annotations.review.selectors.ordering import Queue
        from annotations.review.services.queue import next_in_queue

        author = Author.objects.get(pk=run)
        found, done = [], []
        after = 0
        for _ in range(PER_ROUND):
            pk = next_in_queue(author, self.project, Queue(order), after)  # type: ignore[arg-type]
            if pk is None:
                break
            after = pk
            note, plan = self._note(author, pk)
            found.append(plan)
            done.append(note)
        return found, done

    def _note(self, author: Any, pk: int) -> tuple[tuple[str, str], Plan]:
        from annotations.models import Document
        from annotations.review.selectors.misses import hints_of
        from annotations.review.selectors.precision import rates_of
        from annotations.review.selectors.state import review_state
        from annotations.review.services.closing import close_review
        from annotations.review.services.deciding import Request, decide
        from annotations.review.services.log import Act

        document = Document.objects.select_related("project").get(pk=pk)
        state = review_state(document=document, author=author)
        note = Note(document.text, state["proposals"], self.truth[document.name], hints_of(document, author))
        plan = self._reviewer.plan(note, rates_of(author))

        def act(kind: Act, **what: Any) -> None:
            if what.get("place"):
                what["quote"] = document.text[what["place"][0] : what["place"][1]]
            request = Request(change_id=uuid.uuid4(), act=kind, **what)
            decide(document=document, author=author, user=self.user, request=request)

        for proposal in plan.reject:
            act(Act.REJECT, proposal=proposal)
        for proposal, place in plan.correct:
            act(Act.CORRECT, proposal=proposal, place=place)
        for place in plan.add:
            act(Act.ADD, place=place)
        close_review(document=document, author=author, user=self.user, rest=plan.rest)
        return (document.name, document.text), plan

    def _errors(self, names: Sequence[str]) -> int:
        """Spans of these notes' gold that are not true, and true ones that are not there."""
        from annotations.models import Span

        gold: dict[str, Truth] = {name: set() for name in names}
        rows = Span.objects.filter(
            annotation_set__author__kind="gold", annotation_set__author__project=self.project,
            annotation_set__document__name__in=names, annotation_set__state="submitted",
        )  # fmt: skip
        for name, *place in rows.values_list("annotation_set__document__name", "start", "end", "label_id"):
            gold[name].add((place[0], place[1], place[2]))
        return sum(len(gold[name] ^ self.truth[name]) for name in names)

    def _from_nothing(self, texts: Sequence[tuple[str, str]]) -> int:
        """The fewest acts by which the same notes are labelled without any proposal, by keyboard (tests.bench.acts)."""
        codes = {pk: code for code, pk in self.labels.items()}
        notes = [
            {"text": text, "spans": [[start, end, codes[label]] for start, end, label in sorted(self.truth[name])]}
            for name, text in texts
        ]
        return sum(len(acts) for acts in planned(notes, FEATURES)["keyboard"])


def _import(project: str, names: Sequence[str], kinds: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for kind in kinds:
                shutil.copy(TRAIN / f"{name}.{kind}", folder)
        words = ["--format", "brat", "--as", "gold"] if "ann" in kinds else ["--format", "text"]
        command("import_documents", project, folder, *words)


def _truth(labels: dict[str, int]) -> dict[str, Truth]:
    """By the notes' names, with the label ids of the project under review."""
    from annotations.models import Document, Span

    found: dict[str, Truth] = {
        name: set() for name in Document.objects.filter(project__slug="truth").values_list("name", flat=True)
    }
    rows = Span.objects.filter(annotation_set__author__project__slug="truth")
    for name, start, end, code in rows.values_list("annotation_set__document__name", "start", "end", "label__code"):
        found[name].add((start, end, labels[code]))
    return found


if __name__ == "__main__":
    sys.exit(main())
