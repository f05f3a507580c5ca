"""Names from before the rule lose control characters and characters that turn the direction of text.

The tables of both apps, since a run's name is an author and a model's name stands beside it. A name that another row has
by then gets a number. User names are left alone: their own rule has never let such a character in. No event is written:
nobody did this, and events hold no names.
"""

import re

from django.db import migrations
from django.db.models import Min

# As annotations.domain.names has it: what parts words becomes a space, the rest goes.
PARTING = re.compile("[\t\n\x0b\x0c\r\x85\u2028\u2029]+")
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
BATCH = 1000


def cleaned(name, longest, taken):
    """The name without hidden characters, and with a number where it is taken."""
    plain = " ".join(HIDDEN.sub("", PARTING.sub(" ", name)).split(" ")).strip() or "unnamed"
    number, found = 1, plain[:longest]
    while found in taken:
        number += 1
        end = f"-{number}"
        found = plain[: longest - len(end)] + end
    return found


def rename(model, field, scope):
    """Clean one column; within `scope` no two rows may have one name. Returns what was renamed, by the row's id."""
    longest = model._meta.get_field(field).max_length
    renamed = {}
    rows = model.objects.order_by("pk").values_list("pk", *scope, field)
    for pk, *where, name in rows.iterator(chunk_size=BATCH):
        if HIDDEN.search(name):
            renamed[pk] = where, name
    for pk, (where, name) in renamed.items():
        beside = model.objects.filter(**dict(zip(scope, where, strict=True)))
        new = cleaned(name, longest, _Taken(beside, field))
        model.objects.filter(pk=pk).update(**{field: new})
        renamed[pk] = name, new
    return renamed


class _Taken:
    def __init__(self, rows, field):
        self._rows, self._field = rows, field

    def __contains__(self, name):
        return self._rows.filter(**{self._field: name}).exists()


def rename_patients(documents):
    """Two patients stay two, and the notes of one patient stay together."""
    ids = documents.objects.exclude(patient_id="").values_list("project", "patient_id")
    for project, patient, _ in [row for row in ids.annotate(first=Min("pk")).order_by("first") if HIDDEN.search(row[1])]:
        here = documents.objects.filter(project=project)
        new = cleaned(patient, documents._meta.get_field("patient_id").max_length, _Taken(here, "patient_id"))
        here.filter(patient_id=patient).update(patient_id=new)


def rename_origins(apps, authors):
    """Gold spans, frozen ones too, say from whom they came by kind and name; so do imports."""
    Author, Span = apps.get_model("annotations", "Author"), apps.get_model("annotations", "Span")
    frozen, imports = apps.get_model("annotations", "GoldVersionNote"), apps.get_model("annotations", "Import")
    for pk, (old, new) in authors.items():
        author = Author.objects.get(pk=pk)
        was, now = f"{author.kind}:{old}", f"{author.kind}:{new}"
        spans = Span.objects.filter(annotation_set__document__project=author.project_id, provenance__isnull=False)
        for span in spans.only("provenance").iterator(chunk_size=BATCH):
            if span.provenance.get("from") == was:
                Span.objects.filter(pk=span.pk).update(provenance=span.provenance | {"from": now})
        for note in frozen.objects.filter(version__project=author.project_id).iterator(chunk_size=BATCH):
            if any((made or {}).get("from") == was for *_, made in note.spans):
                note.spans = [
                    [*place, made | {"from": now} if made and made.get("from") == was else made]
                    for *place, made in note.spans
                ]
                note.save(update_fields=["spans"])
        imports.objects.filter(project=author.project_id, written_as=was).update(written_as=now)


def rename_all(apps, schema_editor):
    def table(name):
        return apps.get_model("annotations", name)

    rename(table("Project"), "name", ("pk",))
    rename(table("Document"), "name", ("project",))
    rename_patients(table("Document"))
    rename_origins(apps, rename(table("Author"), "name", ("project", "kind")))
    for column in ("name", "placeholder"):
        rename(table("Label"), column, ("label_set",))
    rename(table("Category"), "name", ("label_set",))
    rename(table("LabelSet"), "name", ("pk",))
    rename(apps.get_model("models_runtime", "TrainedModel"), "name", ("project",))


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0022_jobs_from_models_runtime"),
        ("models_runtime", "0015_jobs_to_annotations"),
    ]

    operations = [migrations.RunPython(rename_all, migrations.RunPython.noop, elidable=True)]
