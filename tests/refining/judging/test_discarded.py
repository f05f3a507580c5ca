"""The list of judgings: accuracy, and discarded entities by judging and label (Miranda et al. 2025, figure 2)."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.models import Figures, Job, JobState
from annotations.ops.services.erasing import erase_patient
from models_runtime.refining.services.judging_results import discards_of
from tests.refining.judging.test_rules import said
from tests.refining.judging.world import asked, honest, judged_project, ward
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project():
    return judged_project(notes=2)


def divided(body):
    """The judges disagree on every age that gold has."""
    return said(body, **{"54": {"one": "TP", "two": "FN", "three": "FP"}[body["model"]]})


def listed(client):
    """The cells of the table, by row."""
    html = check_page(client.get(reverse("judgings", args=["covid"])))
    table = re.search(r'<table class="heat-map discards">(.*?)</table>', html, re.DOTALL)
    if table is None:
        return []
    rows = re.findall(r"<tr>(.*?)</tr>", table[1], re.DOTALL)
    return [
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.split(r"</t[dh]>", row)][:-1] for row in rows
    ]


def queries_of_list(client):
    listed(client)  # stores the figures
    with CaptureQueriesContext(connection) as queries:
        listed(client)
    return len(queries)


def test_the_list_counts_discarded_entities_by_judging_and_label(client, settings):
    """A judging that is still working is not in the table, and more judgings need no more queries."""
    assert listed(client) == []
    with ward(settings, divided):
        working = asked(client)
        Job.objects.filter(pk=working.job_id).update(state=JobState.RUNNING)
        assert listed(client) == [] and not Figures.objects.filter(kind="judging-discards").exists()
        Job.objects.filter(pk=working.job_id).update(state=JobState.DONE)
        few = queries_of_list(client)
        asked(client, rules="miranda-2025")
    assert queries_of_list(client) == few
    head, second, first = listed(client)
    assert head == ["Annotations of", "Accuracy", "PATIENT", "CITY", "AGE", "All labels"]
    assert second[0].endswith("Rules of Miranda et al. 2025") and first[0].endswith("Standard rules")
    assert second[1:] == ["0.00", "0 of 2", "0 of 2", "2 of 4", "2 of 8"]
    assert first[1:] == ["0.00", "0 of 4", "0 of 2", "2 of 4", "2 of 10"]


def test_figures_are_stored_until_the_verdicts_change(client, project, settings):
    with ward(settings, honest):
        judging = asked(client)
    assert listed(client)[1][1:] == ["0.20", "0 of 4", "0 of 2", "0 of 4", "0 of 10"]
    stored = Figures.objects.filter(kind="judging-discards")
    key = stored.values_list("key", flat=True).get()
    with CaptureQueriesContext(connection) as queries:
        discards_of(project, [judging])
    assert len(queries) <= 4 and stored.get().key == key
    erase_patient(project=project, patient_id="p0", actor=None)
    assert not stored.filter(key=key).exists(), "figures about erased notes are deleted"
    assert listed(client)[1][1:] == ["0.20", "0 of 2", "0 of 1", "0 of 2", "0 of 5"]
