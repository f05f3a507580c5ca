import gc

import pytest

from annotations.core.bulk import collector_paused


def test_the_collector_is_paused_until_the_end_of_the_outer_block():
    with collector_paused():
        with pytest.raises(ValueError), collector_paused():
            raise ValueError
        assert not gc.isenabled()
    assert gc.isenabled()
