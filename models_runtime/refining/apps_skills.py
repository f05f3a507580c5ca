from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class SkillsConfig(AppConfig):
    name = "models_runtime.refining"
    label = "models_skills"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.api import registry

        navigation.register(
            navigation.Entry("guidelines", 50, _("For agents"), "skills", Can.MANAGE, frozenset({"skill"})),
        )
        registry.register("models_runtime.refining.api.skills.router")
