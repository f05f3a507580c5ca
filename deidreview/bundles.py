"""Joins scripts and style sheets when static files are collected, so that a page needs few requests.

Every file is written as before. A module that no other module imports then contains all that it imports, data too, a
style sheet the sheets that it imports, and SITE_SCRIPT the classic scripts of every page. Without collected files
(tests, `make debug`) browsers load the files one by one, as they were written.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from annotations.core.templatetags.static import SHEET, SITE_SCRIPT, SITE_SCRIPTS

Read = Callable[[str], str]
_IMPORT = re.compile(r'^import\s*(?:\{([^}]*)\}\s*from\s*)?"(\.[^"]+)";', re.M)
_DATA = re.compile(r'^import (\w+) from "(\.[^"]+)" with \{ type: "json" \};', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.M)
_EMPTY_EXPORT = re.compile(r"^export \{\};$", re.M)


def bundles(names: Mapping[str, object], read: Read) -> Iterator[tuple[str, str]]:
    """Yield the name and the new text of each file that is joined from several. `read` returns the text of a file."""
    scripts = {name: _with_data(name, read) for name in names if name.startswith("js/") and name.endswith(".js")}
    imports = {name: [_beside(name, path) for _, path in _IMPORT.findall(text)] for name, text in scripts.items()}
    imported = {name for found in imports.values() for name in found}
    for name in sorted(imports.keys() - imported):
        if imports[name]:
            yield name, "\n".join(_scope(each, scripts[each]) for each in _in_order(name, imports))
    for name in names:
        if name.startswith("css/") and SHEET.search(text := read(name)):
            yield name, SHEET.sub(lambda found: _sheet(read(f"css/{found[1]}"), found[2]), text)
    yield SITE_SCRIPT, "\n".join(read(name) for name in SITE_SCRIPTS)


def _with_data(name: str, read: Read) -> str:
    """Return the text of a module with the JSON files that it imports."""
    return _DATA.sub(lambda found: f"const {found[1]} = {read(_beside(name, found[2])).strip()};", read(name))


def _sheet(text: str, condition: str | None) -> str:
    return f"@media {condition} {{\n{text}}}\n" if condition else text


def _beside(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _in_order(name: str, imports: Mapping[str, list[str]], above: tuple[str, ...] = ()) -> dict[str, None]:
    """Return the modules in the order in which browsers run them: each after all that it imports."""
    if name in above:
        raise ValueError(f"{name}: This module imports itself through {above[-1]}. Move what both need into a third.")
    order = {each: None for path in imports[name] for each in _in_order(path, imports, (*above, name))}
    return {**order, name: None}


def _scope(name: str, text: str) -> str:
    """Return a module as a function that is called at once and returns the exports."""

    def names(found: re.Match[str]) -> str:
        wanted = (found[1] or "").replace(" as ", ": ")
        return f"const {{{wanted}}} = {_variable(_beside(name, found[2]))};"

    exports = _EXPORT.findall(text)
    text = _EMPTY_EXPORT.sub("", _EXPORT.sub("", _IMPORT.sub(names, text)))
    if unknown := re.search(r"^(?:import|export)\b.*", text, re.M):
        raise ValueError(f"{name}: “{unknown[0]}” can't be joined. Import and export by name, one declaration a line.")
    return f"// {name}\nconst {_variable(name)} = (() => {{\n{text}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _variable(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name)
