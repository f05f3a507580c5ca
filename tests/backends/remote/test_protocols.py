"""Both sides of the protocols against recorded shapes of messages, and against dkpro-cassis, which recommenders use."""

import re

import cassis
import pytest

from annotations.text.spans import Span
from models_runtime.backends.remote import inception, label_studio
from models_runtime.backends.remote.servers import MalformedMessage, UnknownLabel

TEXT = "👩‍⚕️ Dra. Carmen Huerta,\r\n\ttel. 923 <555> & \x0b fin."
NER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
TOKEN = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token"
SENTENCE = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"


def recommender(request, predict):
    """What a recommender in Python does: load the CAS, add annotations, and send the CAS back."""
    types = cassis.load_typesystem(request["typeSystem"])
    cas = cassis.load_cas_from_xmi(request["document"]["xmi"], types)
    predict(cas, types)
    return {"document": cas.to_xmi()}


def test_a_recommender_reads_tokens_and_its_predictions_are_read():
    request = inception.request_of(TEXT, inception.types_xml())
    assert request["metadata"]["layer"] == NER and request["metadata"]["feature"] == "value"

    def predict(cas, types):
        words = [token.get_covered_text() for token in cas.select(TOKEN)]
        assert words[words.index("Dra") :][:3] == ["Dra", ".", "Carmen"] and len(list(cas.select(SENTENCE))) == 2
        first, last = (next(t for t in cas.select(TOKEN) if t.get_covered_text() == w) for w in ("Carmen", "Huerta"))
        kind = types.get_type(NER)
        for label, predicted, score in (("PER", True, 0.75), ("LOC", False, 0.5)):
            made = kind(begin=first.begin, end=last.end, value=label, value_score=score)
            made.inception_internal_predicted = predicted
            cas.add(made)

    (span,) = inception.spans_in(recommender(request, predict), TEXT)
    assert TEXT[span.start : span.end] == "Carmen Huerta" and (span.label, span.confidence) == ("PER", 0.75)


def test_the_answer_to_inception_keeps_the_cas_and_adds_predictions():
    types = cassis.load_typesystem(inception.types_xml())
    other = types.create_type("custom.Span", supertypeName="uima.tcas.Annotation")
    for name, kind in (("kind", "uima.cas.String"), ("inception_internal_predicted", "uima.cas.Boolean"),
                       ("kind_score", "uima.cas.Double")):  # fmt: skip
        types.create_feature(other, name, kind)
    cas = cassis.Cas(types)
    cas.sofa_string = "👩 Rita Neri <x>\n& y"
    # cassis counts code points inside, and UTF-16 code units in files.
    cas.add(types.get_type(TOKEN)(begin=2, end=6))
    cas.add(types.get_type("custom.Span")(begin=0, end=1, kind="OLD"))
    asked = inception.PredictionRequest({
        "metadata": {"layer": "custom.Span", "feature": "kind", "projectId": 1337},
        "document": {"xmi": cas.to_xmi(), "documentId": 42, "userId": "somebody"},
        "typeSystem": types.to_xml(),
    })  # fmt: skip
    assert asked.text == "👩 Rita Neri <x>\n& y"
    answer = asked.answer([Span(2, 11, "PATIENT", 0.5), Span(12, 15, "ID")])
    back = cassis.load_cas_from_xmi(answer["document"], types)
    assert back.sofa_string == asked.text and [token.get_covered_text() for token in back.select(TOKEN)] == ["Rita"]
    found = [
        (each.get_covered_text(), each.kind, each.inception_internal_predicted, each.kind_score)
        for each in back.select("custom.Span")
    ]
    assert ("Rita Neri", "PATIENT", True, 0.5) in found and ("<x>", "ID", True, None) in found
    assert len(found) == 3 and len(set(re.findall(r'xmi:id="(\d+)"', answer["document"]))) >= 6


@pytest.mark.parametrize(
    "answer",
    [
        None, [], {}, {"document": 5}, {"document": "<x/>"}, {"document": "<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>"},
        {"document": inception.request_of("another text", "")["document"]["xmi"]},
    ],
)  # fmt: skip
def test_unusable_answers_of_recommenders(answer):
    with pytest.raises(MalformedMessage) as error:
        inception.spans_in(answer, "the text")
    assert "text" not in str(error.value) or "another text" in str(error.value)


@pytest.mark.parametrize("bounds", [(5, 999), (-1, 3), (0, 1), ("x", 3), (5, 4)])
def test_predictions_outside_of_the_text(bounds):
    text = "👩 Rita"  # an offset of 1 is inside of the first character
    request = inception.request_of(text, inception.types_xml())
    entity = (
        f'<ner:NamedEntity xmi:id="99" sofa="1" begin="{bounds[0]}" end="{bounds[1]}" value="PER" '
        'inception_internal_predicted="true"/>'
    )
    xmi = request["document"]["xmi"].replace("<cas:Sofa", f"{entity}<cas:Sofa").replace('members="', 'members="99 ')
    with pytest.raises(MalformedMessage, match="doesn't match"):
        inception.spans_in({"document": xmi}, text)


META = {"layer": "a.B", "feature": "v"}


@pytest.mark.parametrize(
    "body",
    [
        {}, {"metadata": {"layer": "a.B"}, "document": {"xmi": "<x/>"}}, {"metadata": META, "document": {}},
        {"metadata": META, "document": {"xmi": "<x"}}, {"metadata": META, "document": {"xmi": "<x/>"}},
        {"metadata": [], "document": "x"},
    ],
)  # fmt: skip
def test_malformed_requests_of_inception(body):
    with pytest.raises(MalformedMessage):
        inception.PredictionRequest(body)


# As Label Studio 1.x sends it, with invented data.
CONFIG = """<View>
  <Header value="Mark"/>
  <Labels name="ner" toName="note"><Label value="Patient" background="red"/><Label value="City"/></Labels>
  <Text name="note" value="$body"/>
</View>"""
REQUEST = {
    "tasks": [
        {"id": 7, "data": {"body": "👩 Rita Neri, Madrid"}, "annotations": [], "predictions": [], "meta": {}},
        {"id": 8, "data": {"body": ""}},
    ],
    "model_version": "INITIAL",
    "project": "1.1600000000",
    "label_config": CONFIG,
    "params": {"login": None, "password": None, "context": None},
}


def test_the_answer_to_label_studio_uses_its_tags_and_labels():
    asked = label_studio.TaskRequest(REQUEST)
    assert asked.texts == ["👩 Rita Neri, Madrid", ""]
    spans = [Span(2, 11, "PATIENT", 0.5), Span(13, 19, "CITY"), Span(0, 1, "UNKNOWN")]
    answer = asked.answer([spans, []], "v1")
    first, second = answer["results"]
    assert first["result"] == [
        {"id": "p1", "from_name": "ner", "to_name": "note", "type": "labels", "score": 0.5,
         "value": {"start": 2, "end": 11, "text": "Rita Neri", "labels": ["Patient"]}},
        {"id": "p2", "from_name": "ner", "to_name": "note", "type": "labels",
         "value": {"start": 13, "end": 19, "text": "Madrid", "labels": ["City"]}},
    ]  # fmt: skip
    assert (first["score"], first["model_version"], second["result"], answer["model_version"]) == (0.5, "v1", [], "v1")


@pytest.mark.parametrize(("change", "reason"), [
    ({"tasks": None}, "must be a list"), ({"tasks": [{}] * 257}, "at most 256"),
    ({"tasks": [{"data": {}}]}, "no text in the field “body”"), ({"tasks": [5]}, "no text"),
    ({"label_config": None}, "needs the tag Labels"),
    ({"label_config": "<View><Labels name='a' toName='b'/></View>"}, "needs the tag Labels"),
    ({"label_config": "<!DOCTYPE x [<!ENTITY a 'b'>]><View>&a;</View>"}, "not well-formed XML"),
])  # fmt: skip
def test_malformed_requests_of_label_studio(change, reason):
    with pytest.raises(MalformedMessage, match=reason):
        label_studio.TaskRequest(REQUEST | change)


def region(start, end, label="PER", text=None, **more):
    value = {"start": start, "end": end, "labels": [label]} | ({"text": text} if text else {})
    return {"from_name": "label", "to_name": "text", "type": "labels", "value": value} | more


def spans_of(*regions, text="Rita Neri"):
    return label_studio.spans_in({"result": list(regions)}, text, ["PER"])


@pytest.mark.parametrize("bounds", [(3, 12), (5, 14)], ids=["code points", "UTF-16 code units"])
def test_regions_count_either_unit(bounds):
    (span,) = spans_of(region(*bounds, text="Rita Neri", score=0.9), text="👩👩 Rita Neri, Rita")
    assert (span.start, span.end, span.label, span.confidence) == (3, 12, "PER", 0.9)


def test_several_predictions_and_none():
    """The score of a prediction is no confidence of its spans."""
    both = [{"result": [region(0, 4)], "score": 0.0}, {"result": [region(0, 4), region(5, 9)]}]
    assert [one.confidence for one in label_studio.spans_in(both, "Rita Neri", ["PER"])] == [None, None]
    for nothing in (None, {}, {"result": None}, [], {"result": []}):
        assert label_studio.spans_in(nothing, "Rita Neri", ["PER"]) == []


def test_unusable_predictions():
    with pytest.raises(UnknownLabel) as error:
        spans_of(region(0, 4, "Neri"))
    assert "Neri" not in str(error.value)
    for bad in (region(0, 99), region(-1, 4), region("a", 4), region(0, 4, text="Neri")):
        with pytest.raises(MalformedMessage, match="doesn't match"):
            spans_of(bad)
    with pytest.raises(MalformedMessage):
        label_studio.spans_in({"result": "Rita"}, "Rita Neri", ["PER"])
    for answer in (None, [], {}, {"results": {}}, {"results": [1]}, {"results": [1, 2, 3]}):
        with pytest.raises(MalformedMessage, match="2 results"):
            label_studio.predictions_in(answer, 2)
