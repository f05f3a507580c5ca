"""Addresses on the network to which a server may send requests for a person: a list of hosts, and public addresses.

A name says nothing about the machine behind it, so the rule has two parts. The host of a URL must be listed, and each
connection goes to an address that is public or listed itself. Private, loopback, link-local, multicast and metadata
addresses are not public, in whatever form they are written: the caller resolves the host and asks about the result.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# The last part of a name that programs read as an IPv4 address: 2130706433, 0x7f.1, 0177.0.0.1.
_NUMERIC: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_PORT: Final = re.compile(r"(.*):([0-9]{1,5})")
PORTS: Final = {"http": 80, "https": 443}

# IPv6 addresses with an IPv4 address inside. Translators deliver to that address (RFC 6052, section 2.1).
_NAT64: Final = IPv6Network("64:ff9b::/96")
# Not public for us, whatever their registry says: tunnels to IPv4 addresses, local translators, old notations of IPv4
# addresses, relays of 6to4, and the address of Azure's platform, which answers with metadata of the machine.
_REFUSED: Final[tuple[Network, ...]] = (
    IPv6Network("2002::/16"),
    IPv6Network("2001::/32"),
    IPv6Network("64:ff9b:1::/48"),
    IPv6Network("::/96"),
    IPv6Network("fec0::/10"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("168.63.129.16/32"),
)


class HostError(WordedError, ValueError):
    """An address that can't be used. The message is a sentence; `code` is `url` or `host`."""

    def __init__(self, code: str, sentence: str, *values: object) -> None:
        super().__init__(sentence, *values)
        self.code = code


@dataclass(frozen=True)
class Target:
    """Where a URL points: scheme, host (lower case, a name in ASCII or an address), port, and path with query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True)
class HostList:
    """The listed hosts.

    `names` has pairs of a host and a port; None stands for the standard ports 80 and 443. A name such as
    `*.example.org` stands for all names below it, and `*` for all names. `networks` may be connected to, although they
    are not public.
    """

    names: frozenset[tuple[str, int | None]] = frozenset()
    networks: tuple[Network, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.networks)

    def lists(self, host: str, port: int) -> bool:
        """Whether a URL may have this host and port."""
        for name, allowed in self.names:
            if allowed != port and not (allowed is None and port in PORTS.values()):
                continue
            if name in ("*", host) or (name.startswith("*.") and host.endswith(name[1:])):
                return True
        address = address_of(host)
        return address is not None and port in PORTS.values() and self._has(address)

    def may_reach(self, address: str) -> bool:
        """Whether a connection may be made to an address that a resolver gave: it is public or listed."""
        found = address_of(address)
        return found is not None and (is_public(found) or self._has(found))

    def _has(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self.networks)


def read_hosts(words: Iterable[str]) -> HostList:
    """The list in these words: NAME, *.NAME, NAME:PORT, ADDRESS, [IPV6]:PORT, NETWORK, or `*`. Raises ValueError."""
    names: set[tuple[str, int | None]] = set()
    networks: list[Network] = []
    for word in words:
        host, port = _with_port(word.lower())
        network = _network(host.strip("[]"))
        if network is not None:
            networks.append(network)
            if network.num_addresses == 1:
                names.add((str(network.network_address), port))
        elif host == "*" or _NAME.fullmatch(host.removeprefix("*.")):
            names.add((host, port))
        else:
            raise ValueError(
                _(
                    "“{word}” is not a host. Write a name such as hooks.example.org, *.example.org or ci.lan:8443, "
                    "an address, or a network such as 10.1.0.0/16.",
                    word,
                )
            )
    return HostList(frozenset(names), tuple(networks))


def read_target(url: str) -> Target:
    """The parts of a URL. Raises HostError `url` for one that is not a plain http(s) URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise HostError("url", "The address is not a URL. Enter https://, a host, and a path.") from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise HostError("url", "The address must begin with https:// or http://, and a host.")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise HostError("url", "The address must not have a user name or password. Leave out the part before @.")
    if parts.fragment or not re.fullmatch(r"[!-~]*", url):
        raise HostError("url", "The address must have ASCII characters only, without white space and #.")
    return Target(parts.scheme, _host(parts), port or PORTS[parts.scheme], _path(parts))


def _path(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").rstrip(".")
    address = address_of(host)
    if address is not None:
        return str(address)
    if not _NAME.fullmatch(host) or _NUMERIC.fullmatch(host):
        raise HostError("url", "The host is neither a name nor an IP address such as 192.0.2.1. Correct it.")
    return host


def address_of(host: str) -> Address | None:
    """The address that this is, if it is one. An IPv4 address inside of an IPv6 address comes out as itself."""
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return found.ipv4_mapped
        if found in _NAT64:
            return IPv4Address(found.packed[-4:])
    return found


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet."""
    refused = any(address.version == network.version and address in network for network in _REFUSED)
    return address.is_global and not (refused or address.is_multicast or address.is_reserved)


def _with_port(word: str) -> tuple[str, int | None]:
    found = _PORT.fullmatch(word)
    if found and (":" not in found[1] or found[1].endswith("]")) and 0 < int(found[2]) < 65536:
        return found[1], int(found[2])
    return word, None


def _network(word: str) -> Network | None:
    try:
        return ip_network(word)
    except ValueError:
        return None
