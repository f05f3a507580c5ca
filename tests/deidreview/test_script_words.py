"""Texts of scripts: every call is extracted, placeholders have names, a compiled catalog is used."""

import re
import subprocess

import pytest
from django.test import Client
from django.urls import reverse

from deidreview.catalog import KEPT, catalog
from tests.javascript_strings import FOLDER, calls, files, messages
from tests.languages import compile_catalog, speaking


def test_every_call_can_be_extracted():
    """Arguments are plain strings: a variable or a template literal would never reach the translators."""
    wrong = {path.name: (len(list(messages(path))), calls(path)) for path in files()}
    assert {name: counts for name, counts in wrong.items() if counts[0] != counts[1]} == {}
    plural = [each for path in files() for each in messages(path) if each.function == "ngettext"]
    assert len(plural) > 30 and all(len(each.words) == 2 for each in plural)


def test_placeholders_are_filled_by_name():
    """The surrounding `interpolate` fills each `%(name)s`, and passes no other value."""
    for each in (each for path in files() for each in messages(path)):
        places = set(re.findall(r"%\((\w+)\)s", " ".join(each.words)))
        if places:
            given = re.match(r"[^{}]*?\)\s*,\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", each.after)
            assert given, f"{each.file}: {each.words[0]} is not filled"
            named = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", given[1])
            names = set(re.findall(r"(?:^|,)\s*(\w+)(?=\s*(?::|,|$))", named))
            assert names == places, f"{each.file}: {each.words[0]}"


# ── A second language ────────────────────────────────────────────────────────────────────────────────────────────────

POLISH = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"


@pytest.fixture
def polish(settings, tmp_path):
    spans = {"%(count)s span\0%(count)s spans": ["%(count)s zakres", "%(count)s zakresy", "%(count)s zakresów"]}
    compile_catalog(tmp_path, "pl", "djangojs", POLISH, {"Undo": "Cofnij", "a notice\x04Close": "Zamknij", **spans})
    compile_catalog(tmp_path, "pl", "django", POLISH, {"Sign in": "Zaloguj się"})
    with speaking(settings, "pl", paths=(tmp_path,)):
        yield


@pytest.mark.django_db
def test_the_catalog_comes_before_the_modules_and_is_cached_only_under_its_version(polish, client):
    version, content = catalog("pl")
    address = reverse("script_words", args=["pl", version])
    page, english = (
        Client(headers={"accept-language": language}).get(reverse("account_login")).content.decode()
        for language in ("pl", "en")
    )
    assert f'<script src="{address}"></script>' in page and '<html lang="pl"' in page and "Zaloguj się" in page
    assert "/words/" not in english
    answer = client.get(address)
    assert answer.headers["Cache-Control"] == KEPT and answer.content == content
    assert answer.headers["Content-Type"].startswith("text/javascript") and "Cofnij" in content.decode()
    assert client.get(reverse("script_words", args=["pl", "0"])).headers["Cache-Control"] == "no-store"
    unknown = client.get(reverse("script_words", args=["xx", version]))
    assert unknown.status_code == 404 and unknown.headers["Cache-Control"] == "no-store"


def test_scripts_use_the_second_language(polish, tmp_path):
    """Load the catalog as the page does, then the modules: texts, a context, the three plural forms of Polish."""
    script = tmp_path / "catalog.js"
    script.write_bytes(catalog("pl")[1])
    program = f"""
        const vm = require("node:vm"), fs = require("node:fs");
        vm.runInThisContext(fs.readFileSync({str(script)!r}, "utf8"));
        import({str(FOLDER / "editor" / "words.js")!r}).then(({{ words }}) =>
            console.log([words.keys.undo, words.close, ...[1, 2, 5, 22].map(words.count), words.keys.redo].join("|")));
    """
    told = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "Cofnij|Zamknij|1 zakres|2 zakresy|5 zakresów|22 zakresy|Redo"
