"""Notes of an INCEpTION project with a layer of its own go back in this layer."""

import io

import cassis
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.models import Import
from tests import factories as make

LAYER = "webanno.custom.PHI"
TAGS = ("PATIENT", "DOCTOR")


def of_inception(count=3):
    """A type system with the layer PHI and its feature `kind`, and notes, all with a part of speech."""
    types = cassis.TypeSystem()
    phi = types.create_type(LAYER, "uima.tcas.Annotation")
    types.create_feature(phi, "kind", "uima.cas.String")
    pos = types.create_type("de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS", "uima.tcas.Annotation")
    files = {"TypeSystem.xml": types.to_xml().encode()}
    for number in range(count):
        cas = cassis.Cas(types)
        cas.sofa_string = f"Anna 😊 Neri, Dr. Gil, {number}"
        cas.sofa_mime = "text"
        cas.add_all([phi(begin=0, end=12, kind=TAGS[0]), phi(begin=18, end=21, kind=TAGS[1]), pos(begin=0, end=4)])
        files[f"n{number}.xmi"] = cas.to_xmi().encode()
    return files


def put(folder, files):
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def exported(slug, out, *options):
    call_command("export_documents", slug, str(out), "--format", "xmi", "--set", "gold", *options, stdout=io.StringIO())
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name[0] in "nT"}


def test_an_inception_project_takes_its_files_back(world, mia, tmp_path):
    call_command(
        "import_documents", "covid", str(put(tmp_path / "in", of_inception())), "--as", "gold", stdout=io.StringIO()
    )
    row = Import.objects.latest("id")
    assert row.report["layers"] == [f"{LAYER}:kind"]
    (warning,) = row.report["warnings"]
    assert warning["also"] == 2, "equal warnings of three notes are one line"
    assert f'value="{LAYER}:kind"' in mia.get(reverse("export", args=["covid"])).content.decode()

    first = exported("covid", tmp_path / "first", "--layer", f"{LAYER}:kind")
    types = cassis.load_typesystem(io.BytesIO(first["TypeSystem.xml"]))
    cas = cassis.load_cas_from_xmi(io.BytesIO(first["n1.xmi"]), typesystem=types)
    found = [(span.begin, span.end, span.kind) for span in cas.select(LAYER)]
    assert found == [(0, 12, "PATIENT"), (18, 21, "DOCTOR")], "UIMA counts UTF-16, as the file that came"
    assert not cas.select("de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity")

    make.make_project("elsewhere")
    call_command("import_documents", "elsewhere", str(tmp_path / "first"), "--as", "gold", stdout=io.StringIO())
    again = exported("elsewhere", tmp_path / "again", "--layer", f"{LAYER}:kind")
    assert len(first) == 4 and {name: again[name] for name in first} == first


@pytest.mark.parametrize(("format", "layer"), [("brat", f"{LAYER}:kind"), ("xmi", "PHI"), ("xmi", f"{LAYER}:begin")])
def test_layers_that_cannot_be_written(world, tmp_path, format, layer):
    with pytest.raises(CommandError):
        call_command(
            "export_documents", "covid", str(tmp_path / "out"), "--format", format, "--set", "gold", "--layer", layer
        )
