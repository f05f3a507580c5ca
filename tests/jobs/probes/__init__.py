"""Job kinds for tests, in this process and in the workers that tests start."""
