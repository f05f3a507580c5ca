/** Every text that the script of the disagreements page shows or announces. */

import { gettext, interpolate, pgettext } from "../core/translating.js";
import { words as shared } from "../editor/deciding/words.js";

export const words = {
  groups: {
    move: pgettext("what keys are for", "Move"),
    cause: pgettext("what keys are for", "Cause of the disagreement, then the next one; with Shift, stay here"),
    location: pgettext("what keys are for", "Location"),
  },
  causes: {
    AB: gettext("Abbreviation"),
    AM: gettext("Ambiguity"),
    D: gettext("Debatable annotation"),
    S: gettext("Scarcity"),
  },
  causeSaid: (kind, present) => interpolate(present ? gettext("Cause added: %(kind)s") : gettext("Cause removed: %(kind)s"), { kind: words.causes[kind] }),
  keys: {
    sheet: shared.keys.sheet,
    next: gettext("Next disagreement"),
    before: gettext("Previous disagreement"),
    discuss: gettext("Open the discussion"),
    undo: gettext("Undo the cause that you added last"),
    open: gettext("Open the note for adjudication"),
  },
};
