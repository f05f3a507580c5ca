"""The registry knows which libraries that workers need are installed."""

from dataclasses import replace

import pytest

from models_runtime.core.registry import BACKENDS, TRAINABLE, installed

pytestmark = pytest.mark.queue


def test_what_every_install_has_is_installed_and_a_library_that_is_not_there_is_not():
    assert installed(BACKENDS["rules"]) and installed(TRAINABLE["crf"])
    assert not installed(replace(BACKENDS["rules"], needs="a_library_that_nobody_has"))
