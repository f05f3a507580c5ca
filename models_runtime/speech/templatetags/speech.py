from django import template

from models_runtime.backends.llm.servers import Server
from models_runtime.runs.services.llm import leaving, servers

register = template.Library()


@register.simple_tag
def gap_judges() -> list[tuple[Server, str]]:
    """Each listed server with each of its models."""
    return [(server, model) for server in servers() for model in server.models]


@register.simple_tag
def gaps_leave() -> bool:
    """Whether a listed server is on another machine, so that asking it needs consent."""
    return bool(leaving())
