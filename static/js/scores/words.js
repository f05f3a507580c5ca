/** Every text that the script of the list of errors shows. */

import { gettext, pgettext } from "../core/translating.js";
import { words as disagreements } from "../agreement/words.js";

export const words = {
  groups: {
    move: disagreements.groups.move,
    cause: pgettext("what keys are for", "Cause of the error, then the next one; with Shift, stay here"),
  },
  keys: {
    sheet: disagreements.keys.sheet,
    next: gettext("Next error"),
    before: gettext("Previous error"),
    undo: disagreements.keys.undo,
    open: gettext("Open the note"),
  },
};
