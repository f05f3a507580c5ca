import json
from dataclasses import replace
from typing import Any

import cassis
import pytest
from hypothesis import given

from annotations.domain.formats import FORMATS, detected
from annotations.domain.formats.base import Loaded
from annotations.domain.notes import NoteError
from annotations.domain.spans import Span
from tests.domain.formats.helpers import facts, read_all, read_one, refused, write_one
from tests.domain.strategies import texts_with_spans

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


def test_values_of_features() -> None:
    phi = "webanno.custom.Phi"
    given = {"%TYPE": phi, "begin": 4, "end": 8, "kind": "NAME", "on": True, "off": False, "level": 3, "#odd": "NaN"}
    note = read_one("cas-json", {"a.json": cas(given | {"none": None, "@links": 9, "list": [1]})})
    assert facts(note.spans) == [(4, 8, "NAME", (("level", "3"), ("odd", "NaN"), ("on", True)))]
    assert [problem.code for problem in note.warnings] == ["not kept"] * 2


def test_what_is_not_imported_is_reported() -> None:
    note = read_one(
        "cas-json",
        {
            "a.json": cas(
                entity(4, 8),
                {"%TYPE": "de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS", "begin": 0, "end": 3},
                {"%TYPE": "webanno.custom.Rel", "begin": 0, "end": 3, "@Governor": 2, "@Dependent": 3},
                entity(4, 4),
                {"%TYPE": "webanno.custom.Link", "role": "x", "@target": 2},
            )
        },
    )
    assert facts(note.spans) == [(4, 8, "NAME", ())]
    assert [problem.code for problem in note.warnings] == ["not kept"] * 3


@pytest.mark.parametrize(
    ("structure", "code"),
    [
        (entity(4, 8, "OTHER"), "label"),
        (entity(4, 99), "outside"),
        (entity(4, 10), "offsets"),
        (entity(4, "x"), "offsets"),
        (entity(4, None), "offsets"),
        (entity(4.5, 8), "offsets"),
        (entity([], {}), "offsets"),
        (entity(8, 4), "empty"),
        (entity(3, 4), "white"),
        (entity(4, 8) | {"@sofa": 7}, "sofa"),
    ],
)
def test_invalid_annotations(structure: dict[str, Any], code: str) -> None:
    problems = refused("cas-json", {"a.json": cas(entity(0, 3), structure)})
    assert [(problem.file, problem.code) for problem in problems] == [("a.json", code)]
    assert "Anna" not in str(problems[0])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("", "format"),
        ("[]", "format"),
        (cas(entity(4, 8)) + "{}", "format"),
        ("{}", "format"),
        ("[" * 100_000, "json"),
        (cas(entity(4, 8))[:-20], "json"),
        (cas().replace("%VIEWS", "%TYPES"), "json"),
        (cas(text="a\0"), "json"),
        (cas().replace("Anna", "\\ud800"), "json"),
        (cas().replace('"sofaNum": 1', '"sofaNum": NaN'), "json"),
        (cas().replace('"sofaNum": 1', '"sofaNum": ' + "9" * 400), "json"),
        (cas().replace("sofaString", "other"), ""),
        (cas(**{"%FEATURE_STRUCTURES": []}), "no text"),
        (cas(**{"%FEATURE_STRUCTURES": [1]}), "record"),
        (cas(**{"%FEATURE_STRUCTURES": [{"%TYPE": 1}]}), "record"),
    ],
)
def test_invalid_files(data: str, code: str) -> None:
    for note in read_all("cas-json", {"a.json": data}):
        if code:
            assert isinstance(note, NoteError)
            assert [(problem.file, problem.code) for problem in note.problems] == [("a.json", code)]


def test_odd_views_and_types_do_no_harm() -> None:
    for odd in (None, 1, [], {"a": 1}, {"_InitialView": {"%MEMBERS": 1}}):
        data = cas(entity(4, 8), **{"%TYPES": odd, "%VIEWS": odd})
        assert read_one("cas-json", {"a.json": data}).spans == [Span(4, 8, "NAME")]


def test_the_line_of_invalid_json() -> None:
    lines = cas(entity(4, 8)).split("\n")
    at = next(number for number, line in enumerate(lines) if '"begin"' in line)
    lines[at] = lines[at].replace(":", "")
    (problem,) = refused("cas-json", {"a.json": "\n".join(lines)})
    assert (problem.line, problem.code) == (at + 1, "json")


def test_detection() -> None:
    files = {"a.json": cas().encode()}
    assert detected(files, Loaded(files.__getitem__)) == "cas-json"
    assert not FORMATS["cas-json"].claims("a.json", b'{"text": "x"}')


def test_what_cassis_writes_is_read() -> None:
    system = cassis.TypeSystem()
    phi = system.create_type("webanno.custom.Phi", "uima.tcas.Annotation")
    system.create_feature(phi, "Kind", "uima.cas.String")
    system.create_feature(phi, "Hidden", "uima.cas.Boolean")
    made = cassis.Cas(system)
    made.sofa_string = "\ufeff😊 Anna\r\n\tNeri"
    made.add(phi(begin=3, end=7, Kind="NAME", Hidden=True))
    made.add(phi(begin=10, end=14, Kind="DATE", Hidden=False))
    note = read_one("cas-json", {"a.json": made.to_json()})
    assert (note.text, note.warnings) == (made.sofa_string, [])
    assert facts(note.spans) == [(3, 7, "NAME", (("Hidden", True),)), (10, 14, "DATE", ())]


@given(texts_with_spans(12))
def test_any_note_comes_back_exactly_and_cassis_reads_it(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    spans = [
        replace(span, attributes=(("box", True), ("sure", 'é <"&>'))) if span.label == "DATE" else span
        for span in spans
    ]
    files, losses = write_one("cas-json", text, spans)
    note = read_one("cas-json", files)
    assert note.text == text
    expected = sorted(set(facts(spans)))
    assert facts(note.spans) == expected
    assert (note.warnings, len(losses)) == ([], len(spans) - len(expected))
    read = cassis.load_cas_from_json(files["a.json"].decode())
    assert read.sofa_string == text
    found = [
        (each.begin, each.end, each.value, (("box", True), ("sure", each.sure)) if each.value == "DATE" else ())
        for each in read.select(NE)
    ]
    assert sorted(found) == expected
