"""Servers that the administrator lists in the environment as `name=address`, each with settings of its own.

A run refers to a server by its name, never by its address. Errors are ValueErrors that name the variable.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from annotations.text.names import whole_number

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,19}")


@dataclass(frozen=True)
class ListedServer:
    """A server with its name and address."""

    name: str
    url: str

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def leaves_machine(self) -> bool:
        """Whether text sent to the server leaves the worker's machine."""
        return not _is_loopback(self.host)

    @property
    def in_clear(self) -> bool:
        """Whether text leaves the machine without encryption."""
        return self.leaves_machine and self.url.startswith("http:")


@dataclass(frozen=True)
class Variables:
    """The variables of one list: that of the servers, and those of their settings, which begin with `prefix`."""

    prefix: str
    list: str
    options: tuple[str, ...]
    environ: Mapping[str, str]

    def addresses(self) -> dict[str, str]:
        """The addresses by name. Raises ValueError also for a setting of a server that is not listed."""
        urls: dict[str, str] = {}
        for word in self.environ.get(self.list, "").replace(",", " ").split():
            name, equals, url = word.partition("=")
            if not (equals and _NAME.fullmatch(name)):
                raise ValueError(
                    f"{self.list}: “{name}” is not a name=address pair. A name has at most 20 characters "
                    "(a-z, 0-9 and -)."
                )
            if name in urls:
                raise ValueError(f"{self.list}: There are two servers with the name “{name}”.")
            urls[name] = url
        known = {self.name(name, option) for name in urls for option in self.options} | {self.list}
        for variable in sorted(self.environ):
            if variable.startswith(self.prefix) and variable not in known and self.environ[variable]:
                raise ValueError(
                    f"{variable}: No server in {self.list} has this setting. "
                    f"Settings of a server: {', '.join(self.options)}."
                )
        return urls

    def name(self, server: str, option: str) -> str:
        """The name of the variable of a setting."""
        return f"{self.prefix}{server.upper().replace('-', '_')}_{option}"

    def value(self, server: str, option: str) -> str:
        return self.environ.get(self.name(server, option), "")

    def words(self, server: str, option: str) -> tuple[str, ...]:
        """The words of a setting, which stand between spaces or commas."""
        return tuple(self.value(server, option).replace(",", " ").split())

    def number(self, server: str, option: str, default: int, most: int) -> int:
        value = self.value(server, option) or str(default)
        found = whole_number(value, most)
        if not found:
            raise ValueError(f"{self.name(server, option)}: “{value}” is not a whole number from 1 to {most}.")
        return found


def http_address(url: str) -> SplitResult | None:
    """The parts of http(s)://host[:port]/path; None for anything else."""
    parts = plain_address(url)
    return parts if parts and parts.scheme in ("http", "https") and parts.hostname else None


def plain_address(url: str) -> SplitResult | None:
    """The parts of an address without user, query and fragment; None for anything else."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return None if parts.query or parts.fragment or "@" in parts.netloc else parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
