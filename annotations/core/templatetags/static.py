"""Replaces Django's library: its tag looks through all applications each time, 6% of the work for a page."""

from functools import lru_cache

from django import template
from django.contrib.staticfiles.storage import staticfiles_storage

register = template.Library()


@register.simple_tag
@lru_cache(maxsize=512)
def static(path: str) -> str:
    """The address of a static file."""
    return staticfiles_storage.url(path)
