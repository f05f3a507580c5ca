"""Sentences of pure code: each is marked for translation, is worded in the language of the reader, and can travel."""

import ast
import pickle
import re
import shutil
import subprocess
from string import Formatter

import pytest
from django.urls import reverse

from annotations.installation import CODE
from annotations.text.wording import WordedError, gettext
from deidreview.management.commands.makemessages import KEYWORDS, Command
from models_runtime.backends.base import BackendError
from tests.languages import bracket_marked_texts

# Pure code whose sentences stay in English, with the reason.
ENGLISH = {
    "annotations/agreement/rules/": "reasons are stored in English; core.templatetags.reasons words them on pages",
    "annotations/formats/documents/child": "names that the closed child process may not call",
    "annotations/projects/rules.py": "the administrator's file of providers, read at start",
    "annotations/release/rules/certificates/(layout|pdf|statements)": "the signed English document",
    "annotations/release/rules/redaction/(calendars|date_reading)": "reasons to try another reading, never shown",
    "models_runtime/backends/(listed|remote/servers)": "the administrator's settings, read at start",
    "models_runtime/backends/(llm/(prompts|evidence|published)|refining/)": "written for a language model",
    "models_runtime/backends/rules/(?!backend|gazetteers)": "patterns of the rules",
    "models_runtime/backends/(learner|token_classification/adapting)": "text to try a model with",
}
# Errors that only programmers see, by their type; and wrong calls and settings of servers, by how their text begins.
FOR_PROGRAMMERS = {"AssertionError", "KeyError", "NotImplementedError", "PermissionError", "TypeError"}
PLAIN = re.compile(
    r"f?.(The list contains a patient twice|The stretch is empty or leaves|Windows of \{most\}|Reliability needs|"
    r"\{(variables?|LIST)\b)"
)
MARKS = {"_": 0, "gettext": 0, "gettext_noop": 0} | {name: place - 1 for name, place in KEYWORDS.items()}
PURE = [
    file.relative_to(CODE).as_posix()
    for part in ("annotations/text", "annotations/formats", "annotations/*/rules*", "models_runtime/*/rules*",
                 "models_runtime/backends")
    for found in CODE.glob(part)
    for file in ([found] if found.suffix == ".py" else found.rglob("*.py"))
]  # fmt: skip
TREES = {name: ast.parse((CODE / name).read_text()) for name in PURE}


def name_of(call):
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def marked(tree):
    """The calls that mark a sentence, and the sentence."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and len(call.args) > (place := MARKS.get(name_of(call), 99)):
            sentence = call.args[place]
            if isinstance(sentence, ast.Constant) and isinstance(sentence.value, str):
                yield call, sentence, call.args[place + 1 :]


def is_sentence(node):
    if isinstance(node, ast.JoinedStr):
        words = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    else:
        words = node.value if isinstance(node.value, str) else ""
    return bool(re.search(r"[a-z]{2} .*[a-z]{2}.*[.?!]$", words.strip())) and not re.search(r"[<\\|]|^\(", words)


def unmarked(tree):
    """The sentences outside marks, docstrings and errors of programmers."""
    known = {id(sentence) for _, sentence, _ in marked(tree)}
    known |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    known |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    raised = (node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise))
    known |= {id(arg) for call in raised if isinstance(call, ast.Call) and name_of(call) in FOR_PROGRAMMERS
              for arg in call.args}  # fmt: skip
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.JoinedStr | ast.Constant)
            and id(node) not in known
            and is_sentence(node)
            and not PLAIN.match(ast.unparse(node))
        ):
            yield f"{node.lineno}: {ast.unparse(node)}"


def test_every_sentence_of_pure_code_is_marked():
    free = re.compile("|".join(ENGLISH))
    found = {name: list(unmarked(tree)) for name, tree in TREES.items() if not free.match(name)}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_placeholders_are_named_and_have_their_values():
    for name, tree in TREES.items():
        for call, sentence, values in marked(tree):
            given = [
                one for value in values for one in (value.value.elts if isinstance(value, ast.Starred) else [value])
            ]
            fields = (
                dict.fromkeys(field for _, field, _, _ in Formatter().parse(sentence.value) if field) if given else {}
            )
            assert len(fields) == len(given), (name, call.lineno)


def test_makemessages_knows_every_error_and_finds_every_sentence():
    errors = {"WordedError"}
    while (
        more := {
            node.name
            for tree in TREES.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and errors & {ast.unparse(base) for base in node.bases}
        }
        - errors
    ):
        errors |= more
    own_words = {"WordedError", "AudioMissing", "TextChanged"}
    assert errors - own_words == set(KEYWORDS)
    if shutil.which("xgettext") is None:
        pytest.skip("GNU gettext is not installed.")
    command = [
        "xgettext",
        "--language=Python",
        "--keyword=gettext_noop",
        "--output=-",
        *Command.xgettext_options,
        *PURE,
    ]
    catalog = subprocess.run(command, capture_output=True, text=True, check=True, cwd=CODE).stdout
    catalog = re.sub(r'"\n"', "", catalog)
    lost = [
        sentence.value
        for tree in TREES.values()
        for _, sentence, _ in marked(tree)
        if f'"{sentence.value}"' not in catalog.replace('\\"', '"').replace("\\\\", "\\") and "\n" not in sentence.value
    ]
    assert lost == []


def descendants(kind):
    return {kind}.union(*map(descendants, kind.__subclasses__()))


def test_errors_travel_between_processes():
    for kind in descendants(WordedError):
        error = kind.__new__(kind, "{count:,} of {name}", 1000, "n1")
        error.code = "empty"
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), vars(again), again.args) == (kind, {"code": "empty"}, error.args)
    again = pickle.loads(pickle.dumps(BackendError("{count:,} notes failed.", 1000, permanent=False)))
    assert (str(again), again.permanent) == ("1,000 notes failed.", False)


@pytest.mark.django_db
def test_a_page_words_the_sentence_of_a_rule(client, monkeypatch):
    """The label that is refused, in its sentence, in the language of the page."""
    from tests import factories as make

    client.force_login(make.make_user("mia", is_staff=True))
    bracket_marked_texts(monkeypatch)
    assert gettext("The {what} is empty.", "ΟΝΟΜΑ") == "⟦The ΟΝΟΜΑ is empty.⟧"
    data = {"name": "Ward", "label_set": "own", "own_labels": "ΟΝΟΜΑ", "format": "auto"}
    assert "⟦Line 1: Say what “ΟΝΟΜΑ” identifies" in client.post(reverse("project_new"), data).text
