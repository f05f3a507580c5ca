"""The addresses of the API as a tree, so that a request tries few patterns instead of all of them."""

from collections.abc import Iterable

from django.urls import URLPattern, URLResolver, include, path

Patterns = list[URLPattern | URLResolver]


def grouped(patterns: Iterable[URLPattern]) -> Patterns:
    """Return patterns for the same addresses, grouped by the parts with which the addresses begin.

    Large groups come first. Patterns of one address keep their order.
    """
    return _grouped((str(pattern.pattern), pattern) for pattern in patterns)


def _grouped(addresses: Iterable[tuple[str, URLPattern]]) -> Patterns:
    groups: dict[str, list[tuple[str, URLPattern]]] = {}
    for address, pattern in addresses:
        first, slash, _rest = address.partition("/")
        groups.setdefault(first + slash, []).append((address, pattern))
    found: Patterns = []
    for first, members in sorted(groups.items(), key=lambda group: -len(group[1])):
        if first.endswith("/") and len(members) > 1:
            below = _grouped((address.removeprefix(first), pattern) for address, pattern in members)
            found.append(path(first, include(below)))
        else:
            found += [path(address, pattern.callback, name=pattern.name) for address, pattern in members]
    return found
