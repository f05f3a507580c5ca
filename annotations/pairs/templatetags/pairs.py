from django import template

from annotations.models import Project
from annotations.pairs.services.starting import has_omissis

register = template.Library()


@register.filter
def takes_pairs(project: Project) -> bool:
    """Whether decisions can be paired in this project: it has the label OMISSIS."""
    return has_omissis(project)
