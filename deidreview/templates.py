"""Templates whose constant parts are rendered once: words, icons and addresses that are the same on every page."""

from functools import cache
from itertools import groupby
from typing import Any, Final

from django.conf import settings
from django.template import Context, Node, NodeList, Template
from django.template.base import FilterExpression, TextNode, TokenType, Variable
from django.template.defaulttags import CommentNode, IfNode, LoadNode, URLNode
from django.template.library import SimpleNode
from django.template.loaders.cached import Loader as CachedLoader
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString

from annotations.annotate.templatetags.worklist import flag_reasons
from annotations.core.addresses import path_to
from annotations.core.templatetags.nav import app_version, icon, nav_url
from annotations.core.templatetags.static import files_version, static

# Tags whose result depends on nothing but their arguments while a process runs.
PURE: Final = (app_version, files_version, flag_reasons, icon, nav_url, static)


class Loader(CachedLoader):
    """Finds the constant parts of each template."""

    def get_template(self, template_name: str, skip: Any = None) -> Template:
        template = super().get_template(template_name, skip)
        if not hasattr(template, "has_parts"):
            template.nodelist = parts = _in_parts(template.nodelist)
            # {% extends %} looks for the blocks of a template each time.
            parts.__dict__["get_nodes_by_type"] = cache(parts.get_nodes_by_type)
            template.has_parts = True  # type: ignore[attr-defined]
        return template


def _in_parts(nodes: NodeList) -> NodeList:
    """Return the nodes with runs of constant ones as one node, also inside the other nodes."""
    found = type(nodes)()
    found.contains_nontext = nodes.contains_nontext
    for constant, run in groupby(nodes, _is_constant):
        group = list(run)
        if constant and not all(isinstance(node, TextNode) for node in group):
            group = [ConstantPart(NodeList(group))]
        group = [Address(node) if isinstance(node, URLNode) and _is_plain(node) else node for node in group]
        for node in group:
            for name in getattr(node, "child_nodelists", ()):
                if isinstance(vars(node).get(name), NodeList):
                    setattr(node, name, _in_parts(vars(node)[name]))
            if isinstance(node, IfNode):
                node.conditions_nodelists = [(when, _in_parts(each)) for when, each in node.conditions_nodelists]
        found += group
    return found


class ConstantPart(Node):
    """Neighboring nodes that give the same text at every rendering, unless pages have several languages."""

    child_nodelists = ()

    def __init__(self, nodes: NodeList) -> None:
        self.nodes = nodes
        self._text: SafeString | None = None

    def render(self, context: Context) -> SafeString:
        if settings.USE_I18N:
            return self.nodes.render(context)
        if self._text is None:
            self._text = self.nodes.render(context)
        return self._text


class Address(Node):
    """The path of a page, without Django's search among all addresses at each rendering."""

    child_nodelists = ()

    def __init__(self, node: URLNode) -> None:
        self.page, self.args = str(node.view_name.var), node.args

    def render(self, context: Context) -> str:
        path = path_to(self.page, *[arg.resolve(context) for arg in self.args])
        return conditional_escape(path) if context.autoescape else path


def _is_plain(node: URLNode) -> bool:
    """Whether the node is {% url 'page' … %} with positional values, and the same in all applications."""
    return not (node.kwargs or node.asvar or ":" in node.view_name.token) and _are_constant([node.view_name])


def _is_constant(node: Node) -> bool:
    if isinstance(node, TranslateNode):
        return not (node.asvar or node.message_context) and _are_constant([node.filter_expression])
    if isinstance(node, BlockTranslateNode):
        varying = (node.extra_context, node.countervar, node.plural, node.asvar, node.message_context)
        return not any(varying) and all(token.token_type == TokenType.TEXT for token in node.singular)
    if isinstance(node, SimpleNode):
        return node.func in PURE and node.target_var is None and _are_constant([*node.args, *node.kwargs.values()])
    if isinstance(node, URLNode):
        return not node.args and _is_plain(node)
    return isinstance(node, TextNode | LoadNode | CommentNode | ConstantPart)


def _are_constant(values: list[FilterExpression]) -> bool:
    return not any(value.filters or (isinstance(value.var, Variable) and value.var.literal is None) for value in values)
