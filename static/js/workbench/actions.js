/** Every key of the workbench: what it does and how the `?` sheet names it. Labels bring their own keys. */

import { byId } from "./dom.js";
import { words } from "./words.js";

const { move, change, note, labels: labelsGroup } = words.groups;

/** @returns {import("./keys.js").Action[]} */
export function actions(work, labels) {
  const link = (id) => {
    const found = byId(id);
    if (found) work.saving.leaveFor(found.href);
    return Boolean(found);
  };
  return [
    { keys: ["ArrowRight"], group: move, what: "Next word", run: () => work.moveCursor(1, false) },
    { keys: ["ArrowLeft"], group: move, what: "Previous word", run: () => work.moveCursor(-1, false) },
    { keys: ["ArrowDown"], group: move, what: "Next line", run: () => work.moveLine(1, false) },
    { keys: ["ArrowUp"], group: move, what: "Previous line", run: () => work.moveLine(-1, false) },
    {
      keys: ["Shift+ArrowRight", "Shift+ArrowLeft"],
      group: move,
      what: "Extend the selection; of a selected span, move its end",
      run: (_, key) => horizontal(work, key),
    },
    {
      keys: ["Shift+ArrowDown", "Shift+ArrowUp"],
      group: move,
      what: "Extend the selection by a line",
      run: (_, key) => work.moveLine(key.endsWith("Down") ? 1 : -1, true),
    },
    { keys: ["Tab"], group: move, what: "Next span; after the last, on to the buttons", run: () => work.walk(1) },
    { keys: ["Shift+Tab"], group: move, what: "Previous span", run: () => work.walk(-1) },
    { keys: ["Escape"], group: move, what: "Let go of the selection; again, leave the text", run: () => work.escape() },
    {
      keys: ["Alt+ArrowRight", "Alt+ArrowLeft"],
      group: change,
      what: "Move the start of the selected span",
      run: (_, key) => work.resize("start", key.endsWith("Right") ? 1 : -1),
    },
    { keys: ["Delete", "Backspace"], group: change, what: "Delete the selected span", run: () => work.remove() },
    { keys: ["Ctrl+z"], group: change, what: "Undo", run: () => work.undo() },
    { keys: ["Ctrl+Shift+z", "Ctrl+y"], group: change, what: "Redo", run: () => work.redo() },
    {
      keys: ["Enter"],
      group: note,
      what: "Choose a label for the selection; with nothing selected, submit the note",
      run: () => (work.range ? work.openPalette(true) : void work.saving.submit()),
    },
    { keys: ["n"], group: note, what: "Next note", run: () => link("next-note") },
    { keys: ["p"], group: note, what: "Previous note", run: () => link("previous-note") },
    { keys: ["g"], group: note, what: "Guidelines", run: () => click("guidelines") },
    { keys: ["?"], group: note, what: "This list", run: () => work.sheet.open() },
    ...labels
      .filter((label) => label.key)
      .map((label) => ({
        keys: [label.key],
        group: labelsGroup,
        what: label.name,
        run: () => work.applyLabel(label.id),
      })),
  ];
}

function horizontal(work, key) {
  const step = key.endsWith("Right") ? 1 : -1;
  if (work.selected) work.resize("end", step);
  else work.moveCursor(step, true);
}

function click(id) {
  const found = byId(id);
  found?.click();
  return Boolean(found);
}
