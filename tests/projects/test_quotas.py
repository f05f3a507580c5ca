"""Quotas: the most notes that the project's rule assigns to one annotator."""

from collections import Counter

import pytest

from annotations.models import Assignment, Project
from annotations.projects.services.assigning import assign_list, assign_new_member, assign_new_notes
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.managing import HUGE

PAGE = "/projects/covid/settings/"
FILL = "/projects/covid/settings/fill"


def live(project):
    return Counter(
        Assignment.objects.filter(project=project).exclude(state="released").values_list("user__username", flat=True)
    )


@pytest.fixture
def limited(world):
    """At most three notes for each annotator; ann and ben have two."""
    world.project.notes_per_annotator = 3
    world.project.save()
    return world.project


def test_the_quota_is_set_and_removed_in_the_settings(world, sign_in):
    mia = sign_in(world.mia)
    values = {
        "name": "Ward",
        "distribution": "some",
        "annotators_per_note": 1,
        "second_review": "off",
        "planted_share": 0,
    }
    for sent, stored in (("3", 3), ("", None)):
        mia.post(PAGE, values | {"notes_per_annotator": sent})
        assert Project.objects.get(pk=world.project.pk).notes_per_annotator == stored
        assert f'value="{sent or "?"}"' in check_page(mia.get(PAGE)) or not sent
    for wrong in ("0", "-1", "x", "1000001", str(2**31), str(HUGE)):
        assert mia.post(PAGE, values | {"notes_per_annotator": wrong}).status_code == 422


@pytest.mark.parametrize("rule", ["everyone", "some"])
def test_new_notes_go_only_to_annotators_with_room(world, limited, rule):
    limited.distribution = rule
    made = assign_new_notes(project=limited, notes=[make.make_note(limited).pk for _ in range(4)])
    assert made == 2
    assert live(limited) == {"ann": 3, "ben": 3}


def test_done_notes_count_for_the_quota(world, limited):
    Assignment.objects.filter(user=world.ann).update(state="done")
    assign_new_notes(project=limited, notes=[make.make_note(limited).pk for _ in range(4)])
    assert live(limited)["ann"] == 3


def test_a_new_annotator_gets_notes_up_to_the_quota(world, limited):
    for _ in range(3):
        make.make_note(limited)
    cas = make.make_member(limited, user="cas")
    assert assign_new_member(project=limited, user=cas) == 3
    assert live(limited)["cas"] == 3


def test_existing_notes_are_assigned_up_to_the_quota(world, limited, sign_in):
    for _ in range(4):
        make.make_note(limited)
    assert "2 assignments were made" in check_page(sign_in(world.mia).post(FILL, follow=True))
    assert live(limited) == {"ann": 3, "ben": 3}


def test_notes_assigned_by_name_are_never_refused(world, limited):
    notes = [make.make_note(limited, name=f"extra-{number}") for number in range(4)]
    assign_list(project=limited, user=world.ann, names=[note.name for note in notes], actor=world.mia)
    assert live(limited)["ann"] == 6
    assert assign_new_notes(project=limited, notes=[make.make_note(limited).pk]) == 1
    assert live(limited) == {"ann": 6, "ben": 3}
