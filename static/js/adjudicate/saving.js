/** Sending adjudications, hearing what annotators changed, and closing the note. */

import { Saving } from "../editor/deciding/saving.js";
import { words } from "./words.js";

// How often a page that is looked at asks whether something changed (milliseconds).
const LISTEN = 20_000;

export function adjudicationSaving({ api, urls, note, panel, work, quote }) {
  const page = {
    post: (change) => {
      const body = note.body(change);
      if (change.act === "cause") return api.post(urls.cause, body);
      return api.post(urls.decide, change.act === "own" ? { ...body, quote: quote(change) } : body);
    },
    news: ({ readings }) => (readings ? words.readings : ""),
    mayClose: () => mayClose(note, panel, work),
    // The same address again, as the server now shows it; what was chosen in it is over.
    closed: (next) => window.location.replace(next),
    listen: LISTEN,
  };
  return new Saving({ api, urls, note, panel, work, words, page });
}

/** Says what is still to do. */
function mayClose(note, panel, work) {
  if (note.closed || !note.ready) panel.tell(note.closed ? words.closedNote : words.notReady);
  else if (note.open) {
    work.walk(1, { open: true });
    panel.tell(words.stillOpen(note.open));
  } else return true;
  return false;
}
