/** Sentences that the pages of review and of adjudication share. */

import { gettext, interpolate, locale, ngettext, pgettext } from "../../core/translating.js";

const TIME = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

/** Who, and when if that is known. */
export const whoWhen = (name, at) =>
  at ? interpolate(gettext("%(name)s, %(time)s"), { name, time: TIME.format(new Date(at)) }) : name;

export const words = {
  left: (open, total) => {
    if (total === 0) return pgettext("how many are open", "none");
    if (open === 0) return interpolate(ngettext("%(total)s, none open", "%(total)s, none open", total), { total });
    return interpolate(ngettext("%(open)s of %(total)s open", "%(open)s of %(total)s open", total), { open, total });
  },
  place: (at, total) => interpolate(gettext("%(at)s of %(total)s"), { at, total }),
  you: pgettext("who did it", "you"),
  asItWas: gettext("It is so already."),
  undone: gettext("Taken back"),
  redone: gettext("Decided again"),
  onlySpace: gettext("Only white space is selected."),
  notClosed: gettext("Not closed: some decisions are not saved yet. They are kept in this page."),
  closeLost: gettext("The server can't be reached; the note was not closed. Try again."),
  letGo: gettext("Let go"),
  keys: {
    escape: gettext("Let go of what is selected; again, leave the text"),
    undo: gettext("Take back your last decision"),
    redo: gettext("Decide again what was taken back"),
    word: gettext("Next word, word before"),
    close: gettext("Close the note once nothing is open; with words selected, choose a label"),
    sheet: gettext("This list"),
  },
};
