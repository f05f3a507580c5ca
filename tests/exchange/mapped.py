"""A mapping of the labels of tests.factories, and the spans that are exported with it."""

from annotations.models import LabelMapping, MappedLabel, Project
from tests import factories as make

# PATIENT and DOCTOR are written alike; AGE is left out.
CODES = {"PATIENT": "NAME", "DOCTOR": "NAME", "DATE": "WHEN", "CITY": "PLACE", "HOSPITAL": "PLACE", "AGE": ""}
SPANS = [(0, 11, "PATIENT"), (0, 11, "DOCTOR"), (13, 15, "AGE"), (31, 41, "DATE"), (44, 50, "CITY")]


def make_mapping(project: Project, name: str = "Partner", codes: dict[str, str] = CODES, target: str = ""):
    mapping = LabelMapping.objects.create(project=project, name=name, target=target)
    for label, code in codes.items():
        MappedLabel.objects.create(mapping=mapping, label=make.label_of(project, label), code=code)
    return mapping
