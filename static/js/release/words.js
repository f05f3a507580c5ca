/** Every text that the scripts of releases show. */

import { gettext, pgettext } from "../core/translating.js";

export const words = {
  groups: {
    move: pgettext("what keys are for", "Move"),
    decide: pgettext("what keys are for", "Decide"),
    finding: pgettext("what keys are for", "Finding"),
  },
  keys: {
    next: gettext("Next finding"),
    before: gettext("Previous finding"),
    replace: gettext("Replace here too; with Shift, everywhere"),
    allow: gettext("Allow; with Shift, everywhere"),
    undo: gettext("Undo; with Shift, everywhere"),
    open: gettext("Open the released note"),
    sheet: gettext("Show keys"),
  },
};
