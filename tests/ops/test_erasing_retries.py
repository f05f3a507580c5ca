"""Erasures that collide with other transactions, and backups made during an erasure."""

import time

import pytest
from django.db import IntegrityError, OperationalError

from annotations.core.events import PATIENT_ERASED
from annotations.models import Document, Event
from annotations.ops.services import erasing
from annotations.ops.services.backup import write_backup
from annotations.ops.services.backup_engines import current
from annotations.ops.services.backup_list import backups_before_erasing
from annotations.ops.services.erasing import erase_patient
from tests.ops.erasing_world import PATIENT, erase, world

__all__ = ["world"]  # the fixture
pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("error", [IntegrityError, OperationalError])
def test_an_erasure_that_collides_with_saving_starts_again(world, monkeypatch, error):
    tally, tries = erasing.tally_of, []

    def at_the_third_try(spans):
        tries.append(spans)
        if len(tries) < 3:
            raise error
        return tally(spans)

    monkeypatch.setattr(erasing, "tally_of", at_the_third_try)
    assert erase_patient(project=world.project, patient_id=PATIENT, actor=None)["notes"] == 1
    assert Document.objects.count() == 3 and Event.objects.filter(verb=PATIENT_ERASED).count() == 1
    world.project.refresh_from_db()
    assert world.project.erasures == 1  # failed attempts leave nothing behind


def test_an_erasure_fails_after_its_last_try_without_changes(world, monkeypatch):
    tries = []

    def never(spans):
        tries.append(spans)
        raise OperationalError

    monkeypatch.setattr(erasing, "tally_of", never)
    with pytest.raises(OperationalError):
        erase_patient(project=world.project, patient_id=PATIENT, actor=None)
    assert len(tries) == erasing.TRIES and Document.objects.count() == 4


def test_a_backup_made_during_an_erasure_is_listed(world, monkeypatch, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "backups").mkdir()
    engine = type(current())
    dump = engine.dump

    def then_erase(self, *given):
        counts = dump(self, *given)
        erase(world)
        time.sleep(1.1)  # the time of a backup is stored in whole seconds
        return counts

    monkeypatch.setattr(engine, "dump", then_erase)
    write_backup(file=tmp_path / "backups" / "night.deidreview")
    assert [row["file"] for row in backups_before_erasing(world.project)] == ["night.deidreview"]
