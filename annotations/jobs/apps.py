from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class JobsConfig(AppConfig):
    name = "annotations.jobs"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.hooks import tidiers

        navigation.add_group(navigation.NavigationGroup("jobs", _("Jobs"), 10, navigation.Area.OWN))
        navigation.register(navigation.Entry("jobs", 10, _("Jobs"), "jobs", Can.READ_NOTES, frozenset({"job"})))
        tidiers.add("annotations.core.api.answers.forget_answers")
