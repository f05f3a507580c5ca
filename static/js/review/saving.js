/** Sending review decisions, and closing the note. */

import { Saving } from "../editor/deciding/saving.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const QUOTED = ["correct", "add"];

/** `settle()` shows what the close has led to: what two reviewers of the note differ in, or what had been left out. */
export function reviewSaving({ api, urls, note, panel, work, quote, settle }) {
  const page = {
    post: (change) => api.post(urls.decide, QUOTED.includes(change.act) ? { ...change, quote: quote(change) } : change),
    mayClose: () => mayClose(note, panel, work),
    closing: () => ({ stage: note.stage, with_gold: byId("with-gold")?.checked ?? false }),
    closed: (next) => window.location.assign(next),
    notYet: () => settle(),
  };
  return new Saving({ api, urls, note, panel, work, words, page });
}

/** Says what is still to do. */
function mayClose(note, panel, work) {
  if (note.closed) panel.tell(words.closed);
  else if (note.open && !note.rest().length) {
    work.toLeftOut();
    panel.tell(words.leftOutOpen(note.open), "");
  } else if (note.open) {
    if (work.selected?.proposal?.state !== "open") work.walk(1, { open: true });
    panel.tell(words.stillOpen(note.open));
  } else return true;
  return false;
}
