"""A project in which a reviewer rejected suggestions, and the errors that were injected there."""

from types import SimpleNamespace

import pytest
from django.core.management import call_command

from annotations.gold.services.making import freeze
from annotations.projects.services.projects import create_project
from models_runtime.models import InjectedError
from tests import factories as make

CLUBS = ["Real Betis", "Real Oviedo", "Celta Vigo", "Real Murcia", "Racing Ferrol", "Celta Lugo"]
DRUGS = ["omeprazol", "paracetamol", "ibuprofeno", "metamizol", "lansoprazol", "pantoprazol"]
NEW = "Ana Gil, de Soria. Socia del club de fútbol Atlético Burgos desde niña. Toma omeprazol."


@pytest.fixture
def reviewed(db, no_redis, tmp_path):
    """A run marked clubs and drugs as cities in twelve notes, and mia rejected them; a last note has gold only."""
    project = create_project(name="Ward", label_set_key="i2b2-2014", language="es")
    gold, run = (make.make_author(project, kind=kind, name=name) for kind, name in [("gold", "gold"), ("run", "wide")])
    mia, vic = make.make_member(project, "manager", "mia"), make.make_member(project, "viewer", "vic")
    rows, notes = ["note,start,end,label,decision"], []
    for number, wrong in enumerate([*CLUBS, *DRUGS]):
        text = f"Socio del club de fútbol {wrong} desde niño." if wrong in CLUBS else f"Toma {wrong} al día."
        text = f"Eva Paz. {text}"
        note = make.make_note(project, text, f"caso-{number}", patient_id=f"p{number}")
        start = text.index(wrong)
        make.make_set(note, gold, [(0, 7, "PATIENT")], submitted=True)
        make.make_set(note, run, [(0, 7, "PATIENT"), (start, start + len(wrong), "CITY")], submitted=True)
        rows.append(f"caso-{number},{start},{start + len(wrong)},CITY,reject")
        notes.append(note)
    last = make.make_note(project, NEW, "caso-new", patient_id="p-new")
    make.make_set(last, gold, [(0, 7, "PATIENT"), (12, 17, "CITY")], submitted=True)
    make.list_for_review(run)
    file = tmp_path / "decisions.csv"
    file.write_text("\n".join(rows))
    call_command("review", "ward", "wide", str(file), "--by", "mia")
    version, _new = freeze(project=project, actor=mia)
    return SimpleNamespace(project=project, mia=mia, vic=vic, notes=notes, last=last, version=version)


def errors_of(run):
    rows = InjectedError.objects.filter(run__author__name=run).select_related("document").order_by("document", "start")
    return [
        (row.document.name, row.document.text[row.start : row.end], row.label, row.was, row.rule, row.strategy)
        for row in rows
    ]
