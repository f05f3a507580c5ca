"""Environment variables of the run command, checked before anything starts."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from annotations.installation import data_folder
from annotations.text.names import whole_number

YES = {"1", "true", "on", "yes", "y", "ok"}
NO = {"0", "false", "off", "no", "n", ""}


class StartError(Exception):
    """The reason why the app can't start, as one line for the terminal."""


class Options(NamedTuple):
    host: str
    port: int
    data: Path
    demo: bool
    redis_url: str | None  # None: a private Redis is started

    @property
    def address(self) -> str:
        """The URL of the app for a browser on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"


def read(environ: Mapping[str, str]) -> Options:
    """Read the options. Raise StartError with one line that names the variable, its value and the valid values."""
    options = Options(
        host=environ.get("HOST", "").strip() or "127.0.0.1",
        port=_port(environ.get("PORT", "").strip() or "8000"),
        data=data_folder(environ),
        demo=_switch("DEIDREVIEW_DEMO", environ.get("DEIDREVIEW_DEMO", "1")),
        redis_url=environ.get("REDIS_URL") or None,
    )
    if options.demo and not is_loopback(options.host):
        raise StartError(
            f"HOST: Other machines can reach {options.host}, and the demo's passwords are public. "
            "Set DEIDREVIEW_DEMO=0, or leave HOST at 127.0.0.1."
        )
    return options


def _port(value: str) -> int:
    port = whole_number(value, 65535)
    if not port:
        raise StartError(f"PORT: “{value}” is not a number from 1 to 65535.")
    return port


def _switch(name: str, value: str) -> bool:
    word = value.strip().lower()
    if word not in YES | NO:
        raise StartError(f"{name}: “{value}” is not valid. Set it to 1 or 0.")
    return word in YES


def _addresses(host: str, port: int) -> list[tuple[int, tuple[object, ...]]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise StartError(f"HOST: “{host}” is not an address of this machine.") from error
    return [(family, address) for family, _, _, _, address in found]


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach the address."""
    return all(str(address[0]).startswith("127.") or address[0] == "::1" for _, address in _addresses(host, 0))


def listen(host: str, port: int) -> socket.socket:
    """Bind and return the listening socket. The supervisor holds it, so a restarted web server loses no connection.

    Raise StartError if the port is in use or needs root, or if the host is not an address of this machine.
    """
    family, address = _addresses(host, port)[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(512)
    except PermissionError as error:
        raise StartError(f"PORT: Port {port} needs root. Choose a port above 1023, such as PORT=8000.") from error
    except OSError as error:
        if error.errno == 98:  # EADDRINUSE
            other = port + 1 if port < 65535 else 8000
            raise StartError(f"PORT: Port {port} on {host} is in use by another program. Try PORT={other}.") from error
        raise StartError(f"HOST: “{host}” is not an address of this machine ({error.strerror}).") from error
    return listener
