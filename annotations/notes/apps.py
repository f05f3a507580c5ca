from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class NotesConfig(AppConfig):
    name = "annotations.notes"
    label = "notes"

    def ready(self) -> None:
        from annotations.core.hooks import patient_erased
        from annotations.jobs import hooks
        from annotations.notes.services.searching import forget_searches, purge_searches

        hooks.TIDIERS.append(purge_searches)
        patient_erased.add(forget_searches)

        from annotations.core import navigation
        from annotations.core.access import Can

        navigation.register(
            navigation.Entry(20, _("Notes"), "notes", Can.SEE_PROJECT, frozenset({"note"})),
            navigation.Entry(30, _("Search"), "search", Can.SEE_PROJECT, frozenset({"search_results"})),
        )

        from annotations.notes import overview

        overview.register()
