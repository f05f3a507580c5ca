from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class SkillsConfig(AppConfig):
    name = "models_runtime.skills"
    label = "models_skills"

    def ready(self) -> None:
        from annotations.api import registry
        from annotations.core import navigation
        from annotations.core.access import Can

        navigation.register(
            navigation.Entry("guidelines", 50, _("For agents"), "skills", Can.MANAGE, frozenset({"skill"})),
        )
        registry.register("models_runtime.skills.api.router")
