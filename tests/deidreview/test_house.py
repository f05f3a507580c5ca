"""What linters can't see: a feature that names a page, template or script of a higher one, and unused code."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from django.template.loader import get_template
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.module_loading import import_string

from annotations.annotate.events import SET_SUBMITTED
from annotations.core import hooks, navigation, offers
from annotations.gold.events import GOLD_FROZEN
from annotations.jobs.registry import JOBS

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
ORDERS = {
    contract["name"].rpartition(" ")[2]: contract["layers"] for contract in CONTRACTS if "order" in contract["name"]
}
# The features from the lowest to the highest, by dotted path.
ORDER = [f"{package}.{name}" for package in ("annotations", "models_runtime") for name in reversed(ORDERS[package])]
# Folders of templates and scripts that every feature may use. They name no feature.
SHARED = ("includes", "editor", "text")
# How templates and scripts name a template, a script or a page.
TEMPLATE = re.compile(r"""["']([a-z_]+)/[\w/]+\.html["']""")
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.{1,2}/[\w./-]+)["']""")
OFFERED = re.compile(r"""\{%\s*offered\s+["']([\w.]+)["']""")
LINKS = re.compile(
    r"""(?:\{%\s*(?:nav_)?url\s+|\b(?:reverse|redirect|resolve_url|nav_url|reverse_lazy)\(\s*)["']([\w:]+)["']"""
)


def files(tree: str, ending: str) -> list[Path]:
    return sorted(path for path in (ROOT / tree).rglob(f"*{ending}") if "migrations" not in path.parts)


def templates() -> list[Path]:
    return files("templates", ".html")


def scripts() -> list[Path]:
    return files("static/js", ".js")


def featured(name: str) -> str:
    """Return the dotted path of the feature to which a folder of templates or scripts belongs."""
    return f"annotations.{name}" if name in ORDERS["annotations"] else f"models_runtime.{name}"


def height(path: Path) -> int | None:
    """Return the position of a file's feature, -1 for shared files, and None for the frame around the pages of all."""
    tree, *parts = path.relative_to(ROOT).parts
    name = parts[1] if tree == "static" else parts[0]
    home = f"{tree}.{name}" if tree in ORDERS else featured(name)
    return ORDER.index(home) if home in ORDER else -1 if name in SHARED else None


@cache
def pages() -> dict[str, int]:
    """Return by URL name the position of the feature of its view. Names that two features use are left out."""
    found: dict[str, set[str]] = {}

    def walk(patterns: list[URLPattern | URLResolver]) -> None:
        for one in patterns:
            if isinstance(one, URLResolver):
                walk(one.url_patterns)
            elif one.name:
                found.setdefault(one.name, set()).add(".".join(one.callback.__module__.split(".")[:2]))

    walk(get_resolver().url_patterns)
    homes = {name: homes.pop() for name, homes in found.items() if len(homes) == 1}
    return {name: ORDER.index(home) for name, home in homes.items() if home in ORDER}


def named_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield the templates and pages that a file names, with the positions of their features."""
    for folder in TEMPLATE.findall(text):
        yield folder, ORDER.index(featured(folder)) if featured(folder) in ORDER else -1
    for name in LINKS.findall(text):
        yield name, pages().get(name, -1)


def test_a_feature_names_no_page_and_no_template_of_a_higher_one():
    """A higher feature puts such links there with `core.offers`, `core.navigation` and `core.addresses`."""
    assert len(pages()) > 100
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*files("annotations", ".py"), *files("models_runtime", ".py"), *templates()]
        if (own := height(path)) is not None
        for name, position in named_in(path.read_text())
        if position > own
    ]
    assert found == []


def test_scripts_import_none_of_a_higher_folder():
    features = [name.partition(".")[2] for name in ORDER]
    order = ["text", "core", "editor", *(name for name in features if name != "core")]
    found = []
    for path in scripts():
        for target in IMPORT.findall(path.read_text()):
            own, other = (
                file.relative_to(ROOT / "static" / "js").parts[0] for file in (path, (path.parent / target).resolve())
            )
            if own in order and other in order and order.index(other) > order.index(own):
                found.append(f"{path.relative_to(ROOT)}: {target}")
    assert found == []


def test_offers_and_results_of_jobs_have_their_templates():
    slots = {slot for path in templates() for slot in OFFERED.findall(path.read_text())}
    assert set(offers.OFFERS) == slots
    for name in [*(name for slot in slots for name in offers.at(slot)), *(kind.result for kind in JOBS.values())]:
        get_template(name)


def test_the_functions_of_hooks_and_counters_exist():
    """They are named by dotted paths, which nothing else checks."""
    watched = [SET_SUBMITTED.watchers, GOLD_FROZEN.watchers]
    for hook in [*(one for one in vars(hooks).values() if isinstance(one, hooks.Hook)), *watched]:
        assert list(hook)
    for group, entries in navigation.all_groups():
        assert all(import_string(one.counter) for one in (group, *entries) if one.counter)


# Functions and classes without a decorator, and those that Django and Gunicorn look up by name.
WRITTEN = re.compile(r"^\n(?:def|class) (\w+)", re.MULTILINE)
LOOKED_UP = re.compile(r"\w+Config|when_ready|post_fork|on_exit")


def test_every_function_and_class_is_used():
    """Its name stands in another place of the product: in code, in a template or in a dotted path."""
    code = [path.read_text() for name in ("annotations", "deidreview", "models_runtime") for path in files(name, ".py")]
    others = [path.read_text() for path in (*templates(), *scripts(), ROOT / "pyproject.toml")]
    words = Counter(word for text in code + others for word in re.findall(r"\w+", text))
    written = {name for text in code for name in WRITTEN.findall(text)}
    assert len(written) > 1000
    assert sorted(name for name in written if words[name] == 1 and not LOOKED_UP.fullmatch(name)) == []
