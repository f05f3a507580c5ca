"""What higher features put on the pages of lower ones."""

from django import template
from django.template import Context, Engine
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from annotations.core import offers

register = template.Library()


@register.simple_tag(takes_context=True)
def offered(context: Context, place: str) -> SafeString:
    """The templates offered for a place of this page, rendered with what the page knows; empty where there is none."""
    engine, found = Engine.get_default(), []
    for name in offers.at(place):
        with context.push():
            found.append(engine.get_template(name).render(context))
    return format_html_join("", "{}", ((part,) for part in found))
