"""Short records, and a model that reads several of them in one question. Run as a module, it measures what that saves.

python -m tests.backends.llm.together
"""

import json
import re
import time
from typing import Any

from annotations.text.spans import estimated
from tests.backends.llm.scripted import WORDS, Reply, backend_at, serving

FENCED = re.compile(r"(?:record (?P<number>\d+)\n)?(?P<line>note-[0-9a-f]{16})\n(?P<text>.*?)\n(?P=line)", re.DOTALL)
SECONDS_A_REQUEST, TOKENS_A_SECOND = 0.05, 2000


def vital(number: int) -> str:
    """The free text of a light record: a vital sign with a name and a date."""
    return f"Weight taken by Dr. Ada Serra{chr(97 + number % 26)} on {number % 28 + 1:02}/03/2024, patient fasting."


def rows_of(text: str) -> list[dict[str, Any]]:
    return [
        {"text": found[0], "type": str(found.lastgroup), "context": text[max(0, found.start() - 20) : found.end() + 20]}
        for found in WORDS.finditer(text)
    ]


def reading(body: dict[str, Any]) -> Reply:
    """Find the matches of WORDS in each record of the question. Usage counts tokens of about four characters."""
    user, rows = body["messages"][1]["content"], []
    for found in FENCED.finditer(user):
        number = {"record": int(found["number"])} if found["number"] else {}
        rows += [row | number for row in rows_of(found["text"])]
    return replied(json.dumps({"entities": rows}), body)


def rewriting(body: dict[str, Any]) -> Reply:
    found = FENCED.search(body["messages"][1]["content"])
    assert found is not None
    return replied(WORDS.sub(lambda match: f"[{match.lastgroup}]", found["text"]), body)


def replied(text: str, body: dict[str, Any]) -> Reply:
    asked = sum(estimated(len(message["content"])) for message in body["messages"])
    usage = {"prompt_tokens": asked, "completion_tokens": estimated(len(text))}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage["total_tokens"] = sum(usage.values())
    return Reply(
        body={"id": "x", "object": "chat.completion", "created": 0, "model": "m1", "choices": [choice], "usage": usage}
    )


def measured(script: Any, texts: list[str], **params: Any) -> dict[str, Any]:
    def slow(body: dict[str, Any]) -> Reply:
        reply: Reply = script(body)
        time.sleep(SECONDS_A_REQUEST + reply.body["usage"]["completion_tokens"] / TOKENS_A_SECOND)
        return reply

    with serving(slow) as server:
        backend = backend_at(server.url, at_once=1, passes=1, **params)
        begun = time.monotonic()
        found = backend.predict_each(texts)
        counts = backend.meter.take()
    return counts | {"seconds": round(time.monotonic() - begun, 2), "failed": sum(map(_failed, found))}


def _failed(one: Any) -> bool:
    return isinstance(one, Exception)


FINDING = " Lungs clear, heart sounds regular, abdomen soft, no edema of the legs."

if __name__ == "__main__":
    for findings in (0, 2, 4, 8, 16):
        records = [vital(number) + FINDING * findings for number in range(200)]
        print("records of", len(records[0]), "characters")
        print("together", measured(reading, records, context=16_384))
        print("alone", measured(reading, records))
        print("rewrite", measured(rewriting, records, strategy="rewrite"))
