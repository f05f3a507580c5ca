"""Choosing who makes the surrogates of a release, on the page and by the command, with a scripted server."""

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotations.jobs.runner import run as run_job
from annotations.models import Release, SurrogateEntity
from tests.release.conftest import release_command
from tests.release.surrogates.test_language_model import model
from tests.release.test_release_pages import NEW, form
from tests.worlds.checks import check_page

__all__ = ["model"]

CLOUD = {"policy": "surrogate:1", "maker": "cloud/large"}


def test_a_listed_model_makes_the_surrogates(clinic, model, sign_in):
    client = sign_in(clinic.mia)
    html = check_page(client.get(NEW))
    assert "Rules on this machine" in html and "small on ward" in html and "llm.example.org, another machine" in html
    client.post(NEW, form(policy="surrogate:1", maker="ward/small"))
    release = Release.objects.get(number=2)
    assert release.surrogate_maker == {"kind": "llm", "server": "ward", "model": "small"}
    assert release.job.queue == "llm"
    run_job(release.job.pk)
    assert {"first", "entities", "taken"} <= set(model.asked)
    assert "small on ward" in check_page(client.get(reverse("release", args=["covid", 2])))


def test_text_leaves_the_machine_only_with_consent(clinic, model, sign_in):
    client = sign_in(clinic.mia)
    response = client.post(NEW, form(**CLOUD))
    assert response.status_code == 422 and "may be sent" in check_page(response)
    assert client.post(NEW, form(policy="surrogate:1", maker="ward/huge")).status_code == 422
    assert Release.objects.count() == 1
    client.post(NEW, form(**CLOUD, may_leave="yes"))
    assert Release.objects.get(number=2).surrogate_maker["server"] == "cloud"
    # A policy without surrogates needs no model.
    client.post(NEW, form(maker="cloud/large", token="6f0c6d5e-0000-4000-8000-000000000008"))
    assert Release.objects.get(number=3).surrogate_maker == {}


def test_the_command_takes_a_model_and_the_consent(ward, model, tmp_path):
    asked = ("ward", "--set", "gold", "--policy", "surrogate", "--out", tmp_path / "out", "--surrogates-by")
    with pytest.raises(CommandError, match=r"llm\.example\.org"):
        release_command(*asked, "cloud/large")
    assert not Release.objects.filter(project=ward.project).exists()
    release_command(*asked, "ward/small", "--decide", "replace")
    assert "small" in {name.split()[0] for name in SurrogateEntity.objects.values_list("made_by", flat=True)}
