"""What a training reports: its losses and figures so far, for its page, and its progress, for its job."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from django.db import transaction

from annotations.core.locks import unerased
from annotations.jobs.runner import Claim
from models_runtime.backends.epochs import chosen
from models_runtime.backends.learner import Step
from models_runtime.models import TrainedModel
from models_runtime.models.cards import EpochFigures, FilledMask, ModelCard

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
        self.adapted: list[float] = []
        self.epochs: list[EpochFigures] = []
        self.masking: list[tuple[float, float]] = []
        self._steps: list[Step] = []
        self.adapted_held_out: list[float] = []
        self.held_out_losses: list[float] = []
        self.held_out_before: float | None = None
        self.probe: list[FilledMask] = []
        self.unlabeled = 0
        # Losses of the refit; None before it.
        self.refit_losses: list[float] | None = None
        self._refits, self._refit_most, self._refit_adapted = bool(row.params.get("refit")), 0, 0
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
        if report is not None and report["adapting"]:
            self.adapted += [round(float(report["loss"]), 4)] if report["iteration"] else []
        elif report is not None:
            self._most = int(report["most"])
            if report["iteration"]:
                self.losses.append(round(float(report["loss"]), 4))
                self.hold_out += [report["f1"]] if report["f1"] is not None else []
                recall, precision = report.get("recall"), report.get("precision")
                if recall is not None and precision is not None:
                    self.masking.append((recall, precision))
                self._steps.append(Step(len(self.losses), self._most, 0.0, report["f1"], recall, precision))
                if report.get("tokens") is not None:
                    self.epochs.append({"f1": report["f1"], "tokens": report["tokens"], "pieces": report["pieces"]})
        self._tell(write=report is not None)
        return TrainedModel.objects.filter(pk=self.row.pk, enough=True).exists()

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
        self.refit_losses, self._refit_most = [], most
        self._write()

    def refit(self, report: dict[str, Any] | None) -> bool:
        """Receive a report of the refit, which never ends early: the hold-out has chosen its iterations."""
        if report is not None and report["iteration"]:
            if report["adapting"]:
                self._refit_adapted += 1
            elif self.refit_losses is not None:
                self.refit_losses.append(round(float(report["loss"]), 4))
        self._tell(write=report is not None)
        return False

    def _language(self, report: dict[str, Any]) -> None:
        """Keep what a step of a language model tells: its loss on held-out notes, and the words of its probe."""
        if (outside := report.get("held_out_loss")) is not None:
            loss = round(float(outside), 4)
            if not report["iteration"]:
                self.held_out_before = loss
            else:
                (self.adapted_held_out if report["adapting"] else self.held_out_losses).append(loss)
        for number, filled in enumerate(report.get("probe") or []):
            if number == len(self.probe):
                self.probe.append({"sentence": filled["sentence"], "before": filled["words"], "after": []})
            else:
                self.probe[number]["after"] = filled["words"]

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
        found = {
            "adapted": self.adapted,
            "epochs": self.epochs,
            "hold_out_masking": self.masking,
            "adapted_held_out": self.adapted_held_out,
            "held_out_losses": self.held_out_losses,
            "held_out_before": self.held_out_before,
            "probe": self.probe,
        }
        # The keys are those of the card. Lists without anything are left out.
        card = cast(ModelCard, {key: value for key, value in found.items() if value not in (None, [])})
        if self.refit_losses is not None:
            card["refit_losses"], card["refit_most"] = self.refit_losses, self._refit_most
        return card

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
        done = self._first + len(self.adapted) + len(self.losses)
        most = self._first_most + self._adapt + self._most
        if self.refit_losses is not None:
            first, again = done, self._adapt + self._refit_most
            done, most = first + self._refit_adapted + len(self.refit_losses), first + again
        elif self._refits:
            most += self._adapt + self._most
        self.claim.progress(done, most + 1)


def check_unerased(erased: Mapping[int, int]) -> None:
    """Check that no note was erased in any project of the training. The locks are taken by ascending project id."""
    for project_id, begun in sorted(erased.items()):
        unerased(project_id, begun)
