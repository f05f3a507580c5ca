"""INCEpTION's protocol for external recommenders, for both sides: requests, answers, and how spans stand in them.

`POST /predict` has a UIMA CAS as XMI in a JSON object, with its type system, and the layer and the feature to predict.
The answer is the same CAS with annotations of that layer, in which `inception_internal_predicted` is true. Offsets
count UTF-16 code units. Source: INCEpTION's developer guide, "External recommender".
"""

from collections.abc import Mapping
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError, SubElement, register_namespace, tostring

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from annotations.formats import uima
from annotations.formats.cas import INITIAL_VIEW, Cas
from annotations.formats.json_notes import confidence_in
from annotations.formats.notes import NoteError
from annotations.formats.xmi import read_cas, xmi_document
from annotations.formats.xml_files import REPLACEMENT, UNWRITABLE
from annotations.text.characters import Utf16
from annotations.text.hashes import text_sha256
from annotations.text.segments import sentences
from annotations.text.spans import Span, tokenize, trim
from models_runtime.backends.remote.servers import MalformedMessage

PREDICTED: Final = "inception_internal_predicted"
_DOUBLE: Final = "uima.cas.Double"
_XMI: Final = "http://www.omg.org/XMI"
_CAS: Final = "http:///uima/cas.ecore"
_ID: Final = f"{{{_XMI}}}id"
_FILE: Final = "answer.xmi"

# UIMA reads the attribute xmi:id by this prefix.
register_namespace("xmi", _XMI)
register_namespace("cas", _CAS)


def types_xml() -> str:
    """The type system of our requests: sentences, tokens, and named entities with the features of predictions."""
    features = {
        uima.LABEL: uima.STRING, "identifier": uima.STRING, PREDICTED: uima.BOOLEAN, f"{uima.LABEL}_score": _DOUBLE,
        f"{uima.LABEL}_score_explanation": uima.STRING,
    }  # fmt: skip
    types = uima.TypeSystem(dict.fromkeys((uima.SENTENCE, uima.TOKEN, uima.NAMED_ENTITY), uima.ANNOTATION))
    types.features = {uima.SENTENCE: {"id": uima.STRING}, uima.TOKEN: {"id": uima.STRING}, uima.NAMED_ENTITY: features}
    return uima.type_system_xml(types).decode()


def request_of(text: str, types: str) -> dict[str, Any]:
    """The request for one text. `types` is `types_xml()`. Nothing in it names the note or the project."""
    units = Utf16(text)
    bounds = [(uima.SENTENCE, *sentence) for sentence in sentences(text)]
    bounds += [(uima.TOKEN, token.start, token.end) for token in tokenize(text)]
    xmi = xmi_document(text, ((layer, units.units(start), units.units(end), {}) for layer, start, end in bounds))
    return {
        "metadata": {
            "layer": uima.NAMED_ENTITY,
            "feature": uima.LABEL,
            "projectId": 0,
            "anchoringMode": "characters",
            "crossSentence": True,
            "range": {"begin": 0, "end": units.length},
        },
        "document": {
            "xmi": xmi.decode(),
            # A number of this text, by which servers may keep what they computed for it.
            "documentId": int(text_sha256(text)[:8], 16) >> 1,
            "userId": "deidreview",
        },
        "typeSystem": types,
    }


def spans_in(answer: object, text: str) -> list[Span]:
    """The predictions in the answer for a text, with the server's labels, sorted and trimmed. Raises Malformed."""
    xmi = answer.get("document") if isinstance(answer, dict) else None
    if not isinstance(xmi, str):
        raise MalformedMessage("It has no document.")
    try:
        cas = read_cas(xmi.encode("utf-8", "surrogatepass"), _FILE, uima.TypeSystem())
    except NoteError:
        raise MalformedMessage("Its document is not a CAS in XMI.") from None
    sofa = _same_text(cas, text)
    units, members = Utf16(text), cas.members.get(sofa)
    found: dict[tuple[int, int, str], Span] = {}
    for each in cas.found:
        wanted = each.layer == uima.NAMED_ENTITY and each.sofa == sofa and (members is None or each.identity in members)
        label = each.values.get(uima.LABEL, "")
        if not wanted or each.values.get(PREDICTED) != "true" or not label:
            continue
        start, end = (_points(units, offset) for offset in (each.start, each.end))
        if start is None or end is None or start > end:
            raise MalformedMessage("It has a span that doesn't match the text.")
        start, end = trim(text, start, end)
        if start < end:
            confidence = confidence_in(_number(each.values.get(f"{uima.LABEL}_score", "")))
            found.setdefault((start, end, label), Span(start, end, label, confidence))
    return sorted(found.values())


def _same_text(cas: Cas, text: str) -> str:
    """The id of the sofa with the text that was sent. Raises Malformed."""
    sent = UNWRITABLE.sub(REPLACEMENT, text)
    for identity, sofa in cas.sofas.items():
        if sofa.text in (text, sent):
            return identity
    raise MalformedMessage("It has another text than the one that was sent.")


def _points(units: Utf16, offset: object) -> int | None:
    word = str(offset)
    return units.points(int(word)) if word.isascii() and word.isdecimal() and len(word) < 12 else None


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


class PredictionRequest:
    """A request that a server got: the text to read, and the CAS that goes back with the predictions.

    Raises Malformed if it does not follow the protocol.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        metadata, document = body.get("metadata"), body.get("document")
        self._layer, self._feature = _word(metadata, "layer"), _word(metadata, "feature")
        try:
            self._root: Element = fromstring(_word(document, "xmi").encode("utf-8", "surrogatepass"))
        except (ParseError, DefusedXmlException, ValueError, LookupError):
            raise MalformedMessage("“document.xmi” is not well-formed XML.") from None
        sofa = self._sofa()
        self._id = sofa.get(_ID, "")
        self.text = sofa.get("sofaString", "")

    def answer(self, spans: list[Span]) -> dict[str, str]:
        """The answer: the CAS of the request, to which an annotation was added for each span."""
        units, root = Utf16(self.text), self._root
        taken = [int(each.get(_ID, "0")) for each in root.iter() if each.get(_ID, "0").isdecimal()]
        package, _, name = self._layer.rpartition(".")
        tag = f"{{http:///{package.replace('.', '/') or 'uima/noNamespace'}.ecore}}{name}"
        members = []
        for number, span in enumerate(spans, max(taken, default=0) + 1):
            features = {
                _ID: str(number),
                "sofa": self._id,
                "begin": str(units.units(span.start)),
                "end": str(units.units(span.end)),
                self._feature: span.label,
                PREDICTED: "true",
            }
            if span.confidence is not None:
                features[f"{self._feature}_score"] = str(span.confidence)
            SubElement(root, tag, features)
            members.append(str(number))
        view = self._view()
        view.set("members", " ".join([*view.get("members", "").split(), *members]))
        return {"document": f'<?xml version="1.0" encoding="UTF-8"?>{tostring(root, encoding="unicode")}'}

    def _sofa(self) -> Element:
        """The Sofa of the initial view, or else the first with a text."""
        sofas = [each for each in self._root.iter(f"{{{_CAS}}}Sofa") if each.get("sofaString") is not None]
        if not sofas:
            raise MalformedMessage("“document.xmi” holds no text. Expected: a Sofa with “sofaString”.")
        return min(sofas, key=lambda each: each.get("sofaID") != INITIAL_VIEW)

    def _view(self) -> Element:
        for view in self._root.iter(f"{{{_CAS}}}View"):
            if view.get("sofa") == self._id:
                return view
        return SubElement(self._root, f"{{{_CAS}}}View", {"sofa": self._id})


def _word(holder: object, key: str) -> str:
    value = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(value, str) or not value:
        raise MalformedMessage("The request has no “{key}”, or it is not text.", key)
    return value
