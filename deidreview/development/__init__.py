"""Settings for developers (`make debug`). No release and no test uses them."""
