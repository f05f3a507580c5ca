import json
import sys
from argparse import REMAINDER, RawDescriptionHelpFormatter
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.http.response import HttpResponseBase
from ninja.operation import Operation

from annotations.core.commands import FailingCommand, find_active_user, find_user, lines_of
from annotations.core.services import ServiceError
from annotations.jobs.waiting import wait_for
from annotations.models import Job, JobState
from deidreview.operations import CallValues, call, given_of, operations, parser_of


class Command(FailingCommand):
    help = "Do what the API does, with the same arguments and the same answer. Without OPERATION: list all operations."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("operation", nargs="?", metavar="OPERATION", help="`do OPERATION --help` describes it.")
        parser.add_argument("arguments", nargs=REMAINDER, metavar="…")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["operation"]
        if not name:
            self.stdout.write("\n".join(_listed()))
            return
        operation = operations().get(name)
        if operation is None:
            raise CommandError(f"There is no operation “{name}”. `do` without a name lists them.")
        asked = parser_of(name, operation).parse_args(options["arguments"])
        try:
            person = find_active_user(asked.by)
        except ServiceError as error:
            self._fail(str(error), error.code, as_json=asked.json)
        given = given_of(operation, asked)
        response = call(operation, person, given)
        if response.status_code >= 400:
            problem = json.loads(_content(response))
            fields = [f"{one['field']}: {one['reason']}" for one in problem.get("errors", [])]
            self._fail(" ".join([problem["detail"], *fields]), problem["code"], as_json=asked.json)
        if not response.headers.get("Content-Type", "").startswith("application/json") or asked.output:
            self._write_file(response, asked)
            return
        answer = json.loads(_content(response) or b"{}")
        if (
            isinstance(answer, dict)
            and {"items", "next"} <= set(answer)
            and "limit" not in given.by_source.get("query", {})
        ):
            answer = _all_pages(operation, person, given, answer)
        if asked.wait and response.status_code == 202:
            answer = self._ended(asked, answer)
        self.stdout.write(
            json.dumps(answer, ensure_ascii=False) if asked.json else "\n".join(lines_of(answer)) or "Done."
        )

    def _ended(self, asked: Any, answer: dict[str, Any]) -> dict[str, Any]:
        """The state of the job after it has ended, or of the last one of several, which all are waited for.

        Raises CommandError if one failed or was canceled.
        """
        number = None
        for row in answer.get("items", [answer]):
            number = row.get("number", row.get("job"))
            if number is not None:
                self._wait(asked, number)
        if number is None:
            return answer
        read = operations()["read_job"]
        ended: dict[str, Any] = json.loads(
            _content(call(read, find_user(asked.by), CallValues([asked.slug, str(number)])))
        )
        return ended

    def _wait(self, asked: Any, number: int) -> None:
        job = Job.objects.get(project__slug=asked.slug, number=number)
        wait_for(job, tell=None if asked.json else self.stderr)
        if job.state in (JobState.FAILED, JobState.CANCELED):
            self._fail(job.error or f"The job was {job.state}.", "job", as_json=asked.json)

    def _write_file(self, response: HttpResponseBase, asked: Any) -> None:
        if asked.output is None:
            sys.stdout.buffer.write(_content(response))
            return
        try:
            with asked.output.open("xb") as file:
                file.write(_content(response))
        except OSError as error:
            self._fail(f"Can't write “{asked.output}”: {error.strerror}.", "output", as_json=asked.json)


def _all_pages(operation: Operation, person: Any, given: CallValues, answer: dict[str, Any]) -> dict[str, Any]:
    """A list with the rows of all its pages."""
    items, cursor = answer["items"], answer["next"]
    while cursor:
        given.by_source.setdefault("query", {})["cursor"] = cursor
        page = json.loads(_content(call(operation, person, given)))
        items, cursor = items + page["items"], page["next"]
    return {"items": items, "next": None}


def _listed() -> Iterable[str]:
    """All operations by topic, each with the first sentence of its description."""
    rows = sorted((str((one.tags or [""])[0]), name, one) for name, one in operations().items())
    for topic, group in groupby(rows, key=lambda row: row[0]):
        yield f"{topic}:"
        for _topic, name, one in group:
            yield f"  {name:34} {(one.description or '').partition('.')[0]}."


def _content(response: HttpResponseBase) -> bytes:
    return b"".join(response)
