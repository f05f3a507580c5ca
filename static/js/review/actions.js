/** Every key of the review page: what it does and how the `?` sheet names it. Labels bring their own keys. */

import { asking, ending, labelling, moving, selecting, takingBack } from "../decide/actions.js";
import { leaver } from "../decide/page.js";
import { words } from "./words.js";

const { move, decide, missed, note, labels: onLabels } = words.groups;

/** @returns {import("../workbench/keys.js").Action[]} */
export function actions(work, labels) {
  const leave = leaver(work);
  return [
    ...moving(work, move, { next: "Next proposal", before: "Proposal before", open: "Skip to the next open proposal" }),
    { keys: ["a"], group: decide, what: "Accept", run: () => work.accept() },
    { keys: ["x"], group: decide, what: "Reject", run: () => work.reject() },
    { keys: [], hand: "Alt+click", group: decide, what: "Reject the proposal under the pointer, whichever is chosen", run: () => false },
    {
      keys: ["Shift+ArrowRight", "Shift+ArrowLeft"],
      group: decide,
      what: "Move the right end of the proposal by a word",
      run: (_, key) => right(work, key.endsWith("Right") ? 1 : -1),
    },
    {
      keys: ["Alt+ArrowRight", "Alt+ArrowLeft"],
      group: decide,
      what: "Move its left end by a word",
      run: (_, key) => work.moveEnd("start", key.endsWith("Right") ? 1 : -1),
    },
    { keys: ["e"], group: decide, what: "Take the selected words as its ends", run: () => work.takeEnds() },
    { keys: ["="], group: decide, what: "Decide as the first of two reviewers did", run: () => work.takeFirst() },
    ...takingBack(work, decide),
    { keys: ["v"], group: note, what: "Original text, or masked as it would be given away", run: () => work.mask() },
    { keys: ["m"], group: missed, what: "Choose words: arrow keys move, Shift extends, a label's key adds", run: () => work.mark() },
    ...selecting(work, missed),
    { keys: ["Backspace", "Delete"], group: missed, what: "Take an added span out of gold", run: () => work.remove() },
    ...ending(work, note, [
      { keys: ["Shift+Enter"], group: note, what: "Accept all that is still open in this note, and close it", run: () => (work.range ? work.openPalette(true) : work.closeWithRest()) },
    ]),
    { keys: ["n"], group: note, what: "Next note", run: () => leave("next-note") },
    { keys: ["p"], group: note, what: "Note before", run: () => leave("previous-note") },
    ...asking(work, note),
    ...labelling(work, onLabels, labels),
  ];
}

function right(work, step) {
  if (work.range) work.moveCursor(step, true);
  else return work.moveEnd("end", step);
  return true;
}
