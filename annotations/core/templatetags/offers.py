"""The tag that shows what higher features put on the pages of lower ones."""

from django import template
from django.template import Context, Engine
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from annotations.core import offers

register = template.Library()


@register.simple_tag(takes_context=True)
def offered(context: Context, slot: str) -> SafeString:
    """Render the templates offered for a slot of this page, with the page's context; empty without any."""
    engine, found = Engine.get_default(), []
    for name in offers.at(slot):
        with context.push():
            found.append(engine.get_template(name).render(context))
    return format_html_join("", "{}", ((part,) for part in found))
