"""What an audit found, in words and percentages."""

from django import template

from annotations.release.rules.audits.looks import at_least, at_most, whole
from annotations.release.services.steps import bound_in_words

register = template.Library()
for _filter in (at_least, at_most, bound_in_words, whole):
    register.filter(_filter)
