from tests import factories as make
from tests.held import made_once
from tests.worlds.audited import audited_world


def make_ward():
    """A project with a prepared release of 40 notes, two reviewers and a manager."""
    project = make.make_project("covid", name="Covid ward", language="it")
    ward = audited_world(project)
    ward.out = make.make_member(make.make_project("other"), "manager", "out")
    ward.vic = make.make_member(project, "viewer", "vic")
    ward.ann = make.make_member(project, "annotator", "ann")
    return ward


made, ward = made_once(make_ward, "no_redis")
