"""Label Studio's protocol for ML backends, for both sides: requests, answers, and how spans stand in them.

`POST /predict` has tasks with their data, and the labeling configuration of the project. The answer has one prediction
for each task, with regions. Offsets count code points, as Label Studio stores them; servers that count UTF-16 code
units are recognized by the texts that they quote. Source: label-studio-ml-backend, `label_studio_ml/api.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError
from xml.sax.saxutils import quoteattr

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from annotations.formats.base import LabelFinder
from annotations.formats.label_studio import LabelStudioFormat, results_of
from annotations.formats.notes import NoteError
from annotations.text.spans import Span
from models_runtime.backends.remote.servers import MalformedMessage, UnknownLabel

MOST_TASKS: Final = 256
_FORMAT: Final = LabelStudioFormat()
_PROJECT: Final = "deidreview"


def configuration(labels: Iterable[str]) -> str:
    """A labeling configuration with these labels."""
    rows = "".join(f"<Label value={quoteattr(label)}/>" for label in labels)
    return f'<View><Labels name="label" toName="text">{rows}</Labels><Text name="text" value="$text"/></View>'


def setup_of(labels: Iterable[str]) -> dict[str, Any]:
    """The request that tells a server of the project. Nothing in it names the project."""
    return {"project": _PROJECT, "schema": configuration(labels), "hostname": "", "access_token": ""}


def request_of(texts: Sequence[str], labels: Iterable[str]) -> dict[str, Any]:
    """The request for several texts."""
    return {
        "tasks": [{"id": number, "data": {"text": text}} for number, text in enumerate(texts, 1)],
        "project": _PROJECT,
        "label_config": configuration(labels),
        "params": {"context": None},
    }


def version_in(answer: object) -> str:
    """The version of the model, which may be part of any answer; empty if there is none."""
    version = answer.get("model_version") if isinstance(answer, dict) else None
    return str(version)[:200] if isinstance(version, str | int | float) else ""


def predictions_in(answer: object, count: int) -> list[object]:
    """The prediction for each text. Raises Malformed unless there are `count`."""
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != count:
        raise MalformedMessage("It does not have {count} results.", count)
    return results


def spans_in(prediction: object, text: str, labels: Iterable[str]) -> list[Span]:
    """The regions of a prediction, with the server's labels, sorted and trimmed.

    Raises UnknownLabel, or Malformed for a region that does not fit the text.
    """
    if isinstance(prediction, list):  # several predictions for one task
        found = {span: span for each in prediction for span in spans_in(each, text, labels)}
        return sorted(found.values())
    result = prediction.get("result") if isinstance(prediction, dict) else None
    record = {"data": {"text": text}, "predictions": [{"result": [] if result is None else result}]}
    try:
        note = _FORMAT.note_in(record, "note", "answer", 1, LabelFinder({label: label for label in labels}))
    except NoteError as error:
        if any(problem.code == "label" for problem in error.problems):
            raise UnknownLabel("It has a label that is not listed.") from None
        raise MalformedMessage("It has a region that doesn't match the text.") from None
    return note.spans or []


class TaskRequest:
    """A request that a server got: the texts to read, and how regions of this project look.

    Raises Malformed if it does not follow the protocol.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        tasks = body.get("tasks")
        if not isinstance(tasks, list) or len(tasks) > MOST_TASKS:
            raise MalformedMessage("“tasks” must be a list of at most {most} tasks.", MOST_TASKS)
        config = body.get("label_config") or body.get("schema")
        self._control, self._shown, field, self._labels = _tags(config)
        self.texts = [_text(task, field) for task in tasks]

    def answer(self, found: Sequence[list[Span]], version: str) -> dict[str, Any]:
        """The answer, with a prediction for each task. Labels that the configuration lacks are left out."""
        results = []
        for text, spans in zip(self.texts, found, strict=True):
            regions = [
                region
                for number, span in enumerate(spans, 1)
                if (label := self._labels.get(span.label.casefold())) is not None
                for region in results_of(span, label, text, f"p{number}", control=self._control, shown=self._shown)
            ]
            scores = [span.confidence for span in spans if span.confidence is not None]
            score = {"score": sum(scores) / len(scores)} if scores else {}
            results.append({"result": regions, "model_version": version} | score)
        return {"results": results, "model_version": version}


def _tags(config: object) -> tuple[str, str, str, dict[str, str]]:
    """The names of the tags Labels and Text, the field with the text, and the labels by their name in lower case."""
    try:
        root: Element = fromstring(config) if isinstance(config, str) else Element("View")
    except (ParseError, DefusedXmlException, ValueError):
        raise MalformedMessage("“label_config” is not well-formed XML.") from None
    texts = {each.get("name", ""): each.get("value", "") for each in root.iter("Text")}
    for control in root.iter("Labels"):
        shown = control.get("toName", "")
        if shown in texts and texts[shown].startswith("$"):
            names = [each.get("value", "") for each in control.iter("Label")]
            labels = {name.casefold(): name for name in names if name}
            return control.get("name", ""), shown, texts[shown][1:], labels
    raise MalformedMessage("“label_config” needs the tag Labels, for a tag Text whose value is a field such as $text.")


def _text(task: object, field: str) -> str:
    data = task.get("data") if isinstance(task, dict) else None
    text = data.get(field) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise MalformedMessage("A task has no text in the field “{field}” of its data.", field)
    return text
