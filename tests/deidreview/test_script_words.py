"""Texts of scripts: every sentence is marked and extracted, placeholders have names, a compiled catalog is used."""

import re
import subprocess

import pytest
from django.test import Client
from django.urls import reverse

from deidreview.catalog import KEPT, catalog
from tests.javascript_strings import FOLDER, Literal, calls, files, literals, messages
from tests.languages import compile_catalog, speaking

WORDS = [path for path in files() if path.name.endswith("words.js")]
# In other modules a string counts as text if it begins like a sentence. `text/` processes notes and contains no texts.
SENTENCE = re.compile(r"^\s*[A-Z][a-z]+(['’]?[a-z]*[,;:.!?…]*( |$))")
SILENT = [path for path in files() if path not in WORDS and path.parent.name != "text"]
# Strings for code and browser: comparisons, keys, request headers, thrown errors.
CODE = re.compile(
    r"(endsWith\(|startsWith\(|===|setRequestHeader\(|Error\(|TextIndex\()\s*$|\bkeys: \[[^\]]*$|^const NAMES", re.M
)
KEYS = {"Escape", "Enter", "Delete", "Backspace", "Tab", "Home", "End", "Space", "Shift", "Alt", "Dead", "Esc", "Del",
        "Ctrl", "Unidentified"}  # fmt: skip


def test_there_are_modules_of_words():
    assert {path.relative_to(FOLDER).as_posix() for path in WORDS} == {
        "adjudicate/words.js", "agreement/words.js", "editor/deciding/words.js", "review/words.js", "transfer/words.js",
        "scores/words.js", "annotate/talk_words.js", "editor/words.js", "audits/words.js", "release/words.js",
    }  # fmt: skip


def is_code(literal: Literal) -> bool:
    """Say whether a literal in a module of words is code: an import, a table key, a format option, a separator."""
    return bool(
        re.search(r"\bfrom\s+$", literal.before)
        or re.match(r"\s*:", literal.after)
        or re.search(r"\b(day|month|year|hour|minute):\s*$", literal.before)
        or not re.search(r"[A-Za-z]", literal.text)
    )


@pytest.mark.parametrize("path", WORDS, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_modules_of_words_contain_only_marked_strings(path):
    assert [each.text for each in literals(path) if not each.marked and not is_code(each)] == []


@pytest.mark.parametrize("path", SILENT, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_other_modules_contain_no_texts(path):
    found = [
        each.text
        for each in literals(path)
        if not each.marked
        and SENTENCE.search(re.sub(r"\$\{[^}]*\}", "", each.text))
        and each.text not in KEYS
        and not CODE.search(each.before)
    ]
    assert found == []


def test_every_call_can_be_extracted():
    """Arguments are plain strings: a variable or a template literal would never reach the translators."""
    wrong = {path.name: (len(list(messages(path))), calls(path)) for path in files()}
    assert {name: counts for name, counts in wrong.items() if counts[0] != counts[1]} == {}
    plural = [each for path in files() for each in messages(path) if each.function == "ngettext"]
    assert len(plural) > 30 and all(len(each.words) == 2 for each in plural)


def test_placeholders_are_filled_by_name():
    """The surrounding `interpolate` fills each `%(name)s`, and passes no other value."""
    for path in files():
        for each in messages(path):
            places = set(re.findall(r"%\((\w+)\)s", " ".join(each.words)))
            assert all(set(re.findall(r"%\((\w+)\)s", words)) <= places for words in each.words)
            given = re.match(r"[^{}]*?\)\s*,\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", each.after) if places else None
            if not places:
                continue
            assert given, f"{each.file}: {each.words[0]} is not filled"
            names = set(
                re.findall(r"(?:^|,)\s*(\w+)(?=\s*(?::|,|$))", re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", given[1]))
            )
            assert names == places, f"{each.file}: {each.words[0]}"


def test_gettext_itself_finds_them(tmp_path):
    """GNU gettext, if it is installed, finds the same strings as this test."""
    if subprocess.run(["which", "xgettext"], capture_output=True, check=False).returncode:
        pytest.skip("GNU gettext is not installed")
    pot = tmp_path / "scripts.pot"
    command = ["xgettext", "--from-code=UTF-8", "--language=JavaScript", "--keyword=pgettext:1c,2", f"--output={pot}"]
    subprocess.run([*command, *map(str, files())], check=True)
    found = {re.sub(r'"\n"', "", words) for words in re.findall(r'^msgid ((?:".*"\n)+)', pot.read_text(), re.M)}
    assert {each.words[0] for path in files() for each in messages(path)} <= {words.strip()[1:-1] for words in found}


# ── A second language ────────────────────────────────────────────────────────────────────────────────────────────────

POLISH = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"


@pytest.fixture
def polish(settings, tmp_path):
    spans = {"%(count)s span\0%(count)s spans": ["%(count)s zakres", "%(count)s zakresy", "%(count)s zakresów"]}
    compile_catalog(tmp_path, "pl", "djangojs", POLISH, {"Undo": "Cofnij", "a notice\x04Close": "Zamknij", **spans})
    compile_catalog(tmp_path, "pl", "django", POLISH, {"Sign in": "Zaloguj się"})
    with speaking(settings, "pl", paths=(tmp_path,)):
        yield


def test_with_one_language_no_catalog_is_loaded(client):
    assert "/words/" not in client.get(reverse("account_login")).content.decode()


@pytest.mark.django_db
def test_the_catalog_comes_before_the_modules(polish):
    page = Client(headers={"accept-language": "pl"}).get(reverse("account_login")).content.decode()
    address = reverse("script_words", args=["pl", catalog("pl")[0]])
    assert f'<script src="{address}"></script>' in page and '<html lang="pl"' in page
    assert "Zaloguj się" in page
    english = Client(headers={"accept-language": "en"}).get(reverse("account_login")).content.decode()
    assert "/words/" not in english


@pytest.mark.django_db
def test_the_catalog_is_cached_only_under_its_version(polish, client):
    version, content = catalog("pl")
    answer = client.get(reverse("script_words", args=["pl", version]))
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
