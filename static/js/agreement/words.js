/** Every text that the script of the disagreements page shows or announces. */

import { gettext, pgettext } from "../core/translating.js";
import { words as shared } from "../editor/deciding/words.js";

export const words = {
  groups: {
    move: pgettext("what keys are for", "Move"),
    cause: pgettext("what keys are for", "Causes of the disagreement"),
    location: pgettext("what keys are for", "Location"),
  },
  causes: {
    AB: gettext("Abbreviation"),
    AM: gettext("Ambiguity"),
    D: gettext("Debatable annotation"),
    S: gettext("Scarcity"),
  },
  keys: {
    sheet: shared.keys.sheet,
    next: gettext("Next disagreement"),
    before: gettext("Previous disagreement"),
    discuss: gettext("Open the discussion"),
    adjudicate: gettext("Open the note for adjudication"),
  },
};
