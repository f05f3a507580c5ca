/** Texts that the script of the import page shows. */

import { gettext, interpolate, locale, ngettext } from "../core/translating.js";

const whole = (value) => value.toLocaleString(locale);
const tenths = (value) => value.toLocaleString(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false });

const size = (bytes) => {
  if (bytes < 1024) return interpolate(ngettext("%(count)s byte", "%(count)s bytes", bytes), { count: bytes });
  if (bytes < 1024 * 1024) return interpolate(gettext("%(size)s KB"), { size: tenths(bytes / 1024) });
  return interpolate(gettext("%(size)s MB"), { size: tenths(bytes / 1024 / 1024) });
};

const files = (count) => interpolate(ngettext("%(count)s file", "%(count)s files", count), { count: whole(count) });

export const words = {
  none: gettext("Choose at least one file, a folder, or a zip."),
  /** @param {number} total bytes @param {string} most as text */
  tooLarge: (total, most) =>
    interpolate(
      gettext("These files have %(size)s together; at most %(most)s are allowed per upload. Upload them in parts, or as a zip."),
      { size: size(total), most },
    ),
  zipAlone: gettext("A zip must be uploaded alone. Choose one zip, or files without a zip."),
  tooMany: gettext("These are too many files for one upload. Put them into a zip and choose the zip."),
  chosen: (count, total) => interpolate(gettext("%(files)s, %(size)s"), { files: files(count), size: size(total) }),
  clear: gettext("Clear"),
  more: (count) => interpolate(ngettext("and %(count)s more", "and %(count)s more", count), { count: whole(count) }),
  unreadable: gettext("Some of these files could not be read. Nothing was added. Try again."),
  packing: (count) => interpolate(ngettext("Packing %(count)s file", "Packing %(count)s files", count), { count: whole(count) }),
  sent: gettext("Uploaded; the server is reading the files"),
  sending: (done, total) => interpolate(gettext("Uploading %(done)s of %(total)s"), { done: size(done), total: size(total) }),
  lost: gettext(
    "The connection was lost, or a chosen file changed on your disk. Nothing was imported. The files are still chosen; try again.",
  ),
  signedOut: gettext("You are signed out. Sign in in another tab, then try again. The files are still chosen."),
  outOfDate: gettext("This page is out of date, or you may no longer import notes here. Reload the page."),
  refusedAsTooLarge: (most) =>
    interpolate(gettext("The upload has more than %(most)s. Nothing was imported. Upload the files in parts, or as a zip."), { most }),
  failed: gettext("The server could not process this upload. Nothing was imported. The files are still chosen; try again."),
};
