/** Every key of the review page: what it does and how the `?` sheet names it. Labels bring their own keys. */

import { byId } from "../workbench/dom.js";
import { words } from "./words.js";

const { move, decide, missed, note, labels: onLabels } = words.groups;

/** @returns {import("../workbench/keys.js").Action[]} */
export function actions(work, labels) {
  const leave = (id) => {
    const found = byId(id);
    if (found) work.saving.leaveFor(found.href);
    return Boolean(found);
  };
  return [
    { keys: ["j", "ArrowDown"], group: move, what: "Next proposal", run: () => void work.walk(1) },
    { keys: ["k", "ArrowUp"], group: move, what: "Proposal before", run: () => void work.walk(-1) },
    { keys: [" "], group: move, what: "Skip to the next open proposal", run: () => void work.walk(1, { open: true }) },
    { keys: ["Escape"], group: move, what: "Let go of what is selected; again, leave the text", run: () => work.escape() },
    { keys: ["a"], group: decide, what: "Accept", run: () => work.accept() },
    { keys: ["x"], group: decide, what: "Reject", run: () => work.reject() },
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
    { keys: ["u", "Ctrl+z"], group: decide, what: "Take back your last decision", run: () => work.undo() },
    { keys: ["Ctrl+Shift+z", "Ctrl+y"], group: decide, what: "Decide again what was taken back", run: () => work.redo() },
    { keys: ["m"], group: missed, what: "Choose words: arrow keys move, Shift extends, a label's key adds", run: () => work.mark() },
    {
      keys: ["ArrowRight", "ArrowLeft"],
      group: missed,
      what: "Next word, word before",
      run: (_, key) => (work.range ? work.moveCursor(key.endsWith("Right") ? 1 : -1, false) : false),
    },
    { keys: ["Backspace", "Delete"], group: missed, what: "Take an added span out of gold", run: () => work.remove() },
    {
      keys: ["Enter"],
      group: note,
      what: "Close the note once nothing is open; with words selected, choose a label",
      run: () => (work.range ? work.openPalette(true) : void work.saving.close()),
    },
    { keys: ["n"], group: note, what: "Next note", run: () => leave("next-note") },
    { keys: ["p"], group: note, what: "Note before", run: () => leave("previous-note") },
    { keys: ["?"], group: note, what: "This list", run: () => work.sheet.open() },
    ...labels
      .filter(({ key }) => key)
      .map(({ key, id, name }) => ({ keys: [key], group: onLabels, what: name, run: () => work.applyLabel(id) })),
  ];
}

function right(work, step) {
  if (work.range) work.moveCursor(step, true);
  else return work.moveEnd("end", step);
  return true;
}
