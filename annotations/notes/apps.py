from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class NotesConfig(AppConfig):
    name = "annotations.notes"

    def ready(self) -> None:
        from annotations.core.hooks import patient_erased, relay_steps, tidiers

        tidiers.add("annotations.notes.services.searching.purge_searches")
        patient_erased.add("annotations.notes.services.searching.forget_searches")
        patient_erased.add("annotations.notes.services.searching.forget_notes")
        relay_steps.add("annotations.notes.services.searching.index_notes")

        from annotations.core import addresses, navigation
        from annotations.core.access import Can

        navigation.add_group(navigation.NavigationGroup("notes", _("Notes"), 20))
        navigation.register(
            navigation.Entry("notes", 10, _("List"), "notes", Can.SEE_PROJECT, frozenset({"note", "notes_assign"})),
            navigation.Entry("notes", 30, _("Search"), "search", Can.SEE_PROJECT, frozenset({"search_results"})),
            navigation.Entry(
                "notes",
                40,
                _("Flagged"),
                "notes",
                Can.SEE_PROJECT,
                query={"state": "flagged"},
                counter="annotations.notes.selectors.comments.notes_flagged",
            ),
        )
        addresses.register("project.notes", "notes")
