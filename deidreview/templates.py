"""Templates whose constant parts are rendered once: words, icons and addresses that are the same on every page."""

from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Any, Final

from django.conf import settings
from django.template import Context, Node, NodeList, Template, TemplateDoesNotExist
from django.template.base import (
    FilterExpression,
    TextNode,
    TokenType,
    Variable,
    VariableNode,
    render_value_in_context,
)
from django.template.defaulttags import CommentNode, CycleNode, IfChangedNode, IfNode, LoadNode, URLNode
from django.template.library import SimpleNode
from django.template.loader_tags import BlockNode, ExtendsNode, IncludeNode
from django.template.loaders.cached import Loader as CachedLoader
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString

from annotations.annotate.templatetags.worklist import flag_reasons
from annotations.core.addresses import path_to
from annotations.core.templatetags.nav import app_version, icon, nav_url
from annotations.core.templatetags.rows import MARKUP
from annotations.core.templatetags.static import files_version, static

# Tags whose result depends on nothing but their arguments while a process runs.
PURE: Final = (app_version, files_version, flag_reasons, icon, nav_url, static)
# Nodes that keep something for the rendering of their template, so that Django has to render it as one of its own.
KEEPING: Final = (BlockNode, CycleNode, ExtendsNode, IfChangedNode)
Find = Callable[[str], Template]


class Loader(CachedLoader):
    """Finds the constant parts of each template, and the templates that it includes."""

    def get_template(self, template_name: str, skip: Any = None) -> Template:
        template = super().get_template(template_name, skip)
        if not hasattr(template, "has_parts"):
            template.has_parts = True  # type: ignore[attr-defined]  # before a template that includes itself is found
            template.nodelist = parts = _in_parts(template.nodelist, self.get_template)
            # {% extends %} looks for the blocks of a template each time.
            parts.__dict__["get_nodes_by_type"] = cache(parts.get_nodes_by_type)
        return template


def _in_parts(nodes: NodeList, find: Find) -> NodeList:
    """Return the nodes with runs of constant ones as one node, also inside the other nodes."""
    found = type(nodes)()
    found.contains_nontext = nodes.contains_nontext
    for constant, run in groupby([_with_template(node, find) for node in nodes], _is_constant):
        group = list(run)
        if constant and not all(isinstance(node, TextNode) for node in group):
            group = [ConstantPart(NodeList(group))]
        group = [Address(node) if isinstance(node, URLNode) and _is_plain(node) else node for node in group]
        group = [Shown(node) if type(node) is VariableNode else node for node in group]
        for node in group:
            for name in getattr(node, "child_nodelists", ()):
                if isinstance(vars(node).get(name), NodeList):
                    setattr(node, name, _in_parts(vars(node)[name], find))
            if isinstance(node, IfNode):
                node.conditions_nodelists = [(when, _in_parts(each, find)) for when, each in node.conditions_nodelists]
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


class Shown(VariableNode):
    """{{ a value }}: a text is written as it is, without Django's steps for numbers and times."""

    def __init__(self, node: VariableNode) -> None:
        super().__init__(node.filter_expression)
        self.token, self.origin = node.token, node.origin

    def render(self, context: Context) -> str:
        value = self.filter_expression.resolve(context)
        if type(value) is SafeString or (type(value) is str and not MARKUP.search(value)):
            return value
        return render_value_in_context(value, context)


class Included(Node):
    """A template inside another one, which Django would search for and prepare at each rendering."""

    child_nodelists = ()

    def __init__(self, node: IncludeNode, template: Template) -> None:
        self.template: Any = template  # The stubs don't describe its inside.
        self.values = node.extra_context
        self.token, self.origin = node.token, node.origin

    def render(self, context: Context) -> Any:
        with context.push(**{name: value.resolve(context) for name, value in self.values.items()}):
            return self.template._render(context)


def _with_template(node: Node, find: Find) -> Node:
    """Return an {% include %} of a constant name with its template, and any other node as it is."""
    if not isinstance(node, IncludeNode) or node.isolated_context or not _are_constant([node.template]):
        return node
    name = str(node.template.var)
    if name.startswith("."):
        return node
    try:
        template = find(name)
    except TemplateDoesNotExist:
        return node  # Rendering it reports the error.
    keeps = any(template.nodelist.get_nodes_by_type(kind) for kind in KEEPING)
    return node if keeps else Included(node, template)


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
    if isinstance(node, Included):
        return not node.values and all(map(_is_constant, node.template.nodelist))
    return isinstance(node, TextNode | LoadNode | CommentNode | ConstantPart)


def _are_constant(values: list[FilterExpression]) -> bool:
    return not any(value.filters or (isinstance(value.var, Variable) and value.var.literal is None) for value in values)
