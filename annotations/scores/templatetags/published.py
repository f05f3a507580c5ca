"""Published tables on pages, each folded under its source."""

from django import template

from annotations.scores.rules.published import ON_PAGE

register = template.Library()


@register.inclusion_tag("includes/published_tables.html")
def published(page: str, opened: object = False) -> dict[str, object]:
    """Show the published tables of a page, one of the names in `ON_PAGE`, folded unless `opened`."""
    return {"tables": ON_PAGE[page], "opened": opened}
