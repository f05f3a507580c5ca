"""Label Studio JSON: an array of tasks, each with its text, people's annotations and models' predictions.

Source: https://labelstud.io/guide/task_format and https://labelstud.io/tags/text; the results are those of
https://github.com/HumanSignal/label-studio (web/libs/editor/src/regions/Result.js and RichTextRegion.js). A region of
text is a result with an id, the name of its control (`from_name`), and `value.start`, `value.end` and `value.labels`.
A choice per region is another result with the same id; it is an attribute of the spans, named as its control.

Offsets count code points, as tests in its source say (web/libs/editor/tests/integration/e2e/ner/emoji.cy.ts). Versions
before 2022 counted UTF-16 code units (https://github.com/HumanSignal/label-studio/pull/1559): a note whose quotes fit
only these is read so. CR and LF each count as one, and each is written as `\\n` in a quote. A quote may lack white
space that the page does not show.

A task may have several annotations: the ground truth is taken, or else the one that was updated last. Predictions are
taken, with their scores, if nobody annotated the task. Spans that all have a confidence are written as predictions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from annotations.formats import json_notes
from annotations.formats.base import LabelFinder
from annotations.formats.brat import category_colors
from annotations.formats.json_notes import JsonFormat, Record
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem
from annotations.formats.span_rules import SpanTaker, given_spans
from annotations.text.labels import LabelSetDef
from annotations.text.spans import Span
from annotations.text.wording import gettext as _

_SPAN_TYPES: Final = ("labels", "hypertextlabels")
_ADDRESS: Final = re.compile(r"(?:https?://|s3://|gs://|azure-blob://|/data/)\S+")
_TYPE: Final = re.compile(r"[a-z]{1,30}")
_UNQUOTED: Final = re.compile(r"\\n|\s+")
_BREAK: Final = re.compile("[\r\n]")
_CLAIM: Final = re.compile(rb'^\s*\[\s*\{\s*"data"\s*:\s*\{|"(?:annotations|predictions|completions)"\s*:\s*\[')
_CLAIM_FLAT: Final = re.compile(rb'"labels"\s*:\s*\[\s*"[^"]*"\s*\]\s*\}')
_CONFIGURATION: Final = """<View>
  <Style>.htx-text {{ white-space: pre-wrap; }}</Style>
  <Labels name="label" toName="text">
{labels}
  </Labels>
  <Text name="text" value="$text" granularity="symbol"/>
</View>
"""
_NAMES: Final = frozenset({"name", "filename", "file_name"})


@dataclass(frozen=True, slots=True)
class _Answer:
    """The results of an annotation or of a prediction; the score is that of the whole prediction."""

    results: object
    score: float | None = None


class LabelStudioFormat(JsonFormat):
    """Reads and writes Label Studio's JSON, and reads its short form JSON_MIN."""

    name = "label-studio"
    endings: tuple[str, ...] = ("json", "jsonl")
    file = "label-studio.json"
    # An array with one task per line
    head, between, end, tail = b"[\n", b",\n", b"", b"\n]\n"

    def claims(self, name: str, head: bytes) -> bool:
        if not super().claims(name, head):
            return False
        if b'"annotation_id"' in head and _CLAIM_FLAT.search(head):
            return True
        return b'"data"' in head and bool(_CLAIM.search(head))

    def note_in(self, record: Record, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        data = record.get("data")
        fields: Record = data if isinstance(data, dict) else record
        text = _text_in(fields, file, line)
        answer = _answer(record)

        def taken(utf16: bool) -> SpanTaker:
            taker = SpanTaker(text, file, find_label, line=line, utf16=utf16, same=_same_quote)
            if answer:
                _take(answer, taker)
            return taker

        taker = json_notes.counted(text, taken)
        _warn(record, taker)
        note = taker.note(json_notes.name_in(fields, name, taker))
        if answer is None:
            note.spans = None
        return note

    def record_of(self, note: OutNote, labels: Mapping[str, str]) -> tuple[Record, list[Loss]]:
        spans, losses = given_spans(note, labels)
        results: list[dict[str, Any]] = []
        for number, (span, code) in enumerate(spans, 1):
            results += results_of(span, code, note.text, f"s{number}")
            losses += [Loss(note.name, span, reason) for reason in _same_as_name(span)]
        task: dict[str, Any] = {"data": {"name": note.name, "text": note.text}}
        scores = [span.confidence for span, _ in spans if span.confidence is not None]
        if scores and len(scores) == len(spans):
            score = sum(scores) / len(scores)
            task["predictions"] = [{"model_version": spans[0][0].source, "score": score, "result": results}]
        else:
            task["annotations"] = [{"result": results}]
        return task, losses

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """`label-studio.xml`, the labeling configuration of a project for these labels."""
        rows = []
        for category, color in zip(labels.categories, category_colors(labels), strict=True):
            for label in category.labels:
                hotkey = f' hotkey="{escape(label.hotkey)}"' if label.hotkey else ""
                hint = f' hint="{escape(label.name)}"'
                rows.append(f'    <Label value="{label.code}" background="{color}"{hotkey}{hint}/>')
        return {"label-studio.xml": _CONFIGURATION.format(labels="\n".join(rows)).encode()}


def _text_in(fields: Record, file: str, line: int) -> str:
    """The text in the data of a task: the field “text”, or else the only one that is text. Raises NoteError."""
    value = fields.get("text")
    if value is None:
        texts = [each for field, each in fields.items() if isinstance(each, str) and field not in _NAMES]
        if len(texts) > 1:
            message = _(
                "The data has {count} fields with text. Expected: the text of the note in the field “text”.", len(texts)
            )
            raise NoteError([Problem(file, line, "no text", message)])
        value = texts[0] if texts else None
    text = json_notes.text_in(value, file, line, "data.text")
    if _ADDRESS.fullmatch(text):
        message = _(
            "The field “data.text” holds the address of a text. Expected: the text itself. Put the text into the "
            "task and export it again."
        )
        raise NoteError([Problem(file, line, "no text", message)])
    return text


def _answer(record: Record) -> _Answer | None:
    """The annotation that is taken, or else the prediction; None if there is neither."""
    if not isinstance(record.get("data"), dict):
        return _flat(record)
    done = [each for each in _annotations(record) if not each.get("was_cancelled")]
    if done:
        return _Answer(_latest(done).get("result"))
    predictions = _objects(record, "predictions")
    if predictions:
        latest = _latest(predictions)
        return _Answer(latest.get("result"), json_notes.confidence_in(latest.get("score")))
    return None


def _flat(record: Record) -> _Answer | None:
    """The regions in a record of JSON_MIN, in which the fields of a task and of its annotation stand together."""
    results = [
        {"type": "labels", "value": item}
        for value in record.values()
        if isinstance(value, list)
        for item in value
        if isinstance(item, dict) and {"start", "end", "labels"} <= item.keys()
    ]
    return _Answer(results) if results or "annotation_id" in record else None


def _annotations(record: Record) -> list[Record]:
    return _objects(record, "annotations") or _objects(record, "completions")


def _objects(record: Record, field: str) -> list[Record]:
    return [each for each in _list(record, field) if isinstance(each, dict)]


def _list(record: Record, field: str) -> list[Any]:
    value = record.get(field)
    return value if isinstance(value, list) else []


def _latest(annotations: Sequence[Record]) -> Record:
    """The ground truth, or else the annotation that was updated last, or else the last one."""

    def rank(numbered: tuple[int, Record]) -> tuple[bool, str, int]:
        number, each = numbered
        moment = each.get("updated_at") or each.get("created_at")
        return each.get("ground_truth") is True, moment if isinstance(moment, str) else "", number

    return max(enumerate(annotations), key=rank)[1]


def _warn(record: Record, taker: SpanTaker) -> None:
    """Warn of annotations and data that are not taken."""
    annotations = _annotations(record)
    skipped = [each for each in annotations if each.get("was_cancelled")]
    if skipped:
        taker.not_kept(_("Skipped annotations are not imported."))
    if len(annotations) - len(skipped) > 1:
        taker.not_kept(
            _(
                "The task has several annotations; only the ground truth, or else the last one, is imported. Export "
                "one annotator at a time to keep all."
            )
        )
    if len(skipped) < len(annotations) and _objects(record, "predictions"):
        taker.not_kept(
            _(
                "Predictions are not imported, because the task has annotations. Export it without annotations to "
                "import its predictions."
            )
        )
    elif not annotations and len(_objects(record, "predictions")) > 1:
        taker.not_kept(_("The task has several predictions; only the last one is imported."))
    for field in ("annotations", "predictions"):
        if any(isinstance(each, int) for each in _list(record, field)):
            taker.not_kept(_("Of {field}, the file has only the numbers. Export them with the tasks.", field))
    if record.get("drafts"):
        taker.not_kept(_("Drafts are not imported."))
    data = record.get("data")
    fields = data.keys() - _NAMES - {"text"} if isinstance(data, dict) and "text" in data else ()
    for field in sorted(fields):
        taker.not_kept(_("The field “{field}” of the data is not imported.", json_notes.short(field)))


def _take(answer: _Answer, taker: SpanTaker) -> None:
    """Take the spans of an annotation or a prediction, or report their problems."""
    if not isinstance(answer.results, list):
        message = _(
            "The results of an annotation are {kind}. Expected: a list in “result”.", json_notes.kind_of(answer.results)
        )
        taker.refuse("list", message)
        return
    attributes: dict[object, dict[str, str | bool]] = {}
    regions: list[Record] = []
    for result in answer.results:
        value = result.get("value") if isinstance(result, dict) else None
        if isinstance(result, dict) and result.get("type") == "relation":
            taker.not_kept(_("Relations are not imported."))
        elif not isinstance(value, dict):
            json_notes.bad_item(result, "result", _("an object with an object “value”"), taker)
        elif _labels_of(result) is not None:
            regions.append(result)
        elif result.get("type") == "choices" and "start" in value:
            name, choice = _choice(result, taker)
            if name:
                attributes.setdefault(_id(result), {})[name] = choice
        else:
            taker.not_kept(_("Results of the type “{type}” are not imported.", _type(result)))
    for region in regions:
        _take_region(region, attributes.get(_id(region), {}), answer.score, taker)
    if attributes.keys() - {_id(region) for region in regions}:
        taker.not_kept(_("Choices for regions without a label are not imported."))


def _type(result: Record) -> str:
    """The type of a result for a message; a broken file may hold other text here."""
    kind = result.get("type")
    return kind if isinstance(kind, str) and _TYPE.fullmatch(kind) else "?"


def _id(result: Record) -> object:
    value = result.get("id")
    return value if isinstance(value, str) else None


def _labels_of(result: Record) -> list[object] | None:
    """The labels of a region of text; None for other results."""
    kind = result.get("type")
    value = result["value"]
    if kind not in _SPAN_TYPES:
        return None
    labels = value.get("labels", value.get(kind))
    return labels if isinstance(labels, list) else []


def _choice(result: Record, taker: SpanTaker) -> tuple[str, str | bool]:
    """The name and the value of an attribute; the name is empty if there is none."""
    name, choices = result.get("from_name"), result["value"].get("choices")
    found = [choice for choice in choices if isinstance(choice, str)] if isinstance(choices, list) else []
    if not isinstance(name, str) or not found:
        return "", ""
    if len(found) > 1:
        taker.not_kept(_("A span has several choices; only the first is imported."))
    return name, True if found[0] == name else found[0]


def _take_region(region: Record, attributes: Mapping[str, str | bool], score: float | None, taker: SpanTaker) -> None:
    value = region["value"]
    labels = _labels_of(region)
    if not labels:
        taker.not_kept(_("Regions without a label are not imported."))
    if region.get("meta"):
        taker.not_kept(_("Comments are not imported."))
    start, end, quote = value.get("start"), value.get("end"), value.get("text")
    if isinstance(start, str) and start.startswith("/"):
        offsets = value.get("globalOffsets")
        if "<" in taker.text or not isinstance(offsets, dict):
            message = _("A region lies in HTML, which is not imported. Expected: tasks with plain text (the tag Text).")
            taker.refuse("html", message)
            return
        start, end = offsets.get("start"), offsets.get("end")
    confidence = json_notes.confidence_in(region.get("score"))
    for label in labels or ():
        taker.take(
            label,
            start,
            end,
            quote=quote if isinstance(quote, str) else None,
            attributes=attributes,
            confidence=score if confidence is None else confidence,
        )


def _same_quote(found: str, quote: str) -> bool:
    """Whether a quote is the text found, but for white space, and line breaks that are written as a backslash and n."""
    return found == quote or _UNQUOTED.sub("", found) == _UNQUOTED.sub("", quote)


def results_of(
    span: Span, code: str, text: str, identity: str, *, control: str = "label", shown: str = "text"
) -> list[dict[str, Any]]:
    """The result with the label of a span, and one for each of its attributes.

    `control` is the name of the tag with the labels, `shown` that of the tag with the text.
    """
    quote = _BREAK.sub(r"\\n", text[span.start : span.end])
    place = {"start": span.start, "end": span.end, "text": quote}
    given: list[tuple[str, str, dict[str, Any]]] = [(control, "labels", {"labels": [code]})]
    for name, choice in span.attributes:
        given.append((name, "choices", {"choices": [name if choice is True else choice]}))
    score = {} if span.confidence is None else {"score": span.confidence}
    return [
        {"id": identity, "from_name": named, "to_name": shown, "type": kind, "value": place | value} | score
        for named, kind, value in given
    ]


def _same_as_name(span: Span) -> list[str]:
    """The reasons for losses of choices that are read back as a yes, because they are named like their attribute."""
    return [
        _("The choice of the attribute “{name}” has the same name. It is read back as a yes.", json_notes.short(name))
        for name, choice in span.attributes
        if choice == name
    ]
