"""A person who could once read everybody's spans is not blind afterwards for the notes of that time."""

from types import SimpleNamespace

import pytest
from django.urls import reverse

from annotations.agreement.selectors.figures import left_out
from annotations.models import AnnotationSet, Membership, Role
from annotations.projects.services.members import add_member, remove_member
from tests import factories as make
from tests.held import made_once
from tests.worlds.pages import signed_in


def make_ward() -> SimpleNamespace:
    project = make.make_project("ward")
    return SimpleNamespace(
        project=project, note=make.make_note(project), mia=make.make_member(project, Role.MANAGER, "mia"),
        finn=make.make_user("finn"),
    )  # fmt: skip


made, ward = made_once(make_ward)


def become(ward: SimpleNamespace, role: str) -> None:
    """Change a role on the page of people."""
    member = Membership.objects.get(project=ward.project, user=ward.finn)
    answer = signed_in(ward.mia).post(reverse("member_role", args=["ward", member.pk]), {"role": role})
    assert answer.status_code == 302


def submitted(ward: SimpleNamespace, note: object) -> AnnotationSet:
    assert signed_in(ward.finn).post(reverse("submit", args=["ward", note.pk])).status_code == 302
    return AnnotationSet.objects.get(document=note, author__user=ward.finn)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.MANAGER])
def test_a_former_reader_is_not_blind_for_the_notes_of_that_time(ward, role):
    add_member(project=ward.project, user=ward.finn, role=role)
    become(ward, Role.ANNOTATOR)
    later = make.make_note(ward.project, annotators=[ward.finn])
    assert not submitted(ward, ward.note).blind
    assert submitted(ward, later).blind, "it was not there to be read"
    assert left_out(ward.project).not_blind == 1


def test_leaving_and_coming_back_does_not_make_blind(ward):
    add_member(project=ward.project, user=ward.finn, role=Role.VIEWER)
    remove_member(project=ward.project, user=ward.finn, actor=ward.mia)
    add_member(project=ward.project, user=ward.finn, role=Role.ANNOTATOR)
    assert not submitted(ward, ward.note).blind


def test_a_set_from_before_is_no_longer_blind_when_it_is_submitted_again(ward):
    add_member(project=ward.project, user=ward.finn, role=Role.ANNOTATOR)
    become(ward, Role.ANNOTATOR)
    assert submitted(ward, ward.note).blind
    become(ward, Role.VIEWER)
    become(ward, Role.ANNOTATOR)
    assert AnnotationSet.objects.get(author__user=ward.finn).blind, "what they said before they had seen it"
    signed_in(ward.finn).post(reverse("reopen", args=["ward", ward.note.pk]))
    assert not submitted(ward, ward.note).blind
