/** Every sentence that the import page's script shows. */

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
  /** @param {number} total bytes @param {string} most in words */
  tooLarge: (total, most) =>
    interpolate(
      gettext("These files have %(size)s together; at most %(most)s are taken at once. Import them in parts, or as a zip."),
      { size: size(total), most },
    ),
  zipAlone: gettext("A zip is imported by itself: choose one zip and nothing else, or files without a zip."),
  tooMany: gettext("These are too many files to send one by one. Put them into a zip and choose that."),
  chosen: (count, total) => interpolate(gettext("%(files)s, %(size)s"), { files: files(count), size: size(total) }),
  clear: gettext("Clear"),
  more: (count) => interpolate(ngettext("and %(count)s more", "and %(count)s more", count), { count: whole(count) }),
  unreadable: gettext("Some of these files could not be read. Nothing was added; try again."),
  packing: (count) => interpolate(ngettext("Packing %(count)s file", "Packing %(count)s files", count), { count: whole(count) }),
  sent: gettext("Sent; the server reads it"),
  sending: (done, total) => interpolate(gettext("Sending %(done)s of %(total)s"), { done: size(done), total: size(total) }),
  lost: gettext(
    "The connection was lost, or a file changed on your disk since you chose it. Nothing was imported; the files are still chosen, so try again.",
  ),
  signedOut: gettext("You were signed out. Sign in in another tab, then press the button again: the files are still chosen."),
  outOfDate: gettext("This page is out of date or you may no longer import here. Reload it."),
  refusedAsTooLarge: (most) =>
    interpolate(gettext("That is more than is taken at once (%(most)s). Nothing was imported. Import in parts, or as a zip."), { most }),
  failed: gettext("The server could not take this upload. Nothing was imported; the files are still chosen, so try again."),
};
