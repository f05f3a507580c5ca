"""JSON values of rows: provenance, attributes, decisions of adjudicators, rules of bulk acts, handovers."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotations.core.authors import IMPORTED
from annotations.core.spans import stored
from annotations.ops.services.archives.keys import Bad, Keys
from annotations.ops.services.archives.names import Names
from annotations.review.services.log import whole_row
from annotations.text.attributes import AttributeDefError, as_data, attributes_of, definitions_of
from annotations.text.names import shown
from annotations.text.provenance import Backed, Doubt, Provenance, Refined, RunSays

Rows = list[list[Any]]
# The keys of provenance with the types of their values; the other keys are read by functions of this module.
_TYPES: dict[str, tuple[type, ...]] = {
    "from": (str,),
    "confidence": (int, float, type(None)),
    "source": (str,),
    "changed": (list,),
    "of": (int,),
    "choice": (str,),
    "rule": (str,),
    "by": (str, type(None)),
    "at": (str,),
    "guidelines": (int,),
    "agree": (int,),
    "clear": (int,),
    "attributes": (list,),
    "removed": (list,),
    "unsupported": (list,),
    "places": (int,),
    "removal": (int,),
    "refined": (dict,),
}
_PEOPLE = {"annotator", "reviewer"}
_NAMED = {"set", "suggestion", "annotators", "cause", "adjudication", "runs"}
assert set(_TYPES) | _NAMED == set().union(*(kind.__annotations__ for kind in (Provenance, Backed, Doubt, Refined)))


def suggestions_in(provenance: Any) -> Iterator[int]:
    """The ids of the suggestions that a provenance names."""
    while isinstance(provenance, Mapping):
        if provenance.get("suggestion") is not None:
            yield provenance["suggestion"]
        provenance = provenance.get("adjudication")


def sets_in(provenance: Any) -> Iterator[int]:
    """The ids of the annotation sets that a provenance names."""
    while isinstance(provenance, Mapping):
        if provenance.get("set") is not None:
            yield provenance["set"]
        provenance = provenance.get("adjudication")


def provenance_out(names: Names, value: Any) -> Any:
    """Provenance with names. A suggestion or annotation set that was deleted since becomes null."""
    if value is None:
        return None
    found = dict(value)
    for key in found.keys() & {"from", "by"}:
        found[key] = _of_person(key, found[key], names.plain)
    if "set" in found:
        found["set"] = names.set(found["set"])
    if "suggestion" in found:
        found["suggestion"] = names.span(found["suggestion"])
    if "annotators" in found:
        found["annotators"] = [author for author in map(names.author, found["annotators"]) if author]
    if "cause" in found:
        found["cause"] = names.bulk(found["cause"])
    if "adjudication" in found:
        found["adjudication"] = provenance_out(names, found["adjudication"])
    return found


def provenance_in(keys: Keys, value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Bad(_("must be an object or null"))
    found: dict[str, Any] = {}
    for key, part in value.items():
        if key in _TYPES:
            if type(part) not in _TYPES[key]:
                raise Bad(_("has a value of the wrong type for “%(key)s”") % {"key": key})
            found[key] = _of_person(key, part, lambda name: name + IMPORTED)
        elif key not in _NAMED:
            raise Bad(_("has an unknown key"))
        elif key == "runs":
            found[key] = _runs(part)
        elif key == "annotators":
            found[key] = [keys.author(author) for author in _list(part)]
        elif key == "adjudication":
            found[key] = provenance_in(keys, part)
        elif part is None:
            found[key] = None
        elif key == "set":
            found[key] = keys.annotation_set(keys.author(part))
        elif key == "suggestion":
            found[key] = span_in(keys, part)
        else:
            found[key] = str(keys.act("bulk", part))
    return found


def _of_person(key: str, value: Any, named: Callable[[str], str]) -> Any:
    """The value of a key of provenance with another name if it names a person: who decided, or annotator:NAME."""
    if key == "by" and value:
        return named(value)
    kind, colon, name = value.partition(":") if key == "from" else ("", "", "")
    return f"{kind}:{named(name)}" if colon and kind in _PEOPLE else value


def _runs(value: Any) -> list[Any]:
    for said in _list(value):
        if not isinstance(said, dict) or set(said) != set(RunSays.__annotations__) or not isinstance(said["run"], str):
            raise Bad(_("must list runs with run, confidence and source"))
    return list(value)


def span_in(keys: Keys, value: Any) -> int:
    """The primary key of a span that is given as author's kind, author's name, start, end, label."""
    match value:
        case [kind, name, start, end, code]:
            return keys.span(keys.author([kind, name]), start, end, code)
    raise Bad(_("must give a span as kind and name of the author, start, end and label"))


def bounds_out(names: Names, value: Any) -> Any:
    """[start, end, label id] with the label's code; null stays null."""
    return value and [value[0], value[1], names.label(value[2])]


def bounds_in(keys: Keys, value: Any) -> list[int]:
    match value:
        case [int(start), int(end), code] if keys.note is not None and 0 <= start < end <= keys.note.length:
            return [start, end, keys.label(code)]
    raise Bad(_("must give a span as start, end and label, within the note"))


def spans_out(names: Names, value: Any) -> Any:
    """Spans as [start, end, label]; those of labels that were deleted since are left out."""
    named = [bounds_out(names, bounds) for bounds in value]
    return [bounds for bounds in named if bounds[2] is not None]


def spans_in(keys: Keys, value: Any) -> Rows:
    return [bounds_in(keys, bounds) for bounds in _list(value)]


def heard_out(names: Names, value: Any) -> Any:
    """The annotators' versions at a location, as a list of [author, spans] in the order of the authors."""
    known = [(names.author(int(author)), spans) for author, spans in sorted(value.items(), key=lambda one: int(one[0]))]
    return [[author, _heard_spans_out(names, spans)] for author, spans in known if author]


def _heard_spans_out(names: Names, value: Any) -> Any:
    """Spans as [start, end, label], and attributes if a span has some; those of deleted labels are left out."""
    named = [[*bounds_out(names, span), *span[3:]] for span in value]
    return [span for span in named if span[2] is not None]


def heard_in(keys: Keys, value: Any) -> dict[str, Rows]:
    found = {}
    for pair in _list(value):
        match pair:
            case [author, spans]:
                found[str(keys.author(author))] = [_heard_span_in(keys, span) for span in _list(spans)]
            case _:
                raise Bad(_("must list pairs of an author and spans"))
    return found


def _heard_span_in(keys: Keys, value: Any) -> list[Any]:
    match value:
        case [start, end, code, attributes]:
            return [*bounds_in(keys, [start, end, code]), attributes_in(attributes, null=False)]
    return bounds_in(keys, value)


def rule_out(names: Names, value: Any) -> Any:
    """The rule of a bulk act. The exceptions of an act on a string are left out: they matter only before it runs."""
    runs = [author for author in map(names.author, value.get("runs", ())) if author]
    named = {key: names.label(value[key]) for key in ("label", "to") if key in value}
    return {**value, **named, "runs": runs, "but": []}


def rule_in(keys: Keys, value: Any) -> dict[str, Any]:
    kinds: dict[str, tuple[type, ...]] = {
        "kind": (str,), "source": (str, type(None)), "least": (int, float, type(None)), "agree": (int,),
        "string": (int, type(None)), "with_gold": (bool,), "with_doubtful": (bool,), "but": (list,),
    }  # fmt: skip
    if not isinstance(value, dict) or not isinstance(value.get("runs"), list):
        raise Bad(_("must be an object with “runs”"))
    found: dict[str, Any] = {"runs": [keys.author(run) for run in value["runs"]]}
    for key, part in value.items():
        if key in ("label", "to"):
            found[key] = None if part is None else keys.label(part)
        elif key in kinds and type(part) in kinds[key]:
            found[key] = part
        elif key != "runs":
            raise Bad(_("has an unknown key or a value of the wrong type"))
    return found | {"but": []}


def suggestions_of_handover(outcome: Any, kept: Any) -> Iterator[int]:
    """The ids of the suggestions that a handover names."""
    yield from map(int, outcome["suggestions"])
    if kept:
        yield from (row[0] for row in kept["decisions"])
        yield from kept["touched"]
        for row in [*kept["removed"], *kept["added"]]:
            yield from suggestions_in(row[5])


def sets_of_handover(kept: Any) -> Iterator[int]:
    for row in [*kept["removed"], *kept["added"]] if kept else ():
        yield from sets_in(row[5])


def outcome_out(names: Names, value: Any) -> Any:
    known = [(names.span(int(pk)), bounds) for pk, bounds in value["suggestions"].items()]
    return {
        "suggestions": sorted([span, bounds_out(names, bounds)] for span, bounds in known if span),
        "others": spans_out(names, value["others"]),
        "before": spans_out(names, value.get("before", [])),
    }


def outcome_in(keys: Keys, value: Any) -> Any:
    match value:
        case {"suggestions": list(suggestions), "others": others, "before": before, **rest} if not rest:
            found: dict[str, list[int] | None] = {}
            for pair in suggestions:
                match pair:
                    case [span, None]:
                        found[str(span_in(keys, span))] = None
                    case [span, bounds]:
                        found[str(span_in(keys, span))] = bounds_in(keys, bounds)
                    case _:
                        raise Bad(_("must list pairs of a suggestion and bounds"))
            return {"suggestions": found, "others": spans_in(keys, others), "before": spans_in(keys, before)}
    raise Bad(_("must have suggestions, others and before"))


def kept_out(names: Names, value: Any) -> Any:
    if value is None:
        return None
    decisions = [(names.span(pk), _state_out(names, state), names.person(by)) for pk, state, by in value["decisions"]]
    return {
        "decisions": sorted([list(one) for one in decisions if one[0]], key=lambda one: one[0]),
        "touched": sorted(span for span in map(names.span, value["touched"]) if span),
        "removed": [_gold_out(names, row) for row in value["removed"]],
        "added": [_gold_out(names, row) for row in value["added"]],
    }


def kept_in(keys: Keys, value: Any) -> Any:
    match value:
        case None:
            return None
        case {"decisions": list(decisions), "touched": list(touched), "removed": list(removed), "added": list(added)}:
            return {
                "decisions": [_decision_in(keys, one) for one in decisions],
                "touched": sorted(span_in(keys, span) for span in touched),
                "removed": [_gold_in(keys, row) for row in removed],
                "added": [_gold_in(keys, row) for row in added],
            }
    raise Bad(_("must be null, or have decisions, touched, removed and added"))


def _state_out(names: Names, state: Any) -> Any:
    if state is None:
        return None
    cause = {"cause": names.bulk(state["cause"])} if state.get("cause") else {}
    return {"verdict": state["verdict"], "bounds": bounds_out(names, state["bounds"]), **cause}


def _decision_in(keys: Keys, value: Any) -> Any:
    match value:
        case [span, None, person]:
            return [span_in(keys, span), None, keys.person(person)]
        case [span, {"verdict": ("accepted" | "rejected") as verdict, "bounds": bounds, **rest}, person]:
            state = {"verdict": verdict, "bounds": None if bounds is None else bounds_in(keys, bounds)}
            if rest.get("cause") is not None:
                state["cause"] = str(keys.act("bulk", rest["cause"]))
            return [span_in(keys, span), state, keys.person(person)]
    raise Bad(_("must list decisions as suggestion, state and person"))


def _gold_out(names: Names, row: Any) -> Any:
    start, end, label, confidence, source, provenance, attributes = whole_row(row)
    how = provenance_out(names, provenance)
    return [start, end, names.label(label), confidence, source, how, attributes or None]


def _gold_in(keys: Keys, value: Any) -> Any:
    match value:
        case [start, end, code, (int() | float() | None) as confidence, str(source), provenance, attributes]:
            bounds, how = bounds_in(keys, [start, end, code]), provenance_in(keys, provenance)
            return [*bounds, confidence, source, how, attributes_in(attributes)]
    raise Bad(_("must list gold spans as start, end, label, confidence, source, provenance and attributes"))


def frozen_out(names: Names, value: Any) -> Any:
    """The spans of a frozen gold version: [start, end, label code, provenance], and attributes if a span has some."""
    return [[start, end, code, provenance_out(names, how), *rest] for start, end, code, how, *rest in value]


def frozen_in(keys: Keys, value: Any) -> Rows:
    found = []
    for span in _list(value):
        match span:
            case [int(start), int(end), str(code), how, *rest] if (
                keys.note and 0 <= start < end <= keys.note.length and len(rest) <= 1
            ):
                found.append(
                    [start, end, code, provenance_in(keys, how), *(attributes_in(part, null=False) for part in rest)]
                )
            case _:
                raise Bad(_("must list spans as start, end, label, provenance and attributes, within the note"))
    return found


def attributes_in(value: Any, *, null: bool = True) -> Any:
    """The attributes of a span: a choice or true by name; null without attributes."""
    if value is None and null:
        return None
    try:
        return stored(attributes_of(value))
    except AttributeDefError as error:
        raise _invalid(error) from None


def definitions_in(value: Any) -> Any:
    """The attributes that the spans of a label may have."""
    try:
        return as_data(definitions_of(value))
    except AttributeDefError as error:
        raise _invalid(error) from None


def _invalid(error: AttributeDefError) -> Bad:
    return Bad(_("is not valid: %(error)s") % {"error": shown(str(error)).removesuffix(".")})


def shares_in(keys: Keys, value: Any) -> Any:
    """The shares of a split in percent, or null."""
    if value is None or (isinstance(value, dict) and all(type(share) is int for share in value.values())):
        return value
    raise Bad(_("must be null, or give a whole number for each split"))


def unmapped_in(keys: Keys, value: Any) -> Rows:
    """Spans of a rewritten note that have no label: [start, end, placeholder, source, doubt or null]."""
    for span in _list(value):
        match span:
            case [int(), int(), str(), str(), (dict() | None)]:
                continue
        raise Bad(_("must list spans as start, end, placeholder, source and doubt"))
    return list(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Bad(_("must be a list"))
    return value
