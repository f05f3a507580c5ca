"""What the methods with a language model share: the server, the meter, the notes to go through, and their results."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.jobs.registry import load
from annotations.jobs.runner import Claim
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.servers import Server
from models_runtime.backends.refining.todo import Todo
from models_runtime.core.llm import capacity_of
from models_runtime.models import Refinement
from models_runtime.refining.jobs.counting import RefinementMeter
from models_runtime.refining.jobs.keeping import begin, count_of_source, finish, waiting


class ModelRefiner:
    """A job that refines with a language model. Raises ServiceError `server` if the worker doesn't have the model."""

    def __init__(self, claim: Claim, row: Refinement) -> None:
        server = settings.LLM_SERVERS.get(row.server)
        if server is None or row.model not in server.models:
            raise ServiceError(
                _("%(server)s/%(model)s is no longer configured on this worker.")
                % {"server": row.server, "model": row.model},
                code="server",
            )
        self.claim, self.row = claim, row
        self.server: Server = server
        self.meter = RefinementMeter(row)
        self.capacity = capacity_of(server)
        self._total = count_of_source(row)
        self._done = self._total - waiting(row).count()

    def made(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """Make an object of the class at a dotted path, which only workers load. Raises ServiceError `server`."""
        try:
            return load(path)(*args, **kwargs)
        except BackendError as error:
            raise ServiceError(str(error), code="server") from error

    def begun(self) -> Iterator[tuple[int, Todo]]:
        """The notes without a result, each with its to-do list. Notes that were erased meanwhile are left out."""
        for note in list(waiting(self.row).order_by("document_id").values_list("document_id", flat=True)):
            todo = begin(self.row, note, self.claim.fence)
            if todo is not None:
                yield note, todo

    def finish(self, note: int, todo: Todo) -> None:
        """Write the result of a note, and count it as done."""
        self._done += 1
        finish(self.row, note, todo, partial(self.claim.progress, self._done, self._total))
