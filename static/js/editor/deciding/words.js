/** Texts that the pages of review and adjudication share. */

import { moment } from "../../core/moments.js";
import { gettext, interpolate, ngettext, pgettext } from "../../core/translating.js";

/** The name, and the time if known. */
export const whoWhen = (name, at) =>
  at ? interpolate(gettext("%(name)s, %(time)s"), { name, time: moment(at).text }) : name;

export const words = {
  left: (open, total) => {
    if (total === 0) return pgettext("how many are open", "none");
    if (open === 0) return interpolate(ngettext("%(total)s, none open", "%(total)s, none open", total), { total });
    return interpolate(ngettext("%(open)s of %(total)s open", "%(open)s of %(total)s open", total), { open, total });
  },
  position: (at, total) => interpolate(gettext("%(at)s of %(total)s"), { at, total }),
  you: pgettext("who did it", "you"),
  asItWas: gettext("Nothing to change."),
  saidNext: (done, next) => interpolate(gettext("%(done)s. Next: %(next)s"), { done, next }),
  decided: gettext("Decided"),
  undone: gettext("Undone"),
  redone: gettext("Redone"),
  onlySpace: gettext("The selection contains only white space."),
  notFinished: gettext("Not finished: some decisions are not saved yet. They are kept on this page."),
  finishLost: gettext("The server can't be reached. The note was not finished. Try again."),
  letGo: gettext("Clear selection"),
  decideFirst: gettext("Only accepted and decided spans have attributes that you can set. Decide first, then press F4."),
  keys: {
    escape: gettext("Clear the selection; again: leave the text"),
    undo: gettext("Undo your last decision"),
    redo: gettext("Redo the decision that you undid"),
    word: gettext("Next word, previous word"),
    attributes: gettext("Set attributes of the accepted or decided span: then press a number"),
    finish: gettext("Finish when nothing is open, and go on to the next note; with text selected, choose a label"),
    sheet: gettext("This list"),
  },
};
