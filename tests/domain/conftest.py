"""Settings for the property tests of the domain, which run more examples than others."""

from hypothesis import settings

settings.register_profile("domain", settings.get_profile("patient"), max_examples=150)
settings.load_profile("domain")
