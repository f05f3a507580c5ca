from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ExchangeConfig(AppConfig):
    name = "annotations.exchange"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.core.hooks import tidiers
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "import": JobKind(
                    title=_("Import"),
                    handler="annotations.exchange.jobs.import_job",
                    right=Can.MANAGE,
                    result="exchange/import_result.html",
                    undo="annotations.exchange.jobs.undo_import_job",
                    can_pause=True,
                    # A canceled or failed import deletes its upload, so that there is nothing left to import.
                    can_retry=False,
                ),
                "export": JobKind(
                    title=_("Export"),
                    handler="annotations.exchange.jobs.export_job",
                    right=Can.EXPORT,
                    result="exchange/export_result.html",
                ),
            }
        )
        tidiers.add("annotations.core.stored_files.delete_expired")

        from annotations.core import addresses, navigation, offers

        export_pages = frozenset({"export_preview", "label_mappings", "label_mapping"})

        navigation.register(
            navigation.Entry("notes", 20, _("Import"), "import", Can.MANAGE, frozenset({"import_preview"})),
            navigation.Entry("gold", 50, _("Export"), "export", Can.EXPORT, export_pages),
        )
        addresses.register("project.new", "project_new")
        offers.offer("notes.actions", "exchange/offers/notes.html")
        offers.offer("notes.empty", "exchange/offers/notes_empty.html")
        offers.offer("notes.ticked", "exchange/offers/ticked.html", position=-10)
        offers.offer("note.foot", "exchange/offers/note_source.html", position=-10)
        offers.offer("gold.actions", "exchange/offers/gold.html", position=20)
        offers.offer("gold_version.actions", "exchange/offers/gold_version.html", position=20)
        navigation.SHORTCUTS += [
            navigation.Shortcut(_("Import notes"), "import", Can.MANAGE),
            navigation.Shortcut(_("Export annotations"), "export", Can.EXPORT, "new-title"),
        ]
