"""Files of records through the command: A.9's record, what is refused, what waits, what the gate holds back."""

import json
import re
from datetime import date, datetime, timedelta

import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command
from fhir.resources.R4B.bundle import Bundle

from annotations.models import Certificate, Event, Record, Release, ReleasedNote
from annotations.records.rules.fhir import RESOURCES
from annotations.records.services.schemas import activate_schema, add_schema
from annotations.release.rules.certificates.layout import sections
from annotations.release.services.certificates.signing import content_of
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.exporting import withdraw
from annotations.release.services.waiting import prepare_here
from tests.records import fhir
from tests.records.world import (
    FLAT,
    LISTING_1,
    LISTING_2,
    NOTE,
    STRINGS,
    VISIT,
    active,
    label_strings,
    lines,
    saved,
    ward,
)
from tests.worlds.commands import answered


@pytest.fixture
def project(db):
    return ward()


def run(tmp_path, records, *more, out="out.ndjson"):
    (tmp_path / out).unlink(missing_ok=True)
    for beside in tmp_path.glob(f"{out}.*"):
        beside.unlink()
    source = saved(tmp_path / "in.ndjson", records)
    return answered("deid_records", "ward", source, tmp_path / out, *more)


def test_the_record_of_the_source_waits_for_review_and_leaves_masked(project, tmp_path):
    active(project, LISTING_1)
    first = run(tmp_path, [LISTING_2], "--type", "clinicalRecord")
    assert (first["records"], first["refused"], first["waiting"], first["leaks"]) == (0, 0, 1, 0)
    record = Record.objects.select_related("document").get()
    assert record.document.patient_id == "123456789" and NOTE in record.document.text
    label_strings(record.document, STRINGS)
    second = run(tmp_path, [LISTING_2], "--type", "clinicalRecord")
    assert (second["records"], second["waiting"], second["leaks"]) == (1, 0, 0), second["problems"]
    (found,) = lines(tmp_path / "out.ndjson")
    assert found["AGE"] == "[AGE]" and len(found["PatientId"]) == 32 != found["MRN"]
    assert not [string for string in STRINGS if string in found["note"]], "the visit dates are masked, too"
    assert "Type 2 diabetes" in found["note"] and "Social Security Number: [SSN]" in found["note"]
    manifest = json.loads((tmp_path / "out.ndjson.manifest.json").read_text())
    assert manifest["release"]["number"] == Release.objects.get().number and manifest["records"] == 1
    assert Event.objects.filter(verb="records.written").count() == 2


def fhir_ready(project, *types):
    for name in types:
        activate_schema(schema=add_schema(project=project, text=f"shipped:{name}", actor=None), actor=None)


def test_a_bundle_of_a_thousand_resources_stays_valid_and_its_links_hold(project, tmp_path):
    fhir_ready(project, *RESOURCES)
    resources = [fhir.patient(), *fhir.others(), *(fhir.observation(number) for number in range(993))]
    source = tmp_path / "in.json"
    source.write_text(json.dumps(fhir.bundle(resources)))
    result = answered("deid_records", "ward", source, tmp_path / "out.json", "--policy", "safe-harbor")
    assert (result["records"], result["refused"], result["leaks"]) == (1, 0, 0), result["problems"]
    text = (tmp_path / "out.json").read_text()
    found = json.loads(text)
    Bundle.model_validate(found)
    first, *rest = [entry["resource"] for entry in found["entry"]]
    assert len(rest) == 999 and {one["subject"]["reference"] for one in rest} == {f"Patient/{first['id']}"}
    assert found["entry"][0]["fullUrl"] == f"https://fhir.invalid/Patient/{first['id']}"
    weight = rest[-1]
    assert weight["valueQuantity"]["value"] == 61.5 and weight["effectiveDateTime"] == "2024"
    assert weight["issued"] == "2024-01-01T00:00:00Z", "an instant can't be a year alone"
    assert not [
        word for word in ("Rossi", "Maria", "pat-1", "obs-", "Torino", "650 555", "A98765", "TWFy") if word in text
    ]


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"birthDate": "1979-02-30"}, "/birthDate"),
        ({"birthDate": "last spring"}, "/birthDate"),
        ({"birthDate": "19-11"}, "/birthDate"),
        ({"birthDate": "1979-11-30T03:04:05Z"}, "/birthDate"),
        ({"deceasedDateTime": "2024-05-06T25:00:00Z"}, "/deceasedDateTime"),
        ({"meta": {"lastUpdated": "2024"}}, "/meta/lastUpdated"),
        ({"name": [{"prefix": [{"a": 1}]}]}, "/name/0/prefix/0"),
        ({"identifier": [{"system": 5}]}, "/identifier/0/system"),
    ],
)
def test_a_malformed_value_of_fhir_is_refused_even_where_it_would_be_removed(project, tmp_path, wrong, path):
    fhir_ready(project, "Patient")
    result = run(tmp_path, [fhir.patient() | wrong, fhir.patient()])
    assert (result["records"], result["refused"], [one["path"] for one in result["problems"]]) == (1, 1, [path])


@pytest.mark.parametrize("wrong", ["a\\u0000b", "a\\ud800b", '", "weight": NaN, "a": "', '", "weight": 1e999, "a": "'])
def test_a_record_that_no_database_stores_is_refused_and_the_others_go_on(project, tmp_path, wrong):
    active(project, FLAT | {"properties": FLAT["properties"] | {"note": {"type": "string", "rule": "auto"}}})
    source = tmp_path / "in.ndjson"
    for good in (VISIT | {"comment": "a\\u0000"}, VISIT | {"note": "b\\u0000"}):
        source.write_text(json.dumps(good | {"name": "?"}).replace("?", wrong) + "\n" + json.dumps(good))
        (out,) = (tmp_path / f"{'note' in good}.ndjson",)
        result = answered("deid_records", "ward", source, out, "--type", "visit")
        assert (result["records"] + result["waiting"], result["refused"]) == (1, 1), result["problems"]


def test_dates_of_fhir_may_be_months_and_years(project, tmp_path):
    fhir_ready(project, "Patient")
    dates = ("1979", "1979-11", "1979-11-30")
    times = (*dates, "2024-05-06T10:00:00Z", "2024-05-06T10:00:00.123+02:00")
    records = [fhir.patient() | {"birthDate": one} for one in dates]
    records += [fhir.patient() | {"deceasedDateTime": one} for one in times]
    assert run(tmp_path, records)["records"] == 8


@pytest.mark.both_databases
def test_a_field_and_its_note_share_one_surrogate_and_a_run_may_decide(project, tmp_path):
    schema = json.loads(json.dumps(FLAT))
    schema["properties"] |= {
        "name": {"type": "string", "rule": "policy:name"}, "note": {"type": "string", "rule": "auto"}
    }  # fmt: skip
    active(project, schema)
    text = "Maria Rossi, born 02/23/1980, called from (650) 555-1234. Rossi is well."
    record, other = ({"dataType": "visit", **VISIT, "note": note} for note in (text, "Phone: (650) 555-1234."))
    waits = run(tmp_path, [record, record, other], "--policy", "surrogate", "--run", "rules")
    assert (waits["records"], waits["waiting"], waits["runs"]) == (0, 3, ["rules-1"])
    row = Record.objects.select_related("document").order_by("pk").first()
    assert row.document.text.startswith("/patient: P-77\n") and row.sections[-1][2] == "/note"
    strings = {"Maria Rossi": "PATIENT", "Rossi": "PATIENT", "02/23/1980": "DATE", "(650) 555-1234": "PHONE"}
    label_strings(row.document, strings)
    done = run(tmp_path, [record, record, other], "--policy", "surrogate", "--run", "rules")
    assert (done["records"], done["waiting"], done["leaks"]) == (2, 1, 0), done["problems"]
    first, second = lines(tmp_path / "out.ndjson")
    assert first == second and "Rossi" not in json.dumps(first) and first["note"].startswith(first["name"])
    moved = date.fromisoformat(first["born"]) - date(1980, 2, 23)
    assert date.fromisoformat(first["seen"][:10]) - date(2024, 5, 6) == moved != timedelta(0)
    assert (date(1980, 2, 23) + moved).strftime("%m/%d/%Y") in first["note"]
    done = run(tmp_path, [record, other], "--policy", "surrogate", "--run", "rules-1", "--unreviewed")
    assert (done["records"], done["waiting"], done["leaks"], done["runs"]) == (2, 0, 0, ["rules-1"]), done["problems"]
    assert "555-1234" not in lines(tmp_path / "out.ndjson")[1]["note"]


def test_the_gate_holds_back_what_stands_in_another_field_and_not_a_dose(project, tmp_path):
    schema = json.loads(json.dumps(FLAT))
    schema["properties"]["age"] = {"type": "string", "rule": "mask:age"}
    active(project, schema)
    good = VISIT | {"dataType": "visit", "age": "45", "comment": "takes 45 mg"}
    bad = VISIT | {"dataType": "visit", "comment": "Mrs Rossi is stable", "patient": "P-78"}
    refused = VISIT | {"dataType": "visit", "ssn": "987-65-4321"}
    result = run(tmp_path, [good, bad, refused, {"dataType": "other"}, [1]])
    counts = [result[name] for name in ("records", "refused", "waiting", "leaks", "held")]
    assert counts == [1, 3, 0, 1, 1], result["problems"]
    assert [(one["where"], one["path"]) for one in result["problems"]] == [
        ("line 2", "/comment"), ("line 3", "/ssn"), ("line 4", ""), ("line 5", "")
    ]  # fmt: skip
    assert lines(tmp_path / "out.ndjson")[0]["comment"] == "takes 45 mg"
    assert "987" not in json.dumps(result["problems"])


def test_an_open_finding_holds_a_record_back_until_somebody_decides(project, tmp_path):
    active(project, LISTING_1)
    record = LISTING_2 | {"note": "John Miller was seen. Miller is well."}
    run(tmp_path, [record], "--type", "clinicalRecord")
    note = Record.objects.select_related("document").get().document
    label_strings(note, {"John Miller": "PATIENT"})
    held = run(tmp_path, [record], "--type", "clinicalRecord")
    assert (held["records"], held["held"], held["leaks"]) == (0, 1, 1)
    answer_chosen(release=Release.objects.get(), answer="replace", actor=None, label="PATIENT")
    prepare_here(Release.objects.get())
    done = run(tmp_path, [record], "--type", "clinicalRecord")
    assert (done["records"], done["held"]) == (1, 0)
    assert lines(tmp_path / "out.ndjson")[0]["note"] == "[PATIENT] was seen. [PATIENT] is well."


def test_records_without_free_text_leave_with_a_certificate_that_lists_their_file(project, tmp_path):
    active(project, FLAT)
    visits = [VISIT | {"dataType": "visit", "room": 1}, VISIT | {"dataType": "visit", "comment": "Mrs Rossi is well"}]
    result = run(tmp_path, visits, "--certificate", tmp_path / "certificate.json")
    assert (result["records"], result["held"]) == (1, 1) and result["release"] == Release.objects.get().number
    content = content_of(Certificate.objects.get())
    (file,) = content["data"]["records"]["files"]
    assert (file["records"], file["held_back"], file["sha256"]) == (1, 1, result["sha256"])
    assert (content["data"]["notes"], content["data"]["records"]["schemas"][0]["data_type"]) == (0, "visit")
    assert bytes(Certificate.objects.get().pdf).startswith(b"%PDF") and "'No notes'" in str(sections(content))
    folder = tmp_path / "handed-over"
    folder.mkdir()
    for path in tmp_path.glob("out.ndjson*"):
        path.rename(folder / path.name)
    verify = ["verify_certificate", tmp_path / "certificate.json", "--release", folder]
    assert answered(*verify)["verified"]
    (folder / "out.ndjson").write_text("{}")
    with pytest.raises(CommandError):
        call_command(*map(str, verify))


@pytest.mark.parametrize("ending", [".json", ".parquet"])
def test_files_of_other_formats_and_ids_that_link(project, tmp_path, ending):
    active(project, FLAT)
    source, rows = tmp_path / f"in{ending}", [VISIT, VISIT | {"room": 13}]
    if ending == ".json":
        source.write_text(json.dumps([{"dataType": "visit", "record": one} for one in rows]))
    else:
        columns = VISIT | {"born": date(1980, 2, 3)}
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([columns, columns]), source)
    result = answered("deid_records", "ward", source, tmp_path / f"out{ending}", "--type", "visit")
    assert result["records"] == 2, result["problems"]
    out = tmp_path / f"out{ending}"
    if ending == ".json":
        found = [one["record"] for one in json.loads(out.read_text())]
    else:
        found = [json.loads(one["record"]) for one in pyarrow.parquet.read_table(out).to_pylist()]
    assert found[0]["patient"] == found[1]["patient"] != "P-77" and "room" not in found[0]
    assert answered("deid_records", "ward", source, out) == "out"
    assert answered("deid_records", "ward", source, tmp_path / "x.txt") == "format"
    assert answered("deid_records", "ward", tmp_path / "none.json", tmp_path / "y.json") == "path"
    assert not (tmp_path / "y.json").exists()


@pytest.mark.parametrize(("unit", "zone"), [("s", None), ("ms", "UTC"), ("us", "Europe/Rome"), ("ns", None)])
def test_a_timestamp_of_a_parquet_file_is_a_date_that_keeps_time_and_zone(project, tmp_path, unit, zone):
    active(project, FLAT | {"properties": FLAT["properties"] | {"born": {
        "type": "string", "format": "date", "rule": "shift"}}})  # fmt: skip
    table, source = pyarrow.Table.from_pylist([VISIT, VISIT]), tmp_path / "in.parquet"
    for name in ("born", "seen"):
        moments = pyarrow.array([datetime(2024, 5, 6, 12, 53, 20), datetime(1980, 2, 23)], pyarrow.timestamp("s"))
        table = table.set_column(table.column_names.index(name), name, moments.cast(pyarrow.timestamp(unit, zone)))
    pyarrow.parquet.write_table(table, source)
    result = answered("deid_records", "ward", source, tmp_path / "out.parquet", "--type", "visit")
    assert result["records"] == 2, result["problems"]
    written = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist()
    for row, before in zip(written, table.to_pylist(), strict=True):
        record = json.loads(row["record"])
        assert record["born"] == record["seen"], "as a date-time is shifted"
        born = datetime.fromisoformat(record["born"])
        assert born.date() != before["born"].date() and born.timetz().replace(tzinfo=None) == before["born"].time()
        assert born.utcoffset() == before["born"].utcoffset()
    assert "2024-05-06T12:53:20" not in (tmp_path / "out.parquet").read_bytes().decode("latin-1")
    assert run(tmp_path, [VISIT | {"born": "2024-05-06T12:53:20"}], "--type", "visit")["refused"] == 1, "in JSON"


def test_listing_5_with_surrogates_and_without_the_slips_of_the_source(project, tmp_path):
    active(project, LISTING_1.replace('"shouldMask": True,', '"rule": "policy:age",').replace('"[AGE]"', "None"))
    run(tmp_path, [LISTING_2], "--type", "clinicalRecord")
    label_strings(Record.objects.select_related("document").get().document, STRINGS)
    done = run(tmp_path, [LISTING_2], "--type", "clinicalRecord", "--policy", "surrogate")
    assert (done["records"], done["leaks"]) == (1, 0), done["problems"]
    (found,) = lines(tmp_path / "out.ndjson")
    note = found["note"]
    assert found["AGE"] == "45 years" and "45-year-old male" in note, "field and note agree about the age"
    kept = {"45-year-old"}
    assert [string for string in STRINGS if len(string) > 2 and string in note] == sorted(kept)
    # Slips of the source: listings 4 and 5 keep the dates of the visits; the number of the insurance is a FIN, and the
    # social security number a GUID; its surrogate has the digits of the PatientId.
    seen, again = (datetime.strptime(one, "%m/%d/%Y") for one in re.findall(r"\d\d/\d\d/\d{4}", note))
    assert again - seen == timedelta(6) and seen != datetime(2025, 3, 16)
    assert LISTING_2["PatientId"] not in re.sub(r"\D", "", note)
    pieces = ReleasedNote.objects.get().pieces
    assert {"HEALTHPLAN", "SSN"} <= {piece[4] for piece in pieces}


def test_a_schema_may_let_the_run_decide_and_a_withdrawn_release_gives_its_records_back(project, tmp_path):
    schema = json.loads(json.dumps(FLAT)) | {"unreviewed": True}
    schema["properties"]["note"] = {"type": "string", "rule": "auto"}
    active(project, schema)
    record = {"dataType": "visit", **VISIT, "note": "Phone: (650) 555-1234."}
    assert run(tmp_path, [record])["waiting"] == 1
    done = run(tmp_path, [record], "--run", "rules")
    assert (done["records"], done["waiting"], done["release"]) == (1, 0, 1), done["problems"]
    other = run(tmp_path, [record], "--policy", "hash")
    assert (other["records"], other["refused"]) == (0, 1) and "release 1" in other["problems"][0]["reason"].lower()
    withdraw(release=Release.objects.get(), actor=None)
    again = run(tmp_path, [record], "--policy", "hash", "--run", "rules-1")
    assert (again["records"], again["release"]) == (1, 2) and "555-1234" not in lines(tmp_path / "out.ndjson")[0][
        "note"
    ]
    active(project, schema | {"recordVersion": "3"})
    assert run(tmp_path, [record | {"recordVersion": "2"}])["problems"][0]["path"] == "/recordVersion"
    changed = run(tmp_path, [record])
    assert (changed["records"], changed["waiting"]) == (0, 1), "a new version takes its records anew"


def test_a_replaced_schema_keeps_a_note_that_stays_the_same(project, tmp_path):
    schema = json.loads(json.dumps(FLAT))
    schema["properties"]["note"] = {"type": "string", "rule": "auto"}
    active(project, schema)
    record = {"dataType": "visit", **VISIT, "note": "Nothing to see."}
    run(tmp_path, [record])
    row = Record.objects.get()
    label_strings(row.document, {})
    schema["properties"]["weight"]["rule"] = "remove"
    active(project, schema)
    done = run(tmp_path, [record])
    assert (done["records"], done["waiting"], Record.objects.get().document_id) == (1, 0, row.document_id)
    assert "weight" not in lines(tmp_path / "out.ndjson")[0]
