/**
 * Answers to the items of a list that the server draws: sent in batches, in order, and kept while the connection is lost. The answer to a
 * batch has `outcomes` (see queue.js) and what the page shows instead.
 */

import { Api } from "../api.js";
import { byId } from "../dom.js";
import { Outbox } from "../outbox.js";
import { STATE_MESSAGES, words as shared } from "../words.js";
import { Panel } from "./panel.js";

const MOST = 500;

export class Answers {
  #waiting = [];
  #sent = 0;
  #panel = new Panel({ labels: new Map(), person: "", quote: () => "" });
  #outbox;

  /**
   * @param {object} parts
   * @param {number} parts.person  their id
   * @param {string} parts.url  where answers are sent
   * @param {Record<string, any>} parts.more  further data of each request
   * @param {(answer: any) => void} parts.answered  shows the answer to a batch
   * @param {(change: object) => void} parts.refused  shows again what was there before a refused answer
   */
  constructor({ person, url, more, answered, refused }) {
    const { "X-CSRFToken": token } = JSON.parse(document.body.getAttribute("hx-headers"));
    const api = new Api({ token, person, renewal: () => window.location.href });
    const take = (outcomes, answer) => {
      const changes = this.#waiting.splice(0, outcomes.length);
      if (answer) answered(answer);
      const errors = outcomes.filter(Boolean);
      if (!errors.length) return;
      for (const change of changes.filter((_, at) => outcomes[at]).reverse()) refused(change);
      this.#panel.offerUndo("");
      this.#panel.tell([errors[0].message, errors.length > 1 && shared.refusedMore(errors.length - 1)].filter(Boolean).join(" "));
    };
    this.#outbox = new Outbox({
      queue: () => (this.#waiting.length ? this.#waiting.slice(0, MOST) : null),
      post: (changes) => {
        this.#sent = changes.length;
        return api.post(url, { ...more, changes });
      },
      accepted: (answer) => take(answer.outcomes, answer),
      refused: (error) => take(new Array(this.#sent).fill(error), null),
      show: (state) => {
        this.#panel.save(state, this.#waiting.length);
        if (STATE_MESSAGES[state]) this.#panel.tell(STATE_MESSAGES[state]);
      },
    });
    window.addEventListener("online", () => this.#outbox.poke());
    window.addEventListener("beforeunload", (event) => this.#waiting.length && event.preventDefault());
    byId("toast-undo").addEventListener("click", () => this.undo());
  }

  /** What the undo beside the list does. */
  undo = () => {};

  /** The answers that wait to be sent or for their outcome. */
  get waiting() {
    return this.#waiting;
  }

  /** Resolves to true once no answer waits, or to false as soon as one has to. */
  drained() {
    return this.#outbox.drained();
  }

  /** Send an answer, and say what was done; with `canUndo`, offer to undo it. */
  put(change, said, canUndo) {
    this.#waiting.push(change);
    this.#panel.say(said);
    this.#panel.offerUndo(canUndo ? said : "");
    this.#outbox.poke();
  }
}
