"""The page of refinements: the effort of two, with the price of a language model's server."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotations.models import Job
from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import RefinedItem, Refinement
from tests import factories as make
from tests.worlds.programs import Program

pytestmark = [pytest.mark.queue]


def compared(client, first, second):
    """The rows of the table that compares two refinements, by name, and the whole page."""
    shown = client.get(reverse("refinements", args=["ward"]), {"first": first, "second": second}).content.decode()
    own = shown.split("Published figures")[0]
    rows = {
        row.split("</th>")[0]: [cell.split("</td>")[0].split(">", 1)[1] for cell in row.split("<td")[1:]]
        for row in own.split('<th scope="row">')[1:]
    }
    return rows, shown


@pytest.fixture
def two(ward, settings):
    """One refinement by the offline agent, and one by a language model whose price is known."""
    settings.LLM_SERVERS = read_servers(
        {
            "DEIDREVIEW_LLM_SERVERS": "a=http://127.0.0.1:9/v1 b=http://llm.example.org/v1",
            "DEIDREVIEW_LLM_A_MODELS": "m",
            "DEIDREVIEW_LLM_A_PRICE": "USD 2/8",
            "DEIDREVIEW_LLM_B_MODELS": "large",
        }
    )
    made = []
    for method, fields in (
        ("offline", {}),
        (
            "single",
            {"server": "a", "model": "m", "calls": 420, "seconds": 7, "tokens_in": 500_000, "tokens_out": 250_000},
        ),
    ):
        author = make.make_author(ward.project, kind="refined", name=f"wide-{method}-1")
        row = Refinement.objects.create(project=ward.project, source=ward.wide, author=author, method=method, **fields)
        row.job = Job.objects.create(project=ward.project, kind="refine", key=method, number=10 + row.pk, state="done")
        Job.objects.filter(pk=row.job.pk).update(
            started_at=timezone.now(), finished_at=timezone.now() + timedelta(seconds=12.5)
        )
        row.save()
        for number, action in enumerate(["keep", "keep", "remove"], 1):
            RefinedItem.objects.create(
                refinement=row, document=ward.notes[0], number=number, start=number, end=number + 1, label="AGE",
                action=action,
            )  # fmt: skip
        made.append(row)
    return made


def test_the_effort_of_two_stands_side_by_side_with_published_figures(ward, two):
    client = Client()
    client.force_login(ward.mia)
    rows, shown = compared(client, two[1].pk, two[0].pk)
    assert rows["Calls of the language model"] == ["420", "0"]
    # Each result leads to its review.
    assert all(reverse("review_next", args=["ward", row.author_id]) in shown for row in two)
    assert rows["Input tokens"] == ["500,000", "0"]
    assert rows["Cost"] == ["3.0000 USD", "–"]
    assert rows["Duration, seconds"][0].startswith("12.")
    assert rows["Kept"] == ["2", "2"] and rows["Removed"] == ["1", "1"]
    assert "Xu et al. 2026, table 3" in shown and "11.05" in shown


def test_the_result_of_a_client_without_a_job_leads_to_its_review_too(ward, two):
    Refinement.objects.filter(pk=two[0].pk).update(job=None, method="external")
    client = Client()
    client.force_login(ward.mia)
    table = client.get(reverse("refinements", args=["ward"])).content.decode().split("</table>")[0]
    assert all(reverse("review_next", args=["ward", row.author_id]) in table for row in two)


def test_notes_leave_only_with_consent(ward, two):
    """The page and the API refuse to send notes to another machine unless the person agrees."""
    client = Client()
    client.force_login(ward.mia)
    sent = {"run": str(ward.wide.pk), "method": "single", "model": "b large", "token": "t"}
    refused = client.post(reverse("refinements", args=["ward"]), sent)
    assert refused.status_code == 422 and "llm.example.org" in refused.content.decode()
    assert client.post(reverse("refinements", args=["ward"]), sent | {"may_leave": "yes"}).status_code == 302
    newest = Refinement.objects.first()
    assert (newest.method, newest.server, newest.model) == ("single", "b", "large")
    program = Program(ward.mia)
    body = {"run": "wide", "method": "single", "server": "b"}
    refused = program.post("/projects/ward/refinements", body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "may_leave")
    assert program.post("/projects/ward/refinements", body | {"may_leave": True}).status_code == 202
    effort = program.get(f"/projects/ward/refinements/{two[1].pk}").json()["effort"]
    assert (effort["cost"], effort["currency"], effort["calls"], effort["removed"]) == (3.0, "USD", 420, 1)
