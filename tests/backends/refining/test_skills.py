"""Skills: the shipped ones cover every label of the shipped label sets, and a project's own texts replace them."""

import json
from pathlib import Path

import pytest

from annotations.installation import SHIPPED
from models_runtime.backends.llm.prompts import LANGUAGES
from models_runtime.backends.refining.state import LONGEST, NAME, Skill, for_project, shipped

SETS = sorted(file for file in Path(SHIPPED, "fixtures", "label_sets").glob("*.json") if file.stem != "mappings")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_shipped_label_has_a_skill(language):
    assert len(SETS) == 6
    for file in SETS:
        categories = json.loads(file.read_text(encoding="utf-8"))["categories"]
        codes = [label["code"] for category in categories for label in category["labels"]]
        found = for_project(codes, language)
        special = frozenset().union(*(skill.labels for name, skill in found.items() if name != "review"))
        assert special == set(codes) and found["review"].labels == set(codes)


SECTIONS = [
    ("en", ("Right", "Wrong", "Edge cases")),
    ("es", ("Correcto", "Incorrecto", "Casos límite")),
    ("it", ("Giusto", "Sbagliato", "Casi limite")),  # codespell:ignore limite
    ("de", ("Richtig", "Falsch", "Grenzfälle")),
]


@pytest.mark.parametrize(("language", "parts"), SECTIONS)
def test_each_shipped_skill_has_definition_examples_and_edge_cases(language, parts):
    english, found = shipped("en"), shipped(language)
    assert list(found) == list(english) and len(found) == 8
    for name, skill in found.items():
        assert NAME.fullmatch(name) and len(skill.text) < LONGEST and skill.version == "shipped-1"
        assert skill.text.startswith(f"# {skill.title}\n") and skill.labels == english[name].labels
        definition, *sections = skill.text.split("\n## ")
        assert tuple(section.split("\n")[0] for section in sections) == parts
        assert len(definition.split()) > 8 and all(section.count("\n- ") > 1 for section in sections)
        assert language == "en" or skill.text != english[name].text


def test_own_skills_replace_add_and_remove():
    own = [
        Skill("locations", "Places", frozenset({"CITY"}), "# Places\nNo towns.", "own-2"),
        Skill("genes", "Genes", frozenset({"GENE"}), "# Genes", "own-1"),
        Skill("review", "Review", frozenset({"*"}), " ", "own-1"),
        Skill("other", "Other", frozenset({"ELSEWHERE"}), "# Other", "own-1"),
    ]
    found = for_project(["CITY", "GENE", "PATIENT"], "en", own)
    assert sorted(found) == ["genes", "locations", "names-people"]
    assert found["locations"].text == "# Places\nNo towns." and found["names-people"].labels == {"PATIENT"}
    assert (shipped("xx"), shipped("de-AT")) == (shipped("en"), shipped("de"))
