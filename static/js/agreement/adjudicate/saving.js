/** Send decisions, notice what annotators changed, and finish the note. */

import { Saving } from "../../editor/deciding/saving.js";
import { words } from "./words.js";

// How often a visible page asks the server for changes (milliseconds).
const LISTEN = 20_000;

export function adjudicationSaving({ api, urls, note, panel, work, quote }) {
  const page = {
    post: (changes) => {
      const bodies = changes.map((change) => (change.act === "own" ? { ...note.body(change), quote: quote(change) } : note.body(change)));
      return changes[0].act === "cause" ? api.post(urls.cause, bodies[0]) : api.post(urls.decide, { changes: bodies });
    },
    news: ({ annotationSets }) => (annotationSets ? words.annotationSets : ""),
    mayFinish: () => mayFinish(note, panel, work),
    finishData: () => ({ gold: true }),
    // The next note; or, where the note has other gold, the same page again in its finished state.
    finished: (next) => (next === window.location.pathname ? window.location.replace(next) : window.location.assign(next)),
    listen: LISTEN,
  };
  return new Saving({ api, urls, note, panel, work, words, page });
}

/** Whether the note can be finished; if not, the page says why. */
function mayFinish(note, panel, work) {
  if (note.finished || !note.ready) panel.tell(note.finished ? words.finishedNote : words.notReady);
  else if (note.open) {
    work.walk(1, { open: true });
    panel.tell(words.stillOpen(note.open));
  } else return true;
  return false;
}
