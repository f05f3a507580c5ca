"""Notes of an INCEpTION project with a layer of its own go back in this layer."""

import io

import cassis
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.exchange.selectors import layers_of
from annotations.models import Import
from annotations.ops.services.erasing import erase_patient
from tests import factories as make

LAYER = "webanno.custom.PHI"
SPEC = f"{LAYER}:kind"
TAGS = ("Name of a patient", "DOCTOR")
MAPPED = f"--map-label={TAGS[0]}=PATIENT"
TEXT = "Anna 😊 Neri, Dr. Gil"
NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"


def of_inception(format, count=3):
    """Notes with the layer PHI, its feature `kind` and a part of speech; for XMI also the type system."""
    types = cassis.TypeSystem()
    phi = types.create_type(LAYER, "uima.tcas.Annotation")
    types.create_feature(phi, "kind", "uima.cas.String")
    pos = types.create_type("de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS", "uima.tcas.Annotation")
    files = {"TypeSystem.xml": types.to_xml()} if format == "xmi" else {}
    for number in range(count):
        cas = cassis.Cas(types)
        cas.sofa_string = f"{TEXT}, {number}"
        cas.sofa_mime = "text"
        cas.add_all([phi(begin=0, end=11, kind=TAGS[0]), phi(begin=17, end=20, kind=TAGS[1]), pos(begin=0, end=4)])
        rows = "1-1 0-4 Anna {0}[1] A|1-2 5-7 😊 {0}[1] _|1-3 8-12 Neri {0}[1] _|1-4 18-21 Gil {1} _"
        rows = rows.replace(" ", "\t").replace("|", "\n").format(*TAGS)
        layers = f"#T_SP={LAYER}|kind\n#T_SP={pos.name}|PosValue\n\n\n#Text={TEXT}, {number}\n"
        files |= {
            "xmi": {f"n{number}.xmi": cas.to_xmi()},
            "cas-json": {f"n{number}.json": cas.to_json()},
            "webanno-tsv": {f"n{number}.tsv": f"#FORMAT=WebAnno TSV 3.3\n{layers}{rows}\n"},
        }[format]
    return files


def put(folder, files):
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_text(data, encoding="utf-8", newline="")
    return folder


def imported(slug, folder, *options):
    call_command("import_documents", slug, str(folder), "--as", "gold", *options, stdout=io.StringIO())


def exported(slug, out, format):
    options = ("--format", format, "--set", "gold", "--layer", SPEC)
    call_command("export_documents", slug, str(out), *options, stdout=io.StringIO())
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name[0] in "nT"}


@pytest.mark.parametrize("format", ["xmi", "cas-json", "webanno-tsv"])
def test_an_inception_project_takes_its_files_back(world, mia, tmp_path, format):
    """In the type, the feature and the tags that came."""
    imported("covid", put(tmp_path / "in", of_inception(format)), MAPPED)
    row = Import.objects.latest("id")
    assert layers_of(row.project) == {SPEC: {"PATIENT": TAGS[0]}}
    (warning,) = row.report["warnings"]
    assert warning["also"] == 2, "equal warnings of three notes are one line"
    assert f'value="{SPEC}"' in mia.get(reverse("export", args=["covid"])).content.decode()

    first = exported("covid", tmp_path / "first", format)
    assert not any(NAMED_ENTITY in data.decode() for name, data in first.items() if name.endswith(".tsv"))
    if format == "webanno-tsv":
        assert f"#T_SP={SPEC.replace(':', '|')}\n".encode() in first["n1.tsv"]
    else:
        if format == "xmi":
            types = cassis.load_typesystem(io.BytesIO(first["TypeSystem.xml"]))
            cas = cassis.load_cas_from_xmi(io.BytesIO(first["n1.xmi"]), typesystem=types)
        else:
            cas = cassis.load_cas_from_json(first["n1.json"].decode())
        found = [(span.begin, span.end, span.kind) for span in cas.select(LAYER)]
        assert found == [(0, 11, TAGS[0]), (17, 20, "DOCTOR")]
        assert not cas.select(NAMED_ENTITY)

    make.make_project("elsewhere")
    imported("elsewhere", tmp_path / "first", MAPPED)
    again = exported("elsewhere", tmp_path / "again", format)
    assert len(first) == 3 + (format == "xmi") and {name: again[name] for name in first} == first


def test_the_tags_of_named_entities_can_be_written(world, tmp_path):
    """Erasing a patient forgets the tags: a word of a text can stand in their place."""
    spec = f"{NAMED_ENTITY}:value"
    rows = "1-1\t0-4\tAnna\tpatient\n"
    put(tmp_path / "in", {"n.tsv": f"#FORMAT=WebAnno TSV 3.3\n#T_SP={NAMED_ENTITY}|value\n\n\n#Text=Anna\n{rows}"})
    imported("covid", tmp_path / "in")
    row = Import.objects.latest("id")
    assert layers_of(row.project) == {spec: {"PATIENT": "patient"}}
    make.make_note(world.project, patient_id="P1")
    erase_patient(project=world.project, patient_id="P1", actor=world.mia)
    assert (make.reread(row).report["layers"], layers_of(row.project)) == ({spec: {}}, {})
    labels = {name: {"label": code} for name, code in {"Nurse": "DOCTOR", "A": "CITY", "B": "CITY", "x": ""}.items()}
    tags = {name: name for name in [*labels, "DOCTOR", "AGE"]}
    Import.objects.update(report={"layers": {SPEC: tags}, "labels": labels})
    assert layers_of(row.project) == {SPEC: {"CITY": "B"}}, "a code goes before other tags of its label"
    Import.objects.update(report={"layers": [SPEC]})  # a report of an earlier version
    assert layers_of(row.project) == {SPEC: {}}


@pytest.mark.parametrize(("format", "layer"), [("brat", SPEC), ("xmi", "PHI"), ("xmi", f"{LAYER}:begin")])
def test_layers_that_cannot_be_written(world, tmp_path, format, layer):
    with pytest.raises(CommandError):
        call_command(
            "export_documents", "covid", str(tmp_path / "out"), "--format", format, "--set", "gold", "--layer", layer
        )
