"""A model as a judge, over real HTTP: its input, and its valid verdicts."""

import json
from typing import Any

import pytest

from annotations.scores.rules.judging import MIRANDA, Entity
from annotations.text.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.driver import run_all
from models_runtime.backends.llm.judging import AT_ONCE, WORDS, Case, LlmJudge
from models_runtime.backends.llm.prompts import LANGUAGES, system_prompt
from models_runtime.backends.llm.servers import Server
from tests.backends.llm.scripted import LABELS, Cached, Reply, note_of, serving

TEXT = "Mario Rossi, 54 anni, prende 54 mg. Visto dalla dott. Verdi."
ROSSI = Entity(0, 11, "PERSON", True)
HIDDEN = [Span(0, 11, "PERSON"), Span(13, 15, "AGE"), Span(29, 31, "AGE")]
OTHERS = Entity(13, 15, "AGE", True), Entity(29, 31, "AGE", False), Entity(54, 59, "PERSON", True)
CASE = Case(TEXT, HIDDEN, [ROSSI, *OTHERS])
TAGS = {label.code: label.placeholder for label in LABELS}


def verdicts(body: dict[str, Any], **changed: str) -> list[dict[str, Any]]:
    """The answer of a judge that is right about everything it is shown."""
    shown = json.loads(note_of(body))

    def one(entity: dict[str, Any]) -> str:
        if not entity["annotated"]:
            return "FP"
        return "FN" if entity["text"] in shown["deidentified"] else "TP"

    return [{"id": e["id"], "text": e["text"], "counted_as": changed.get(e["text"], one(e))} for e in shown["entities"]]


def honest(body: dict[str, Any]) -> str:
    return json.dumps({"entities": verdicts(body)})


def judge_at(url: str, answers: Any = None, **options: Any) -> LlmJudge:
    prompt, kept = options.pop("prompt", system_prompt("judge", "it", LABELS)), Cached() if answers is None else answers
    return LlmJudge(Server("ward", url, ("m1",), seconds=5), "m1", prompt, TAGS, kept, **options)


def each(judge: LlmJudge, *cases: Case) -> list[Any]:
    return run_all([judge.judge(case) for case in cases], judge.completion)


def judged(script: Any, case: Case = CASE) -> tuple[Any, dict[str, int]]:
    with serving(script) as server:
        judge = judge_at(server.url)
        (found,) = each(judge, case)
        return found, judge.meter.take()


def asked_of(server: Any) -> list[Any]:
    return [json.loads(note_of(body)) for body in server.requests]


def test_it_is_shown_both_texts_and_the_entities_by_number_once():
    """The answer is cached under a hash."""
    kept = Cached()
    with serving(honest) as server:
        assert each(judge_at(server.url, kept), CASE) == [ALL]
        again = judge_at(server.url, kept)
        assert each(again, CASE) == [ALL] and again.meter.take() == {"kept": 1} and "Rossi" not in json.dumps(kept)
        (body,), (shown,) = server.requests, asked_of(server)
    assert shown["deidentified"] == "[PERSON], [AGE] anni, prende [AGE] mg. Visto dalla dott. Verdi."
    assert shown["note"] == TEXT and [one["annotated"] for one in shown["entities"]] == [True, True, False, True]
    assert shown["entities"][2]["context"].endswith("prende 54 mg. Visto dalla dott. Verdi.")
    assert body["temperature"] == 0 and "tools" not in body
    choices = body["response_format"]["json_schema"]["schema"]["properties"]["entities"]["items"]["properties"]
    assert choices["counted_as"]["enum"] == ["TP", "FN", "FP"] and choices["id"] == {"type": "integer"}
    assert "- PERSON [PERSON]: Person: Name of a person" in body["messages"][0]["content"]


ALL = ["TP", "TP", "FP", "FN"]
NOT_FIRST = [None, *ALL[1:]]
ODD = {
    "invented": (lambda said: [*said, {"id": 9, "text": "Bianchi", "counted_as": "FN"}], ALL, {"hallucinated": 1}),
    "another's text": (lambda said: [said[0] | {"text": "Verdi"}, *said[1:]], NOT_FIRST, {"hallucinated": 1}),
    "the placeholder as text": (lambda said: [said[0] | {"text": "[PERSON]"}, *said[1:]], ALL, {}),
    "no such verdict": (lambda said: [said[0] | {"counted_as": "TN"}, *said[1:]], NOT_FIRST, {"unknown": 1}),
    "two verdicts on one": (lambda said: [*said, said[0] | {"counted_as": "FN"}], NOT_FIRST, {"ambiguous": 1}),
    "the same twice": (lambda said: [*said, said[0]], ALL, {}),
    "some passed over": (lambda said: said[:2], ["TP", "TP", None, None], {}),
    "a number in words": (lambda said: [said[0] | {"id": "1"}, *said[1:]], NOT_FIRST, {"broken": 1}),
    "more keys": (lambda said: [one | {"unmask": True} for one in said], ALL, {}),
}


@pytest.mark.parametrize("case", ODD)
def test_only_verdicts_on_what_was_asked_about_count(case):
    change, expected, counts = ODD[case]
    found, spent = judged(lambda body: json.dumps({"entities": change(verdicts(body))}))
    assert found == expected
    assert {name: spent[name] for name in ("hallucinated", "unknown", "ambiguous", "broken") if name in spent} == counts


def test_a_cut_answer_counts_as_far_as_it_is_readable():
    found, spent = judged(lambda body: Reply(honest(body)[:150], finish="length"))
    assert found[0] == "TP" and found[-1] is None and spent["cut"] == 1


@pytest.mark.parametrize("answer", ["", "All fine.", '{"verdicts": []}', "[1, 2]"])
def test_an_answer_without_a_list_is_an_error(answer):
    found, _ = judged(lambda body: answer)
    assert isinstance(found, BackendError) and not found.permanent and "Rossi" not in str(found)


def test_long_notes_go_in_pieces_and_many_entities_in_groups():
    text = "".join(f"Frase numero {n} di Anna.\n" for n in range(WORDS // 2))
    starts = [at for at in range(len(text)) if text.startswith("Anna", at)]
    case = Case(text, [Span(starts[0], starts[0] + 4, "PERSON")], [Entity(at, at + 4, "PERSON", True) for at in starts])
    with serving(honest) as server:
        (found,) = each(judge_at(server.url), case)
        assert found == ["FN"] * len(starts)
        asked = asked_of(server)
    assert sum(len(one["entities"]) for one in asked) == len(starts)
    assert max(len(one["entities"]) for one in asked) == AT_ONCE
    assert len({one["note"] for one in asked}) == 3 and all(len(one["note"].split()) <= WORDS for one in asked)


def test_the_prompts_are_there_in_every_language():
    texts = {system_prompt(task, lang, LABELS) for task in ("judge", "judge-miranda-2025") for lang in LANGUAGES}
    assert len(texts) == 6 and all('"counted_as": "TP"' in text and "note-" in text for text in texts)


def test_by_the_rules_of_miranda_every_label_has_its_own_question_at_the_given_temperature():
    """Miranda et al. 2025, section 4.2.1: the four categories are judged independently, at temperature 0.7."""
    with serving(honest) as server:
        assert each(judge_at(server.url, rules=MIRANDA, temperature=0.7), CASE) == [ALL]
        assert {body["temperature"] for body in server.requests} == {0.7}
        types = [[entity["type"] for entity in one["entities"]] for one in asked_of(server)]
    assert sorted(types) == [["AGE", "AGE"], ["PERSON", "PERSON"]]


def test_a_cached_verdict_depends_on_the_rules_the_temperature_and_the_prompt():
    kept = Cached()
    case = Case(TEXT, HIDDEN, [ROSSI])
    with serving(honest) as server:
        for options in ({}, {"temperature": 0.7}, {"rules": MIRANDA}, {"prompt": "Judge."}):
            for _ in range(2):
                assert each(judge_at(server.url, kept, **options), case) == [["TP"]]
        assert len(server.requests) == len(kept) == 4


def test_all_occurrences_of_a_text_are_judged_together():
    case = Case("Anna Verdi torna. Anna Verdi parte.", [Span(0, 10, "PERSON")],
                [Entity(0, 10, "PERSON", True, ((18, 28),))])  # fmt: skip
    with serving(honest) as server:
        assert each(judge_at(server.url), case, Case("Tosse.", [], [])) == [["FN"], []]
        ((entity,),) = (one["entities"] for one in asked_of(server))
    assert (entity["text"], entity["occurrences"]) == ("Anna Verdi", 2)


LONG = f"Anna Verdi torna. {'Riposo. ' * WORDS}Anna Verdi parte."
PLACES = [(0, 10), (LONG.rindex("Anna"), LONG.rindex("Anna") + 10)]


def in_pieces(*hidden: int) -> Case:
    """A case with a text in two pieces, hidden in some of them."""
    spans = [Span(*PLACES[at], "PERSON") for at in hidden]
    return Case(LONG, spans, [Entity(*PLACES[0], "PERSON", True, PLACES[1:])])


@pytest.mark.parametrize(("hidden", "said"), [((0, 1), "TP"), ((0,), "FN"), ((1,), "FN")])
def test_a_text_in_several_pieces_is_readable_if_it_is_readable_in_one(hidden, said):
    with serving(honest) as server:
        assert each(judge_at(server.url), in_pieces(*hidden)) == [[said]]
        shown = asked_of(server)
    assert len(shown) == 2 and all("occurrences" not in one["entities"][0] for one in shown)


def test_without_a_verdict_on_one_piece_a_text_has_none_unless_it_is_readable():
    def script(body: dict[str, Any]) -> str:
        return honest(body) if "torna" in note_of(body) else '{"entities": []}'

    assert judged(script, in_pieces(0, 1))[0] == [None]
    assert judged(lambda body: honest(body).replace("TP", "FP"), in_pieces(0, 1))[0] == ["FP"]
