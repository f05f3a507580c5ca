from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ReleaseConfig(AppConfig):
    name = "annotations.release"
    label = "release"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.core.hooks import patient_erased, project_deleted, why_file_deleted
        from annotations.jobs.registry import JobKind, register
        from annotations.release.services.erasing import count_erased, delete_releases
        from annotations.release.services.withdrawing import why_withdrawn

        for module in ("policies", "releases", "findings", "notes"):
            registry.register(f"annotations.release.api.{module}.router")
        register(
            {
                "release": JobKind(
                    title=_("Release"),
                    handler="annotations.release.jobs.releases.run",
                    right=Can.RELEASE,
                    result="release/result.html",
                    can_pause=True,
                    shared=True,
                ),
                "release_export": JobKind(
                    title=_("Export of a release"),
                    handler="annotations.release.jobs.releases.run_export",
                    right=Can.RELEASE,
                    result="release/export_result.html",
                ),
            }
        )
        patient_erased.add(count_erased)
        project_deleted.add(delete_releases)
        why_file_deleted.add(why_withdrawn)
        navigation.add_group(navigation.Group("release", _("Release"), 85))

        from annotations.core import addresses, offers

        made = frozenset({"release", "release_new", "release_findings", "release_note"})
        navigation.register(
            navigation.Entry("release", 10, _("Releases"), "releases", Can.RELEASE, made),
            navigation.Entry(
                "release", 20, _("Policies"), "release_policies", Can.RELEASE, frozenset({"release_policy"})
            ),
        )
        addresses.register("release.page", "release")
        addresses.register("release.new", "release_new")
        addresses.register("release.note", "release_note")
        addresses.register("note.surrogates", "note_surrogates")
        offers.offer("gold.actions", "release/offers/gold.html", position=30)
        offers.offer("gold_version.actions", "release/offers/gold_version.html", position=30)
        offers.offer("note.views", "release/offers/note_views.html")
        offers.offer("note.text", "release/offers/note_text.html")

        from annotations.release import overview

        overview.register()
