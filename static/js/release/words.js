/** Every text that the scripts of releases show. */

import { gettext, interpolate, pgettext } from "../core/translating.js";

export const words = {
  groups: {
    move: pgettext("what keys are for", "Move"),
    decide: pgettext("what keys are for", "Decide"),
  },
  said: {
    replace: (quote) => interpolate(gettext("Replaced: %(quote)s"), { quote }),
    allow: (quote) => interpolate(gettext("Allowed: %(quote)s"), { quote }),
    accept: (quote) => interpolate(gettext("Accepted: %(quote)s"), { quote }),
    dismiss: (quote) => interpolate(gettext("Not an identifier: %(quote)s"), { quote }),
    undo: (quote) => interpolate(gettext("Open again: %(quote)s"), { quote }),
  },
  keys: {
    next: gettext("Next finding"),
    before: gettext("Previous finding"),
    replace: gettext("Replace; with Shift, all findings of the string"),
    allow: gettext("Allow; with Shift, all findings of the string"),
    undo: gettext("Undo, or the last answer; with Shift, all findings of the string"),
    open: gettext("Open the released note"),
    sheet: gettext("Show keys"),
  },
  leakKeys: {
    next: gettext("Next leak"),
    before: gettext("Previous leak"),
    replace: gettext("Replace in the released text"),
    accept: gettext("Accept: the leak stays, and the certificate names it"),
    dismiss: gettext("Not an identifier: not a leak"),
    undo: gettext("Undo, or the last answer"),
    open: gettext("Open the note"),
  },
};
