"""Every operation of the API on the command line, with the rights of one person: `manage.py do OPERATION …`.

Arguments, checks and answers are those of the API, because the operation itself is called, in this process.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin
from urllib.parse import quote, urlencode

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.http.response import HttpResponseBase
from django.utils.datastructures import MultiValueDict
from ninja import Schema, UploadedFile
from ninja.operation import Operation

from annotations.core.api.mount import JSON, PREFIX, api, match_of
from annotations.core.api.routes import ApiRequest, Scope
from annotations.models import ApiToken, User

# A path parameter, such as {slug:slug} or {int:version}.
_PARAMETER: Final = re.compile(r"\{(?:\w+:)?(\w+)\}")
_SOURCES: Final = ("query", "body", "form", "file")
# Options of the command itself.
_OWN: Final = frozenset({"by", "json", "output", "wait"})


@dataclass(frozen=True)
class Argument:
    """A value that an operation takes: `source` (query, body, form or file), its name there, and the field (`info`)."""

    source: str
    name: str
    info: Any

    @property
    def option(self) -> str:
        """The name of the option. A field whose name the command itself uses gets its source before it."""
        name = f"{self.source}-{self.name}" if self.name in _OWN else self.name
        return "--" + name.replace("_", "-")

    @property
    def dest(self) -> str:
        """Where the parser keeps the value: a body may have a field named like a part of the path."""
        return f"{self.source} {self.name}"

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add this as an option. Values stay text, which the operation reads, except JSON and files."""
        options: dict[str, Any] = {"dest": self.dest, "default": argparse.SUPPRESS, "required": self.info.is_required()}
        options["help"] = " ".join(filter(None, (self.info.description, self._default())))
        kinds = {get_origin(kind) or kind for kind in _kinds(self.info.annotation)}
        if bool in kinds:
            options["action"] = argparse.BooleanOptionalAction
        else:
            if list in kinds or set in kinds:
                options["action"] = "append"
            options["type"], options["metavar"] = _reader(self.info.annotation)
            if choices := _choices(self.info.annotation):
                options["choices"] = choices
        parser.add_argument(self.option, **options)

    def _default(self) -> str:
        default = self.info.default.value if isinstance(self.info.default, Enum) else self.info.default
        return f"Default: {default}." if default and isinstance(default, str | int) else ""


@dataclass
class CallValues:
    """The values of one call: of the path in order, and the options by their source."""

    path: list[str]
    by_source: dict[str, dict[str, Any]] = field(default_factory=dict)


def arguments_of(operation: Operation) -> tuple[list[str], list[Argument]]:
    """The parameters of the path in order, and all other values that the operation takes."""
    found: list[Argument] = []
    for model in operation.models:
        source = str(model.__ninja_param_source__)
        if source in _SOURCES:
            for name, info in model.model_fields.items():
                kind = info.annotation
                nested = isinstance(kind, type) and issubclass(kind, Schema)
                fields = kind.model_fields.items() if nested else [(name, info)]
                found += (Argument(source, inner, one) for inner, one in fields)
    return _PARAMETER.findall(operation.path), found


def parser_of(name: str, operation: Operation) -> argparse.ArgumentParser:
    """The parser of the operation's own arguments."""
    parser = argparse.ArgumentParser(prog=f"manage.py do {name}", description=operation.description, allow_abbrev=False)
    path, others = arguments_of(operation)
    for one in path:
        parser.add_argument(one, metavar="PROJECT" if one == "slug" else one.upper())
    for argument in others:
        argument.add_to(parser)
    parser.add_argument(
        "--by", metavar="USER", required=True, help="The person who does this. Their rights are checked."
    )
    parser.add_argument("--json", action="store_true", help="Print the answer of the API.")
    parser.add_argument("--output", type=Path, metavar="FILE", help="A new file for an answer that is a file.")
    parser.add_argument("--wait", action="store_true", help="Wait until the job that this starts has ended.")
    return parser


def given_of(operation: Operation, options: argparse.Namespace) -> CallValues:
    """The values that were given, by their source."""
    path, others = arguments_of(operation)
    given = CallValues([str(getattr(options, one)) for one in path])
    for argument in others:
        if argument.dest in vars(options):
            given.by_source.setdefault(argument.source, {})[argument.name] = getattr(options, argument.dest)
    return given


def call(operation: Operation, person: User, given: CallValues) -> HttpResponseBase:
    """Call an operation for a person, and return the answer of the API. Errors of the request are problems in it."""
    values = iter(given.path)
    address = PREFIX + _PARAMETER.sub(lambda _one: quote(next(values), safe=""), operation.path).removeprefix("/")
    request = ApiRequest()
    request.method = next(method for method in operation.methods if method not in ("HEAD", "OPTIONS"))
    request.path = request.path_info = address
    # On the command line nobody has read an older state, so a change needs no ETag.
    request.META = {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "HTTP_IF_MATCH": "*"}
    request.GET = QueryDict(urlencode(given.by_source.get("query", {}), doseq=True))
    if "form" in given.by_source or "file" in given.by_source:
        request.content_type = "multipart/form-data"
        request.POST = QueryDict(urlencode(given.by_source.get("form", {}), doseq=True))
        files = {name: _listed(value) for name, value in given.by_source.get("file", {}).items()}
        request.FILES = MultiValueDict(files)
    else:
        request.content_type = JSON
        request._body = json.dumps(given.by_source.get("body", {})).encode()
    request.user, request.token, request.entered = person, ApiToken(user=person, scope=Scope.MANAGE), []
    request.patient = True
    match = request.resolver_match = match_of(address)
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response


def operations() -> dict[str, Operation]:
    """All operations by name."""
    return api().operations


def _kinds(annotation: Any) -> Sequence[Any]:
    """The alternatives of an annotation without None."""
    if get_origin(annotation) in (list, set, dict, Literal) or not get_args(annotation):
        return [annotation]
    return [one for one in get_args(annotation) if one is not type(None)]


def _choices(annotation: Any) -> list[str]:
    """The values of an enumeration or a literal, also as the members of a list."""
    (kind, *more) = _kinds(annotation)
    if get_origin(kind) in (list, set):
        return _choices(get_args(kind)[0])
    if more:
        return []
    if get_origin(kind) is Literal:
        return [str(one) for one in get_args(kind)]
    return [str(one.value) for one in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def _reader(annotation: Any) -> tuple[Any, str]:
    """How a word of the command line becomes a value, and what the help calls it."""
    kinds = [get_args(kind)[0] if get_origin(kind) in (list, set) else kind for kind in _kinds(annotation)]
    if any(isinstance(kind, type) and issubclass(kind, UploadedFile) for kind in kinds):
        return _upload, "FILE"
    if any(kind is Any or get_origin(kind) in (dict, list) or _is_record(kind) for kind in kinds):
        return _json, "JSON"
    if kinds[0] in (int, float):
        return _number, "NUMBER"
    return _text, "TEXT"


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Schema | dict)


def _text(word: str) -> str:
    """The word, or for “-” the first line of standard input: words of notes don't belong in the history of a shell."""
    return sys.stdin.readline().rstrip("\r\n") if word == "-" else word


def _number(word: str) -> str | None:
    """The word, which the operation reads; None for “null”, which empties a field."""
    return None if word == "null" else word


def _json(word: str) -> Any:
    try:
        return json.loads(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{word[:40]}” is not JSON.") from None


def _upload(word: str) -> SimpleUploadedFile:
    try:
        return SimpleUploadedFile(Path(word).name, Path(word).read_bytes())
    except OSError as error:
        raise argparse.ArgumentTypeError(f"“{word}” can't be read: {error.strerror}.") from None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
