from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_noop as _


class ProjectsConfig(AppConfig):
    name = "annotations.projects"

    def ready(self) -> None:
        # Its receivers are connected.
        import annotations.projects.services.second_factor  # noqa: F401
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.hooks import relay_steps, tidiers

        navigation.add_group(
            navigation.NavigationGroup("overview", _("Overview"), 10),
            navigation.NavigationGroup("guidelines", _("Guidelines"), 30),
            navigation.NavigationGroup("project", _("Project"), 10, navigation.Area.GEAR),
            navigation.NavigationGroup("account", _("Account"), 10, navigation.Area.ACCOUNT),
        )
        label_pages = frozenset(
            {"label_edit", "label_merge", "label_delete", "category_add", "category_edit", "category_delete"}
        )
        people = frozenset({"member_remove", "member_link", "groups", "group_remove"})
        navigation.register(
            navigation.Entry("overview", 10, _("Overview"), "project", Can.SEE_PROJECT),
            navigation.Entry(
                "guidelines", 10, _("Text"), "guidelines", Can.SEE_PROJECT, frozenset({"guidelines_edit"})
            ),
            navigation.Entry("guidelines", 30, _("Labels"), "labels", Can.MANAGE, label_pages),
            navigation.Entry("project", 10, _("Settings"), "project_settings", Can.ARCHIVE),
            navigation.Entry("project", 20, _("People"), "people", Can.MANAGE, people),
            navigation.Entry("project", 30, _("Assignment"), "project_settings", Can.MANAGE, fragment="assign"),
            navigation.Entry("project", 50, _("Audit"), "audit", Can.SEE_AUDIT),
        )
        navigation.SHORTCUTS += [
            navigation.Shortcut(_("Add people"), "people", Can.MANAGE),
            navigation.Shortcut(_("Add a label"), "labels", Can.MANAGE, "add-title"),
        ]
        services = "annotations.projects.services"
        tidiers.add(f"{services}.assigning.release_idle_notes", f"{services}.accounts.forget_failures")
        tidiers.add(f"{services}.providers.signing_in.forget_used", f"{services}.providers.signing_in.forget_old")
        if settings.SIGN_IN:
            relay_steps.add(f"{services}.providers.checking.step")
