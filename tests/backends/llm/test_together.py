"""Several short notes in one question (Singh et al. 2025, section 5)."""

import json

from models_runtime.backends.llm.backend import TOGETHER, grouped
from models_runtime.backends.llm.servers import Params
from tests.backends.llm.scripted import Cached, backend_at, note_of, serving
from tests.backends.llm.together import FENCED, reading, replied, vital

TEXTS = [vital(number) for number in range(40)]


def found_in(script, texts, **params):
    with serving(script) as server:
        backend = backend_at(server.url, **params)
        return backend.predict_each(texts), server.requests, backend.meter.take()


def test_notes_together_have_the_spans_of_notes_alone_for_fewer_requests_and_tokens():
    texts = [*TEXTS, "Seen today. " * 400]
    alone, single, counts = found_in(reading, texts, passes=2)
    together, requests, fewer = found_in(reading, texts, passes=2, context=8192)
    assert [[span[:3] for span in map(_plain, one)] for one in alone] == [
        [span[:3] for span in map(_plain, one)] for one in together
    ]
    assert len(together[0]) == 2 and together[-1] == [] and fewer["requests"] == len(requests) < len(single) / 3
    assert fewer["tokens_in"] < counts["tokens_in"] / 3
    schema = requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["entities"]["items"]["properties"]["record"] == {"type": "integer"}


def _plain(span):
    return span.start, span.end, span.label


def test_each_note_of_a_question_is_cached_by_itself():
    answers = Cached()
    found_in(reading, TEXTS[:3], passes=1, context=8192, answers=answers)
    _found, requests, counts = found_in(reading, TEXTS[1:4], passes=1, context=8192, answers=answers)
    assert len(requests) == 1 and counts["kept"] == 2
    assert [found["text"] for found in FENCED.finditer(requests[0]["messages"][1]["content"])] == [TEXTS[3]]


def test_an_answer_that_is_cut_or_no_json_is_asked_again_note_by_note():
    def failing(body):
        if "record 1\n" in body["messages"][1]["content"]:
            return "I can't."
        assert note_of(body) in TEXTS
        return reading(body)

    found, requests, _counts = found_in(failing, TEXTS[:3], passes=1, context=8192)
    assert len(requests) == 4 and [len(one) for one in found] == [2, 2, 2]


def test_a_mention_of_another_record_or_of_none_is_left_out():
    def wrong(body):
        row = {"text": "Dr. Ada Serraa", "type": "PERSON", "context": ""}
        return replied(json.dumps({"entities": [row | {"record": 2}, row | {"record": 9}, row]}), body)

    found, _requests, counts = found_in(wrong, TEXTS[:2], passes=1, context=8192)
    assert found == [[], []] and (counts["hallucinated"], counts["unknown"], counts["broken"]) == (1, 1, 1)


def test_the_context_limits_a_question():
    params = Params("s", "m", context=4096)
    groups = grouped(TEXTS, params, "x" * 4000)
    assert [at for group in groups for at in group] == list(range(len(TEXTS)))
    assert all(sum(len(TEXTS[at]) * 5 // 4 for at in group) < 4096 - 1000 - 1024 for group in groups)
    assert max(len(group) for group in grouped(TEXTS, Params("s", "m", context=100_000), "")) == TOGETHER
    assert grouped(TEXTS, Params("s", "m", context=1100), "") == []
