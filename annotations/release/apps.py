from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ReleaseConfig(AppConfig):
    name = "annotations.release"

    def ready(self) -> None:
        from annotations.core import addresses, navigation, offers
        from annotations.core.access import Can
        from annotations.core.hooks import patient_erased, project_deleted, tidiers
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "release": JobKind(
                    title=_("Release"),
                    handler="annotations.release.jobs.run",
                    right=Can.RELEASE,
                    result="release/result.html",
                    can_pause=True,
                    shared=True,
                    alone=True,
                ),
                "release_export": JobKind(
                    title=_("Export of a release"),
                    handler="annotations.release.services.exporting.run_release_export",
                    right=Can.RELEASE,
                    result="release/export_result.html",
                ),
                "master": JobKind(
                    title=_("Patient master"),
                    handler="annotations.release.jobs.run_master",
                    right=Can.MANAGE,
                    unit=_("rows"),
                    undo="annotations.release.jobs.undo_master",
                    # A failed or canceled job deletes its upload.
                    can_retry=False,
                    result="release/known/read_result.html",
                ),
            }
        )
        services = "annotations.release.services"
        tidiers.add(f"{services}.known.delete_expired_uploads")
        patient_erased.add(f"{services}.settling.erase_from_releases", f"{services}.known.erase_known")
        patient_erased.add(f"{services}.surrogates.making.forget_notes")
        project_deleted.add(f"{services}.settling.delete_releases")
        navigation.add_group(navigation.NavigationGroup("release", _("Release"), 85))
        made = frozenset({"release", "release_new", "release_findings", "release_note", "certificate_sign"})
        master = frozenset({"known_upload", "known_people", "known_person"})
        read = frozenset({"release_audit", "audit_read", "audit_leaks"})
        one_policy, one_entity = frozenset({"release_policy"}), frozenset({"surrogate"})
        navigation.register(
            navigation.Entry("release", 10, _("Releases"), "releases", Can.RELEASE, made),
            navigation.Entry("release", 20, _("Policies"), "release_policies", Can.RELEASE, one_policy),
            navigation.Entry("release", 30, _("Audits"), "audits", Can.AUDIT_RELEASES, read),
            navigation.Entry("release", 40, _("Surrogates"), "surrogates", Can.RELEASE, one_entity),
            navigation.Entry("project", 45, _("Known identifiers"), "known", Can.MANAGE, master),
        )
        addresses.register("note.surrogates", "note_surrogates")
        offers.offer("gold.actions", "release/offers/gold.html", position=30)
        offers.offer("gold_version.actions", "release/offers/gold_version.html", position=30)
        offers.offer("note.views", "release/offers/note_views.html")
        offers.offer("note.text", "release/offers/note_text.html")
        navigation.SHORTCUTS.append(navigation.Shortcut(_("Make a release"), "release_new", Can.RELEASE))
