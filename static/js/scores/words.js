/** Every text that the script of the list of errors shows. */

import { gettext, pgettext } from "../core/translating.js";
import { words as disagreements } from "../agreement/words.js";

export const words = {
  groups: {
    move: disagreements.groups.move,
    cause: pgettext("what keys are for", "Causes of the error"),
  },
  keys: {
    sheet: disagreements.keys.sheet,
    next: gettext("Next error"),
    before: gettext("Previous error"),
    open: gettext("Open the note"),
  },
};
