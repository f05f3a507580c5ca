/** Every text that the script of the page for reading released notes shows. */

import { gettext, interpolate, pgettext } from "../../core/translating.js";

export const words = {
  groups: {
    select: pgettext("what keys are for", "Select text"),
    note: pgettext("what keys are for", "Note"),
  },
  keys: {
    tokens: gettext("Previous and next word"),
    extend: gettext("Extend the selection"),
    sentences: gettext("Previous and next sentence"),
    clear: gettext("Deselect"),
    label: gettext("Mark the selected text with the label"),
    labels: gettext("Go to the labels; without a selection, finish the note"),
    undo: gettext("Remove the last mark"),
    reopen: gettext("Reopen the last note"),
    sheet: gettext("Show the keys"),
  },
  marked: (quote) => interpolate(gettext("Marked: %(quote)s"), { quote }),
  unmarked: (quote) => interpolate(gettext("Mark removed: %(quote)s"), { quote }),
  nothing: gettext("Select text with the mouse, or with the arrow keys."),
};
