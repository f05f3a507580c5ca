"""Scripts and style sheets that are joined when static files are collected."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.urls import reverse
from django.utils import translation

from annotations.core.templatetags.static import SITE_SCRIPT, SITE_SCRIPTS, WORKING_SCRIPTS, WORKING_STYLES
from annotations.installation import CODE
from deidreview.bundles import bundles

SITE = dict.fromkeys(SITE_SCRIPTS, "htmx();")


def joined(**files):
    texts = {name.replace("__", "/").replace("_", "."): text for name, text in files.items()} | SITE
    return dict(bundles(texts, texts.__getitem__))


def test_a_module_contains_what_it_imports_in_the_order_of_browsers():
    found = joined(
        js__page__main_js='/** Page. */\nimport { a, b as c } from "../low/x.js";\nimport "./y.js";\nrun(a, c);\n',
        js__page__y_js='import {\n  a,\n} from "../low/x.js";\nexport class Y {}\na();\n',
        js__low__x_js="export const a = 1;\nexport async function b() {}\nexport {};\n",
        js__alone_js="run();\n",
    )
    assert found.keys() == {"js/page/main.js", SITE_SCRIPT}
    assert found["js/page/main.js"] == (
        "// js/low/x.js\nconst $js_low_x_js = (() => {\nconst a = 1;\nasync function b() {}\n\n\n"
        "return { a, b };\n})();\n"
        "// js/page/y.js\nconst $js_page_y_js = (() => {\nconst {\n  a,\n} = $js_low_x_js;\nclass Y {}\na();\n\n"
        "return { Y };\n})();\n"
        "// js/page/main.js\nconst $js_page_main_js = (() => {\n/** Page. */\nconst { a, b: c } = $js_low_x_js;\n"
        "const {} = $js_page_y_js;\nrun(a, c);\n\nreturn {  };\n})();"
    )


def test_a_module_contains_the_data_that_it_imports():
    found = joined(
        js__page__main_js='import { a } from "../low/x.js";\nrun(a);\n',
        js__low__x_js='import WORDS from "./words.json" with { type: "json" };\nexport const a = WORDS;\n',
        js__low__words_json='{"a": ["b"]}\n',
    )
    assert 'const WORDS = {"a": ["b"]};\nconst a = WORDS;' in found["js/page/main.js"]


def test_a_style_sheet_contains_the_sheets_that_it_imports():
    sheet = '@import "low.css";\n@import "low.css" (max-width: 9px);\n.a {}\n'
    found = joined(css__page_css=sheet, css__low_css=".b {}\n")
    joint = ".b {}\n\n@media (max-width: 9px) {\n.b {}\n}\n\n.a {}\n"
    assert found == {"css/page.css": joint, SITE_SCRIPT: "\n".join(SITE.values())}


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"js__main_js": 'import "./a.js";', "js__a_js": 'import "./b.js";', "js__b_js": 'import "./a.js";'}, "itself"),
        (
            {"js__main_js": 'import { a } from "./a.js";', "js__a_js": "export let a = 1;"},
            "js/a.js: “export let a = 1;”",
        ),
        ({"js__main_js": 'import "./a.js";\nimport * as b from "./a.js";', "js__a_js": ""}, "js/main.js: “import"),
    ],
)
def test_what_cannot_be_joined_is_an_error(texts, words):
    with pytest.raises(ValueError, match=words.replace("*", r"\*")):
        joined(**texts)


def test_the_scripts_of_the_product_can_be_joined():
    names = {path: None for finder in finders.get_finders() for path, _ in finder.list([])}

    found = dict(bundles(names, lambda name: Path(finders.find(name)).read_text(encoding="utf-8")))
    assert {"js/annotate/main.js", "js/review/main.js", "css/site.css", SITE_SCRIPT} <= found.keys()
    assert "@import" not in found["css/site.css"]
    ends = {"js": "<!--|</script", "css": "</style"}
    within = (*WORKING_SCRIPTS, SITE_SCRIPT, "css/site.css", *WORKING_STYLES)
    assert [name for name in within if re.search(ends[name.split("/")[0]], found[name], re.I)] == []


# ── Texts of scripts: every call is extracted, placeholders have names, pages in another language load the catalog ──


FILES = sorted(path for path in (CODE / "static" / "js").rglob("*.js") if path.name != "translating.js")
STRING = r'"((?:[^"\\]|\\.)*)"'


@dataclass(frozen=True)
class Message:
    """A call that marks a string, as `makemessages -d djangojs` finds it, and the code after its last string."""

    function: str
    strings: tuple[str, ...]
    after: str


def messages(path: Path) -> Iterator[Message]:
    source = path.read_text()
    for call in re.finditer(rf"\b([np]?gettext)\(\s*{STRING}(?:\s*,\s*{STRING})?", source):
        yield Message(call[1], tuple(text for text in call.groups()[1:] if text is not None), source[call.end() :])


def test_every_call_can_be_extracted():
    """Arguments are plain strings: a variable or a template literal would never reach the translators."""
    for path in FILES:
        assert len(list(messages(path))) == len(re.findall(r"\b[np]?gettext\(", path.read_text())), path.name
    plural = [each for path in FILES for each in messages(path) if each.function == "ngettext"]
    assert len(plural) > 30 and all(len(each.strings) == 2 for each in plural)


def test_placeholders_are_filled_by_name():
    """The surrounding `interpolate` fills each `%(name)s`, and passes no other value."""
    for path in FILES:
        for each in messages(path):
            places = set(re.findall(r"%\((\w+)\)s", " ".join(each.strings)))
            if places:
                given = re.match(r"[^{}]*?\)\s*,\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", each.after)
                assert given, f"{path.name}: {each.strings[0]} is not filled"
                named = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", given[1])
                names = set(re.findall(r"(?:^|,)\s*(\w+)(?=\s*(?::|,|$))", named))
                assert names == places, f"{path.name}: {each.strings[0]}"


@pytest.mark.django_db
def test_pages_in_another_language_load_the_catalog(client, monkeypatch):
    catalog = reverse("script_words")
    assert catalog not in client.get(reverse("account_login")).text
    monkeypatch.setattr(translation._trans, "get_language", lambda: "it")
    assert f'<script src="{catalog}"></script>' in client.get(reverse("account_login")).text
    answer = client.get(catalog)
    assert answer.headers["Content-Type"].startswith("text/javascript") and "ngettext" in answer.text
