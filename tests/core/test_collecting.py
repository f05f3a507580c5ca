import gc

import pytest

from annotations.core.collecting import collector_paused


def test_the_collector_runs_again_after_an_error():
    with pytest.raises(ValueError), collector_paused():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()


def test_a_pause_within_a_pause_does_not_end_it():
    with collector_paused():
        with collector_paused():
            pass
        assert not gc.isenabled()
