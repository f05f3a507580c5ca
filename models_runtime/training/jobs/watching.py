"""What a training reports: its losses and figures so far, for its page, and its progress, for its job."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from django.db import transaction

from annotations.core.services import unerased
from annotations.jobs.runner import Claim
from models_runtime.backends.epochs import chosen
from models_runtime.backends.learner import Step
from models_runtime.models import TrainedModel
from models_runtime.models.cards import ModelCard

# The number of steps to expect before the trainer reports the maximum.
STEPS = 100
# So much recall may the last iteration lack to be chosen: less is chance, and it is the one that was scored.
TOLERANCE = 0.005
# The losses are stored at most this often (seconds).
WRITE_EVERY = 0.5


class Watch:
    """Receives the trainer's reports: stores the losses, reports progress, and ends the training early on request."""

    def __init__(self, claim: Claim, row: TrainedModel, erased: Mapping[int, int]) -> None:
        self.claim, self.row, self._erased = claim, row, erased
        self.losses: list[float] = []
        self.hold_out: list[float] = []
        self._steps: list[Step] = []
        # The figures of the card that grow during the training. Lists without anything are missing.
        self._card: dict[str, Any] = {}
        self.unlabeled = 0
        self._refits, self._refit_adapted = bool(row.params.get("refit")), 0
        # Iterations of the first round of self-training, done and planned.
        self._first = self._first_most = 0
        self._adapt = int(row.params.get("adapt") or 0)
        self._most = int(row.params.get("iterations") or STEPS)
        self._written = float("-inf")
        self._report()

    def __call__(self, report: dict[str, Any] | None) -> bool:
        """Receive a report; None is a sign of life. Return whether the training should end early."""
        if report is not None:
            self._language(report)
        if report is not None and report["adapting"] and report["iteration"]:
            self._add("adapted", round(float(report["loss"]), 4))
        elif report is not None and not report["adapting"]:
            self._most = int(report["most"])
            if report["iteration"]:
                self._learned(report)
        self._tell(write=report is not None)
        return TrainedModel.objects.filter(pk=self.row.pk, enough=True).exists()

    def _learned(self, report: dict[str, Any]) -> None:
        self.losses.append(round(float(report["loss"]), 4))
        self.hold_out += [report["f1"]] if report["f1"] is not None else []
        recall, precision = report.get("recall"), report.get("precision")
        if recall is not None and precision is not None:
            self._add("hold_out_masking", (recall, precision))
        self._steps.append(Step(len(self.losses), self._most, 0.0, report["f1"], recall, precision))
        if report.get("tokens") is not None:
            self._add("epochs", {name: report[name] for name in ("f1", "tokens", "pieces")})

    def _add(self, name: str, value: Any) -> None:
        self._card.setdefault(name, []).append(value)

    @property
    def most(self) -> int:
        """The number of iterations that the trainer planned."""
        return self._most

    @property
    def chosen(self) -> int:
        """The iteration that the held-out notes choose, for learners that can't return to an earlier one."""
        return chosen(self._steps, TOLERANCE)

    def first_round(self, report: dict[str, Any] | None) -> bool:
        """Receive a report of the first round of self-training, which never ends early. It is only counted.

        Writing stops the training after an erasure, and removes the losses of an attempt that was killed.
        """
        if report is not None and not report["adapting"]:
            self._first, self._first_most = int(report["iteration"]), int(report["most"])
        self._tell(write=True)
        return False

    def begin_refit(self, most: int) -> None:
        """Receive the reports of a refit with `most` iterations from now on, by `refit`. The rest stays as it is."""
        self._card |= {"refit_losses": [], "refit_most": most}
        self._write()

    def refit(self, report: dict[str, Any] | None) -> bool:
        """Receive a report of the refit, which never ends early: the hold-out has chosen its iterations."""
        if report is not None and report["iteration"]:
            if report["adapting"]:
                self._refit_adapted += 1
            else:
                self._add("refit_losses", round(float(report["loss"]), 4))
        self._tell(write=report is not None)
        return False

    def _language(self, report: dict[str, Any]) -> None:
        """Keep what a step of a language model tells: its loss on held-out notes, and the words of its probe."""
        if (outside := report.get("held_out_loss")) is not None:
            loss = round(float(outside), 4)
            if not report["iteration"]:
                self._card["held_out_before"] = loss
            else:
                self._add("adapted_held_out" if report["adapting"] else "held_out_losses", loss)
        for number, filled in enumerate(report.get("probe") or []):
            if number == len(self._card.get("probe", [])):
                self._add("probe", {"sentence": filled["sentence"], "before": filled["words"], "after": []})
            else:
                self._card["probe"][number]["after"] = filled["words"]

    def _tell(self, *, write: bool) -> None:
        """Report progress, and if asked, store the losses, unless they were stored just now."""
        if write and time.monotonic() - self._written >= WRITE_EVERY:
            self._write()
        else:
            self._report()

    def _write(self) -> None:
        self._written = time.monotonic()
        with transaction.atomic():
            self._report()  # Inside a transaction, reporting progress also fences the job.
            check_unerased(self._erased)
            TrainedModel.objects.filter(pk=self.row.pk).update(
                losses=self.losses, hold_out=self.hold_out, card=self.so_far()
            )

    def so_far(self) -> ModelCard:
        """Return the figures of the card that grow during the training."""
        return cast(ModelCard, dict(self._card))

    def counted(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the texts and count them."""
        for text in texts:
            self.unlabeled += 1
            yield text

    def scoring(self) -> None:
        """Report the step that scores the hold-out."""
        if self._refits:
            self._report()
        else:
            most = self._adapt + self._most + self._first_most
            self.claim.progress(most, most + 1)

    def _report(self) -> None:
        done = self._first + len(self._card.get("adapted", [])) + len(self.losses)
        most = self._first_most + self._adapt + self._most
        if (again := self._card.get("refit_losses")) is not None:
            most = done + self._adapt + self._card["refit_most"]
            done += self._refit_adapted + len(again)
        elif self._refits:
            most += self._adapt + self._most
        self.claim.progress(done, most + 1)


def check_unerased(erased: Mapping[int, int]) -> None:
    """Check that no note was erased in any project of the training. The locks are taken by ascending project id."""
    for project_id, begun in sorted(erased.items()):
        unerased(project_id, begun)
