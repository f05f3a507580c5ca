"""The method *agent*: a language model with tools goes through each note. Decisions are kept with every answer."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.jobs.runner import Claim
from models_runtime.backends.base import BackendError
from models_runtime.backends.refining.state import ALL
from models_runtime.backends.refining.todo import Todo
from models_runtime.core.llm import KeptReplies
from models_runtime.models import Refinement
from models_runtime.refining.jobs.by_model import ModelRefiner
from models_runtime.refining.jobs.counting import Timed
from models_runtime.refining.jobs.keeping import keep
from models_runtime.refining.selectors.skills import skills_at
from models_runtime.runs.services.llm import prompt_labels


def refine(claim: Claim, row: Refinement) -> None:
    """Let the agent go through the waiting notes. Raises ServiceError `server` and `unanswered`."""
    _Refiner(claim, row).refine()


class _Refiner(ModelRefiner):
    def __init__(self, claim: Claim, row: Refinement) -> None:
        super().__init__(claim, row)
        self._agent = self.made(
            "models_runtime.backends.refining.agent.agent_at",
            server=self.server,
            model=row.model,
            labels=prompt_labels(row.project),
            prompt=row.prompt,
            skills=skills_at(row.project, row.params.get("skills", {}), row.language),
            components=ALL - set(row.switched_off),
            steps=int(row.params.get("steps", 0)),
            tokens=int(row.params.get("tokens", 0)),
            answers=KeptReplies(row.project, self.meter),
            meter=self.meter,
            timed=Timed,
        )

    def refine(self) -> None:
        failed: list[BackendError] = []
        try:
            with closing(self._agent.converse(self._talks(), self.capacity, self.claim.check)) as results:
                for note, outcome in results:
                    if not isinstance(outcome, BackendError):
                        self.finish(note, outcome.todo)
                    elif outcome.permanent:
                        raise ServiceError(str(outcome), code="server") from outcome
                    else:
                        failed.append(outcome)
        finally:
            self.meter.record()
        if failed:
            raise ServiceError(
                _("%(count)d notes are not finished. Retry the job to go on with them. %(error)s")
                % {"count": len(failed), "error": failed[0]},
                code="unanswered",
            )

    def _talks(self) -> Iterator[tuple[int, Any]]:
        """The notes to go through, each with its conversation."""
        for note, todo in self.begun():
            yield note, self._agent.refine(todo, _Persist(self, note, todo))

    def keep(self, note: int, before: Todo, after: Todo) -> None:
        """Write the items that an answer has changed."""
        changed = [item for item, old in zip(after.items, before.items, strict=True) if item != old]
        if changed:
            keep(self.row, note, changed, self.claim.fence)


class _Persist:
    """Keeps the decisions of one note, called with the list after each answer."""

    def __init__(self, refiner: _Refiner, note: int, todo: Todo) -> None:
        self._refiner, self._note, self._todo = refiner, note, todo

    def __call__(self, todo: Todo) -> None:
        self._refiner.keep(self._note, self._todo, todo)
        self._todo = todo
