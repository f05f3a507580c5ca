import json
from dataclasses import replace
from typing import Any

import cassis
import pytest
from hypothesis import given

from annotations.formats.notes import NoteError
from annotations.text.spans import Span
from tests.formats.helpers import facts, read_all, read_one, refused, said, write_one
from tests.text.strategies import texts_with_spans

NE = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
TEXT = "Dr. Anna 😊 Neri"


def cas(*structures: dict[str, Any], text: str = TEXT, types: dict[str, Any] | None = None, **changes: Any) -> str:
    """A file with these feature structures; they are numbered from 2, and belong to the text, unless they say else."""
    sofa = {"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaNum": 1, "sofaID": "_InitialView", "sofaString": text}
    numbered = [{"%ID": number, "@sofa": 1} | each for number, each in enumerate(structures, 2)]
    members = [each["%ID"] for each in numbered]
    whole = {
        "%TYPES": types or {},
        "%FEATURE_STRUCTURES": [sofa, *numbered],
        "%VIEWS": {"_InitialView": {"%SOFA": 1, "%MEMBERS": members}},
    }
    return json.dumps(whole | changes, indent=1)


def entity(begin: Any, end: Any, value: Any = "NAME", **features: Any) -> dict[str, Any]:
    return {"%TYPE": NE, "begin": begin, "end": end, "value": value} | features


def test_reading() -> None:
    token = {"%TYPE": "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token", "begin": 0, "end": 3}
    note = read_one("cas-json", {"a.json": cas(entity(4, 8), token, entity(12, 16, "DATE", identifier="Q1"))})
    assert (note.text, note.warnings) == (TEXT, [])
    assert facts(note.spans) == [(4, 8, "NAME", ()), (11, 15, "DATE", (("identifier", "Q1"),))]


def test_feature_structures_by_id_and_marked_offsets() -> None:
    whole = json.loads(cas())
    sofa = whole["%FEATURE_STRUCTURES"][0]
    del sofa["%ID"]
    whole["%FEATURE_STRUCTURES"] = {"1": sofa, "2": {"%TYPE": NE, "@sofa": 1, "^begin": 4, "^end": 8, "value": "NAME"}}
    whole["%VIEWS"]["_InitialView"]["%MEMBERS"] = [2]
    assert read_one("cas-json", {"a.json": json.dumps(whole)}).spans == [Span(4, 8, "NAME")]
    # Odd views and types do no harm.
    for odd in (None, 1, [], {"a": 1}, {"_InitialView": {"%MEMBERS": 1}}):
        data = cas(entity(4, 8), **{"%TYPES": odd, "%VIEWS": odd})
        assert read_one("cas-json", {"a.json": data}).spans == [Span(4, 8, "NAME")]


def test_values_of_features() -> None:
    phi = "webanno.custom.Phi"
    given = {"%TYPE": phi, "begin": 4, "end": 8, "kind": "NAME", "on": True, "off": False, "level": 3, "#odd": "NaN"}
    note = read_one("cas-json", {"a.json": cas(given | {"none": None, "@links": 9, "list": [1]})})
    assert facts(note.spans) == [(4, 8, "NAME", (("level", "3"), ("odd", "NaN"), ("on", True)))]
    assert [problem.code for problem in note.warnings] == ["not kept"] * 2


def test_what_is_not_imported_is_reported() -> None:
    part = {"%TYPE": "de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS", "begin": 0, "end": 3}
    relation = {"%TYPE": "webanno.custom.Rel", "begin": 0, "end": 3, "@Governor": 2, "@Dependent": 3}
    link = {"%TYPE": "webanno.custom.Link", "role": "x", "@target": 2}
    note = read_one("cas-json", {"a.json": cas(entity(4, 8), part, relation, entity(4, 4), link)})
    assert facts(note.spans) == [(4, 8, "NAME", ())] and [problem.code for problem in note.warnings] == ["not kept"] * 3


INVALID_ANNOTATIONS = [
    (entity(4, 8, "OTHER"), "label"), (entity(4, 10), "offsets"), (entity(4, "x"), "offsets"),
    (entity([], {}), "offsets"), (entity(4, 8) | {"@sofa": 7}, "sofa"),
]  # fmt: skip


@pytest.mark.parametrize(("structure", "code"), INVALID_ANNOTATIONS)
def test_invalid_annotations(structure: dict[str, Any], code: str) -> None:
    problems = refused("cas-json", {"a.json": cas(entity(0, 3), structure)})
    assert [(problem.file, problem.code) for problem in problems] == [("a.json", code)]
    assert "Anna" not in str(problems[0])


INVALID_FILES = [
    ("", "format"), ("[]", "format"), (cas(entity(4, 8)) + "{}", "format"), ("{}", "format"), ("[" * 100_000, "json"),
    (cas(entity(4, 8))[:-20], "json"), (cas().replace("%VIEWS", "%TYPES"), "json"), (cas(text="a\0"), "json"),
    (cas().replace("Anna", "\\ud800"), "json"), (cas().replace('"sofaNum": 1', '"sofaNum": NaN'), "json"),
    (cas().replace('"sofaNum": 1', '"sofaNum": ' + "9" * 400), "json"), (cas().replace("sofaString", "other"), ""),
    (cas(**{"%FEATURE_STRUCTURES": []}), "no text"), (cas(**{"%FEATURE_STRUCTURES": [1]}), "record"),
    (cas(**{"%FEATURE_STRUCTURES": [{"%TYPE": 1}]}), "record"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "code"), INVALID_FILES)
def test_invalid_files(data: str, code: str) -> None:
    for note in read_all("cas-json", {"a.json": data}):
        if code:
            assert isinstance(note, NoteError)
            assert [(problem.file, problem.code) for problem in note.problems] == [("a.json", code)]


def test_the_line_of_invalid_json() -> None:
    lines = cas(entity(4, 8)).split("\n")
    at = next(number for number, line in enumerate(lines) if '"begin"' in line)
    lines[at] = lines[at].replace(":", "")
    assert said(refused("cas-json", {"a.json": "\n".join(lines)})) == [(at + 1, "json")]


@given(texts_with_spans(12))
def test_any_note_comes_back_exactly_and_cassis_reads_it(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    held = (("box", True), ("sure", 'é <"&>'))
    spans = [replace(span, attributes=held if span.label == "DATE" else ()) for span in spans]
    files, losses = write_one("cas-json", text, spans)
    note = read_one("cas-json", files)
    expected = sorted(set(facts(spans)))
    assert (note.text, facts(note.spans)) == (text, expected)
    assert (note.warnings, len(losses)) == ([], len(spans) - len(expected))
    read = cassis.load_cas_from_json(files["a.json"].decode())
    assert read.sofa_string == text
    assert (
        sorted(
            (each.begin, each.end, each.value, (("box", True), ("sure", each.sure)) if each.value == "DATE" else ())
            for each in read.select(NE)
        )
        == expected
    )
