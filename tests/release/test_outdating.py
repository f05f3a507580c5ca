"""A prepared release whose surrogates were edited since: what its page says, and preparing it again."""

import pytest
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as run_job
from annotations.models import Event, Job, LeakFinding, Release, ReleasedNote, SurrogateEntity
from annotations.release.services.starting import outdated, prepare_again
from annotations.release.services.surrogates.editing import change
from tests.held import fresh
from tests.worlds.checks import check_page
from tests.worlds.released import make_release, make_released_clinic


def make_edited():
    """Release 2 of the clinic with surrogates, of which one was replaced after it was prepared."""
    clinic = make_released_clinic()
    clinic.release = make_release(clinic.project, clinic.mia, "surrogate")
    assert not outdated(clinic.release)
    row = SurrogateEntity.objects.filter(project=clinic.project, kind="city").first()
    change(
        project=clinic.project, entity=row.pk, version=row.version, act="replace", text="Zarelloburgo", actor=clinic.mia
    )
    return clinic


@pytest.fixture(scope="module")
def made_edited(once):
    return once(make_edited)


@pytest.fixture
def edited(made_edited, db):
    return fresh(made_edited, make_edited)


def texts():
    return " ".join(ReleasedNote.objects.filter(release__number=2).values_list("text", flat=True))


def test_the_page_offers_to_prepare_it_again(edited, sign_in):
    client, page = sign_in(edited.mia), reverse("release", args=["covid", 2])
    html = check_page(client.get(page))
    assert "Prepare again" in html
    assert "Zarelloburgo" not in texts()
    url = reverse("release_prepare", args=["covid", 2])
    assert [client.post(url).status_code for _click in range(2)] == [302, 302]
    assert Event.objects.filter(verb="release.prepared_again").count() == 1
    release = Release.objects.get(number=2)
    assert release.state == "preparing" and release.revision == edited.release.revision + 1
    assert Job.objects.filter(kind="release", state="queued").count() == 1
    run_job(release.job.pk)
    release.refresh_from_db()
    assert release.state == "prepared" and release.content_hash and "Zarelloburgo" in texts()
    assert "Prepare again" not in check_page(client.get(page))
    prepare_again(release=release, actor=edited.mia)
    assert Event.objects.filter(verb="release.prepared_again").count() == 1


def test_decisions_stay_where_the_place_is_found_again(edited):
    kept = LeakFinding.objects.filter(note__release__number=2)
    count = kept.update(decision="allow", decided_by=edited.mia)
    prepare_again(release=edited.release, actor=edited.mia)
    run_job(Release.objects.get(number=2).job.pk)
    assert kept.count() == count > 0
    assert set(kept.values_list("decision", "decided_by")) == {("allow", edited.mia.pk)}


def test_a_signed_release_and_one_without_surrogates_stay_as_they_are(edited):
    assert outdated(edited.release) and not outdated(Release.objects.get(number=1))
    for state in ("signed", "withdrawn"):
        Release.objects.filter(number=2).update(state=state)
        release = Release.objects.get(number=2)
        assert not outdated(release)
        with pytest.raises(ServiceError) as raised:
            prepare_again(release=release, actor=edited.mia)
        assert raised.value.code == "state"
