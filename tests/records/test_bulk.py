"""Records as a pure function over Arrow batches: the same answers as with a database, and in several processes."""

import json
import pickle

import pyarrow
import pyarrow.parquet
import pytest

from annotations.core.sealing import project_key
from annotations.models import Release
from annotations.records.rules.arrow import SPARK_SCHEMA
from annotations.records.services.bulk import record_batches
from annotations.records.services.taking import take_records
from annotations.release.rules.known.person import MasterPerson
from annotations.release.services.known import add_terms, store_people
from annotations.release.services.policies import policy_named
from annotations.text.hashes import DigestKey
from tests.records.world import FLAT, LISTING_1, LISTING_2, VISIT, active, ward
from tests.worlds.commands import answered
from tests.worlds.engines import ENGINES, rows_of

RECORDS = [
    *({"dataType": "visit", **VISIT, "patient": f"P-{number}"} for number in range(5)),
    {"dataType": "visit", **VISIT, "comment": "Mrs Rossi is stable"},
    {"dataType": "visit", **VISIT, "ssn": "1"},
    {"dataType": "clinicalRecord", **LISTING_2},
]


@pytest.fixture
def project(db):
    project = ward()
    active(project, FLAT)
    return project


def test_a_batch_has_the_same_answers_as_the_command(project):
    active(project, LISTING_1.replace('"recordVersion": "1.0",', '"recordVersion": "",'))
    policy = policy_named(project, "surrogate")
    work = pickle.loads(pickle.dumps(record_batches(project=project, policy=policy)))
    assert repr(project_key(project).secret) not in repr(work)
    table = pyarrow.table({"record": [*map(json.dumps, RECORDS), "no JSON", None]})
    rows = work.table(table).to_pylist()
    taken = take_records(project=project, records=[("", one) for one in RECORDS], policy=policy, actor=None)
    ready = [one.output for one in taken if one.output is not None]
    assert [json.loads(row["record"]) for row in rows if row["record"]] == ready and len(ready) == 5
    reasons = [row["error"] for row in rows[5:]]
    starts = [
        "/comment: An identifier",
        "/ssn: ",
        "/note: The record has free text",
        "/: This is not JSON",
        "/: A record",
    ]
    assert all(reason.startswith(start) for reason, start in zip(reasons, starts, strict=True)), reasons


def test_the_key_outside_of_the_database_gives_the_same_digests(project):
    key = project_key(project)
    other = DigestKey(key.secret)
    assert other.hexdigest("record", "t", "é1") == key.hexdigest("record", "t", "é1")
    assert other.number("date offset", "patient", "P") == key.number("date offset", "patient", "P")


def test_a_folder_is_read_in_processes_and_goes_on_where_it_stopped(project, tmp_path):
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"record": list(map(json.dumps, RECORDS[:7]))}), source / "a.parquet")
    result = answered("deid_records", "ward", source, target, "--certificate", tmp_path / "certificate.json")
    assert [result[name] for name in ("records", "refused", "waiting", "leaks")] == [5, 1, 0, 1]
    first = (target / "part-0000000.parquet").stat().st_mtime_ns
    assert answered("deid_records", "ward", source, target) == result
    assert (target / "part-0000000.parquet").stat().st_mtime_ns == first
    assert Release.objects.get().number == result["release"]
    assert answered("verify_certificate", tmp_path / "certificate.json", "--release", target)["verified"]
    assert answered("deid_records", "ward", source, target, "--policy", "hash") == "target"
    assert answered("deid_records", "ward", target / "none", tmp_path / "x.ndjson") == "format"


def test_a_batch_seeks_known_identifiers_and_denied_terms(project):
    store_people(project=project, people={"P-77": MasterPerson(family=("Bianchi",))}, problems=0, actor=None)
    add_terms(project=project, kind="deny", terms=[("Villa Serena", "HOSPITAL")], actor=None)
    comments = ["Bianchi is well", "seen at Villa Serena", "Verdi is well"]
    rows = [json.dumps({"dataType": "visit", **VISIT, "comment": comment}) for comment in comments]
    work = pickle.loads(pickle.dumps(record_batches(project=project, policy=policy_named(project, "mask"))))
    errors = work.table(pyarrow.table({"record": rows})).column("error").to_pylist()
    assert [bool(error) for error in errors] == [True, True, False] and "Bianchi" not in repr(work)


@pytest.mark.nightly
@pytest.mark.parametrize("engine", ENGINES)
def test_spark_and_ray_give_the_same_answers(project, tmp_path, monkeypatch, engine):
    work = record_batches(project=project, policy=policy_named(project, "surrogate"))
    table = pyarrow.table({"record": [*map(json.dumps, RECORDS), "no JSON"] * 200})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    rows = rows_of(engine, tmp_path, work, SPARK_SCHEMA, monkeypatch)
    assert sorted(rows, key=repr) == sorted(work.table(table).to_pylist(), key=repr)
