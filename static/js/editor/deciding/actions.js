/** Keys that review and adjudication share: moving, undo, attributes, selecting words, finishing. `what` holds the page's descriptions of keys. */

import { words } from "./words.js";

const { keys } = words;

/** @returns {import("../keys.js").Action[]} */
export function moving(work, group, what) {
  return [
    { keys: ["j", "ArrowDown"], group, what: what.next, run: () => void work.walk(1) },
    { keys: ["k", "ArrowUp"], group, what: what.before, run: () => void work.walk(-1) },
    { keys: [" "], group, what: what.open, run: () => void work.walk(1, { open: true }) },
    { keys: ["Escape"], group, what: keys.escape, run: () => work.escape() },
  ];
}

export function undoing(work, group) {
  return [
    { keys: ["u", "Ctrl+z"], group, what: keys.undo, run: () => work.undo() },
    { keys: ["Ctrl+Shift+z", "Ctrl+y"], group, what: keys.redo, run: () => work.redo() },
  ];
}

export function describing(work, group) {
  return [{ keys: ["F4"], group, what: keys.attributes, run: () => work.openAttributes() }];
}

export function selecting(work, group) {
  return [
    {
      keys: ["ArrowRight", "ArrowLeft"],
      group,
      what: keys.word,
      run: (_, key) => (work.range ? work.moveCursor(key.endsWith("Right") ? 1 : -1, false) : false),
    },
  ];
}

/** Enter finishes a note, and then goes on by the link `onward`. */
export function ending(work, group, onward, more = []) {
  return [
    ...more,
    {
      keys: ["Enter"],
      group,
      what: keys.finish,
      run: () => {
        if (work.range) work.openPalette(true);
        else if (!work.note.finished || !onward()) work.saving.finish();
      },
    },
  ];
}

export function asking(work, group) {
  return [{ keys: ["?"], group, what: keys.sheet, run: () => work.sheet.open() }];
}

/** The keys of the labels. */
export function labeling(work, group, labels) {
  return labels
    .filter(({ key }) => key)
    .map(({ key, id, name }) => ({ keys: [key], group, what: name, run: () => work.applyLabel(id) }));
}
