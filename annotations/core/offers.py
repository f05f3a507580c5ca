"""Places on pages that higher features fill: a link to a page of theirs, say. They offer in their AppConfig.ready().

A lower page names the place by `{% offered "feature.place" %}` and knows nothing of what stands there.
"""

OFFERS: dict[str, list[tuple[int, str]]] = {}


def offer(place: str, template: str, *, position: int = 0) -> None:
    """Put a template on a place of a lower feature's page; `position` orders those at the same place."""
    OFFERS.setdefault(place, []).append((position, template))


def at(place: str) -> list[str]:
    """The templates at a place, in order."""
    return [template for _position, template in sorted(OFFERS.get(place, []))]
