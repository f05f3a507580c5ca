/** Every sentence that the disagreements' script shows or says. */

import { gettext, pgettext } from "../core/translating.js";
import { words as shared } from "../editor/deciding/words.js";

export const words = {
  groups: {
    move: pgettext("what keys are for", "Move"),
    cause: pgettext("what keys are for", "Cause of the disagreement"),
    place: pgettext("what keys are for", "Place"),
  },
  causes: {
    AB: gettext("Abbreviation"),
    AM: gettext("Ambiguity"),
    D: gettext("Debatable annotation"),
    S: gettext("Scarcity"),
  },
  keys: {
    sheet: shared.keys.sheet,
    next: gettext("Next place"),
    before: gettext("Place before"),
    discuss: gettext("Discuss it"),
    adjudicate: gettext("Open it for adjudication"),
  },
};
