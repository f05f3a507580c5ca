"""The order of the features: no feature names a higher one in Python, templates or scripts."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.template.loader import get_template
from django.urls import URLPattern, URLResolver, get_resolver

from annotations.core import offers
from annotations.core.events import sentences
from annotations.jobs.registry import JOBS

ROOT = Path(__file__).resolve().parents[2]
# From the lowest to the highest, as in the contracts of import-linter (pyproject.toml).
ANNOTATIONS = [
    *(
        "core",
        "help",
        "api",
        "jobs",
        "projects",
        "accounts",
        "providers",
        "notes",
        "gold",
        "transfer",
        "annotate",
        "agreement",
        "adjudicate",
    ),
    *("review", "scores", "known", "surrogates", "release", "audits", "certificates", "webhooks", "archives", "ops"),
]
MODELS = [
    *("calibration", "training", "runs", "judging", "comparing", "relexicalizing", "loop", "injecting"),
    *("skills", "refining"),
    *("serving", "bulk"),
]
# Folders of templates, and of scripts, that every feature may use.
SHARED = ["errors", "includes", "editor", "text"]
# How templates and scripts name a template, a script or a page.
TEMPLATE = re.compile(r"""["']([a-z_]+)/[\w/]+\.html["']""")
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.{1,2}/[\w./-]+)["']""")
WORDS = re.compile(r"""["']([a-z][a-z_]*)["']""")
OFFERED = re.compile(r"""\{%\s*offered\s+["']([\w.]+)["']""")
TAGS = re.compile(r"""\{%\s*(?:nav_)?url\s+["']([\w:]+)["']""")
# How a feature's module `events` defines a verb, and how other modules name one.
DEFINED = re.compile(r"""^([A-Z_]+) = Verb\[\w+\]\(\s*["']([\w.]+)["']""", re.MULTILINE)
NAMES = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*\b")
LINKS = re.compile(r"""\b(?:reverse|redirect|resolve_url|nav_url|reverse_lazy)\(\s*["']([\w:]+)["']""")


def python() -> list[Path]:
    return sorted(path for path in (ROOT / "annotations").rglob("*.py") if "migrations" not in path.parts)


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


def scripts() -> list[Path]:
    return sorted((ROOT / "static" / "js").rglob("*.js"))


def feature(path: Path) -> str:
    """Return the feature of a file: the first folder below its tree."""
    for tree in ("templates", "static/js", "annotations", "models_runtime"):
        if path.is_relative_to(ROOT / tree):
            return path.relative_to(ROOT / tree).parts[0]
    raise AssertionError(path)


def below(paths: list[Path]) -> list[Path]:
    """Return the files of annotations' features and the shared files."""
    return [path for path in paths if feature(path) not in MODELS]


@cache
def pages() -> dict[str, str]:
    """Return by URL name the app of its view: "annotations.gold", "models_runtime.loop"."""
    found: dict[str, set[str]] = {}

    def walk(patterns: list[URLPattern | URLResolver]) -> None:
        for one in patterns:
            if isinstance(one, URLResolver):
                walk(one.url_patterns)
            elif one.name:
                found.setdefault(one.name, set()).add(".".join(one.callback.__module__.split(".")[:2]))

    walk(get_resolver().url_patterns)
    return {name: next(iter(homes)) for name, homes in found.items() if len(homes) == 1}


def order() -> dict[str, int]:
    """Return the position of each folder that has pages, by its dotted path."""
    names = [
        *(f"annotations.{name}" for name in ANNOTATIONS),
        *(f"models_runtime.{name}" for name in ("core", *MODELS)),
    ]
    return {name: position for position, name in enumerate([*names, "models_runtime.ops"])}


def home(path: Path) -> str:
    """Return the dotted path of a file's feature; of a template or script, that of the feature with its name."""
    if path.is_relative_to(ROOT / "models_runtime") or feature(path) in MODELS:
        return f"models_runtime.{feature(path)}"
    return f"annotations.{feature(path)}"


def featured() -> list[Path]:
    """Return the Python files and templates of all features."""
    models = [path for path in sorted((ROOT / "models_runtime").rglob("*.py")) if "migrations" not in path.parts]
    return [path for path in [*python(), *models, *templates()] if home(path) in order()]


def models_pages() -> set[str]:
    return {name for name, home in pages().items() if home.startswith("models_runtime.")}


@cache
def text_of(path: Path) -> str:
    return path.read_text()


def lines(path: Path) -> Iterator[tuple[str, str]]:
    name = path.relative_to(ROOT)
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        yield f"{name}:{number}", line


def test_the_lists_here_are_the_folders():
    for tree in ("templates", "static/js"):
        known = {*ANNOTATIONS, *MODELS, *SHARED, "account", "allauth", "mfa"}
        assert {path.name for path in (ROOT / tree).iterdir() if path.is_dir()} <= known
    folders = {path.parent.name for path in (ROOT / "annotations").glob("*/apps.py")}
    assert folders == set(ANNOTATIONS)
    assert {path.parent.name for path in (ROOT / "models_runtime").glob("*/apps.py")} == {*MODELS, "core", "ops"}
    assert {"loop", "runs", "judging"} <= models_pages()


def test_annotations_names_no_module_and_no_template_of_the_models():
    # The name of a database table is not a path: jobs were in models_runtime before they moved.
    found = [
        where
        for path in [*python(), *below(templates()), *below(scripts())]
        for where, line in lines(path)
        if "models_runtime" in re.sub(r'db_table = "\w+"', "", line)
        or any(folder in MODELS for folder in TEMPLATE.findall(line))
    ]
    assert not found


def test_annotations_names_no_page_of_the_models():
    forbidden = models_pages()
    found = [
        f"{where}: {name}"
        for path in [*python(), *below(templates())]
        for where, line in lines(path)
        for name in [*TAGS.findall(line), *LINKS.findall(line)]
        if name in forbidden
    ]
    assert not found


def test_annotations_registers_no_page_of_the_models():
    # Tabs are registered by plain names. Elsewhere a word such as "run" can mean something else; one with "_" can't.
    forbidden = models_pages()
    found = [
        f"{where}: {name}"
        for path in python()
        for where, line in lines(path)
        for name in WORDS.findall(line)
        if name in forbidden and (path.name in ("apps.py", "nav.py", "navigation.py") or "_" in name)
    ]
    assert not found


@cache
def verbs() -> dict[str, tuple[str, Path]]:
    """Return each verb's stored value and the folder of the feature that defines it, by its constant's name."""
    found = {}
    for path in sorted([*ROOT.glob("annotations/*/events.py"), *ROOT.glob("models_runtime/*/events.py")]):
        for name, value in DEFINED.findall(path.read_text()):
            found[name] = (value, path.parent)
    return found


@cache
def below_verb(home: Path) -> list[Path]:
    """Return the Python files of the features below this one, and those that all features share."""
    trees = [ROOT / "annotations" / name for name in ("models", "domain", *ANNOTATIONS)]
    trees += [ROOT / "models_runtime" / name for name in ("core", *MODELS)]
    return [path for tree in trees[: trees.index(home)] for path in sorted(tree.rglob("*.py"))]


def test_the_verbs_here_are_the_registered_ones():
    assert {value for value, _home in verbs().values()} == set(sentences())


def test_a_feature_names_no_verb_of_a_higher_feature():
    found = [
        f"{where}: {name}"
        for name, (value, home) in verbs().items()
        for path in below_verb(home)
        # Most files contain neither; only the others are split into lines.
        if name in text_of(path) or value in text_of(path)
        for where, line in lines(path)
        if re.search(rf"""\b{name}\b|["']{re.escape(value)}["']""", line)
    ]
    assert not found


def test_a_verb_is_defined_in_a_feature_that_uses_it():
    """Otherwise a feature would know what only a higher one writes. In core, two features are enough, whichever."""
    users: dict[str, set[Path]] = {}
    for path in [*python(), *sorted((ROOT / "models_runtime").rglob("*.py"))]:
        if path.name != "events.py":
            for name in NAMES.findall(path.read_text()):
                users.setdefault(name, set()).add(ROOT.joinpath(*path.relative_to(ROOT).parts[:2]))
    core = ROOT / "annotations" / "core"
    found = [
        name
        for name, (_value, home) in verbs().items()
        if (len(users.get(name, ())) < 2 if home == core else home not in users.get(name, ()))
    ]
    assert not found


def test_offers_have_a_slot_and_a_template():
    slots = {slot for path in templates() for slot in OFFERED.findall(path.read_text())}
    assert set(offers.OFFERS) == slots
    for slot in slots:
        for name in offers.at(slot):
            get_template(name)


def test_each_kind_of_job_shows_its_result_by_a_template_of_its_own_feature():
    for kind in JOBS.values():
        get_template(kind.result)
        app = kind.handler.split(".")[1]
        assert kind.result.split("/")[0] in (app, "jobs"), kind


def test_scripts_of_annotations_write_no_address_of_the_models():
    found = [
        where
        for path in below(scripts())
        for where, line in lines(path)
        if re.search(r"/(?:runs|models|judgings?|loop|calibrations?)/", line)
    ]
    assert not found


def test_templates_take_none_of_a_higher_feature():
    order = {name: at for at, name in enumerate([*ANNOTATIONS, *MODELS])}
    found = [
        f"{where}: {target}"
        for path in templates()
        for where, line in lines(path)
        for target in TEMPLATE.findall(line)
        if feature(path) in order and target in order and order[target] > order[feature(path)]
    ]
    assert not found


def test_a_feature_links_to_no_page_of_a_higher_one():
    """A higher feature puts such links there with `core.offers`, `core.navigation` and `core.addresses`."""
    known, position = pages(), order()
    found = [
        f"{where}: {name}"
        for path in featured()
        for where, line in lines(path)
        for name in [*TAGS.findall(line), *LINKS.findall(line)]
        if position.get(known.get(name, ""), 0) > position[home(path)]
    ]
    assert not found


def test_shared_templates_link_to_no_page_of_a_feature():
    found = [
        f"{where}: {name}"
        for path in templates()
        if feature(path) in SHARED or path.parent == ROOT / "templates"
        for where, line in lines(path)
        for name in TAGS.findall(line)
        if pages().get(name, "") in order()
    ]
    assert not found


def test_a_feature_writes_no_address_of_a_higher_one():
    """The last part of an address that only higher features have ("/annotate/") would be such a link.

    Modules that declare addresses, of pages (`urls`) and of the API (`api`), are no links.
    """
    homes: dict[str, set[int]] = {}

    def walk(patterns: list[URLPattern | URLResolver]) -> None:
        for one in patterns:
            if isinstance(one, URLResolver):
                walk(one.url_patterns)
            elif one.name in pages() and pages()[one.name] in order():
                for part in re.findall(r"(?:^|/)([a-z-]+)(?=/|$)", str(one.pattern)):
                    homes.setdefault(part, set()).add(order()[pages()[one.name]])

    walk(get_resolver().url_patterns)
    assert {"annotate", "outcome", "adjudicate"} <= set(homes)
    found = [
        f"{where}: {part}"
        for path in [*featured(), *(path for path in scripts() if home(path) in order())]
        if path.name not in ("urls.py", "api.py") and path.parent.name != "api"
        for where, line in lines(path)
        for part in re.findall(r"""[\w}]/([a-z-]+)/?["'`?#]""", line)
        if part in homes and min(homes[part]) > order()[home(path)]
    ]
    assert not found


def test_features_register_their_own_pages_and_templates():
    registered = re.compile(r"""(?:offers\.offer|addresses\.register)\(\s*"[\w.]+",\s*"([\w/.]+)\"""")
    checked = 0
    for path in [*ROOT.glob("annotations/*/apps.py"), *ROOT.glob("models_runtime/*/apps.py")]:
        for name in registered.findall(path.read_text()):
            owner = home(ROOT / "templates" / name) if name.endswith(".html") else pages()[name]
            assert owner == home(path), f"{path}: {name}"
            checked += 1
    assert checked > 30


def test_shared_templates_take_none_of_a_feature():
    found = [
        f"{where}: {target}"
        for path in templates()
        if feature(path) in SHARED
        for where, line in lines(path)
        for target in TEMPLATE.findall(line)
        if target in {*ANNOTATIONS, *MODELS}
    ]
    assert not found


def test_scripts_import_none_of_a_higher_folder():
    order = ["text", "core", "editor", *(name for name in ANNOTATIONS if name != "core"), *MODELS]
    found = []
    for path in scripts():
        for target in IMPORT.findall(path.read_text()):
            other = (path.parent / target).resolve()
            assert other.is_file(), f"{path}: {target}"
            if path.parent == other.parent or feature(path) not in order or feature(other) not in order:
                continue
            if order.index(feature(other)) > order.index(feature(path)):
                found.append(f"{path.relative_to(ROOT)}: {target}")
    assert not found


@pytest.mark.parametrize("feature", ["annotate", "review", "adjudicate"])
def test_the_three_working_screens_import_none_of_each_other(feature):
    others = {"annotate", "review", "adjudicate"} - {feature}
    for path in (ROOT / "static" / "js" / feature).rglob("*.js"):
        for target in IMPORT.findall(path.read_text()):
            assert not others.intersection(Path(target).parts), f"{path}: {target}"


# Style sheets of the frame and of parts that several features use. Any other has the name of its feature.
SHARED_STYLES = {
    *("base", "decide", "figures", "forms", "frame", "managing", "media", "note"),
    *("pages", "parts", "tokens", "windows", "workbench"),
}


def test_a_feature_uses_no_style_sheet_of_a_higher_one():
    known = {path.stem for path in (ROOT / "static" / "css").glob("*.css")}
    assert known - SHARED_STYLES <= {*ANNOTATIONS, *MODELS}
    position = {name.split(".")[1]: at for name, at in order().items() if name != "models_runtime.core"}
    found = [
        f"{where}: {name}"
        for path in [*python(), *templates()]
        for where, line in lines(path)
        for name in re.findall(r"css/(\w+)\.css['\"]", line)
        if name not in known or position.get(name, -1) > position.get(feature(path), -1)
    ]
    assert not found


# Functions and classes without a decorator, and those that Django and Gunicorn look up by name.
WRITTEN = re.compile(r"^\n(?:def|class) (\w+)", re.MULTILINE)
LOOKED_UP = re.compile(r"\w+Config|when_ready|post_fork|on_exit")


def test_every_function_and_class_is_used():
    """Its name stands in another place of the product: in code, in a template or in a dotted path."""
    code = [
        path.read_text()
        for name in ("annotations", "deidreview", "models_runtime")
        for path in (ROOT / name).rglob("*.py")
    ]
    others = [path.read_text() for path in (*templates(), *scripts(), ROOT / "pyproject.toml")]
    words = Counter(word for text in code + others for word in re.findall(r"\w+", text))
    written = {name for text in code for name in WRITTEN.findall(text)}
    assert len(written) > 1000
    assert sorted(name for name in written if words[name] == 1 and not LOOKED_UP.fullmatch(name)) == []
