/** Sending review decisions, and finishing the review. */

import { Saving } from "../editor/deciding/saving.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const QUOTED = ["correct", "add"];

/** `showUndecided()` shows what must be decided first: differences between two reviewers, or missed planted leaks. */
export function reviewSaving({ api, urls, note, panel, work, quote, showUndecided }) {
  const page = {
    post: (changes) =>
      api.post(urls.decide, {
        version: note.base.version,
        changes: changes.map((change) => (QUOTED.includes(change.act) ? { ...change, quote: quote(change) } : change)),
      }),
    mayFinish: () => mayFinish(note, panel, work),
    finishData: () => ({
      stage: note.stage,
      with_gold: byId("with-gold")?.checked ?? false,
      with_doubtful: byId("with-doubtful").checked,
      with_removals: byId("with-removals").checked,
    }),
    finished: (next) => window.location.assign(next),
    notYet: () => showUndecided(),
  };
  return new Saving({ api, urls, note, panel, work, words, page });
}

/** Whether the review can be finished; if not, tells what is left to do. */
function mayFinish(note, panel, work) {
  if (note.finished) panel.tell(words.finished);
  else if (note.open && !note.rest().length && !note.restRemovals().length) {
    work.toPlantedLeaks();
    panel.tell(words.plantedOpen(note.open), "");
  } else if (note.open) {
    if (work.selected?.suggestion?.state !== "open") work.walk(1, { open: true });
    panel.tell(words.stillOpen(note.open));
  } else return true;
  return false;
}
