"""Tags of the sign-in page and of the People page."""

from django import template

from annotations.projects.selectors.providers import Button, buttons, configured

register = template.Library()


@register.simple_tag
def sign_in_buttons() -> list[Button]:
    """The providers to which the sign-in page leads."""
    return buttons()


@register.simple_tag
def has_providers() -> bool:
    return bool(configured())
