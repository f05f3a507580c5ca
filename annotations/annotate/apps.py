from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AnnotateConfig(AppConfig):
    name = "annotations.annotate"

    def ready(self) -> None:
        from annotations.core import addresses, navigation, offers
        from annotations.core.access import Can

        navigation.extend("notes", "annotate", "next_note")
        navigation.fill_window("annotate")
        navigation.register(navigation.Entry("account", 10, _("My keys"), "keys", Can.ANNOTATE))
        addresses.register("note.annotate", "annotate")
        addresses.register("project.next", "next_note")
        offers.offer("projects.actions", "annotate/offers/project.html")
        offered = "annotations.annotate.overview.offers_pilot"
        navigation.SHORTCUTS.append(navigation.Shortcut(_("Start a pilot"), "project", Can.MANAGE, offered=offered))
