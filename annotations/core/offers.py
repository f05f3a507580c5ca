"""Slots on pages of lower features that higher features fill, for example with a link, in their AppConfig.ready().

The lower page has the tag `{% offered "feature.slot" %}` and does not know what fills it.
"""

OFFERS: dict[str, list[tuple[int, str]]] = {}


def offer(slot: str, template: str, *, position: int = 0) -> None:
    """Put a template into a slot on a lower feature's page; `position` orders the templates of one slot."""
    OFFERS.setdefault(slot, []).append((position, template))


def at(slot: str) -> list[str]:
    """Return the templates of a slot, in order."""
    return [template for _position, template in sorted(OFFERS.get(slot, []))]
