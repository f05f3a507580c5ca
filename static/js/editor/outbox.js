/**
 * Send changes one after another, in order, until each is accepted or refused. While the connection is lost, changes wait; their ids
 * let the server recognize a change that is sent twice.
 *
 * States: saved · saving · later · offline · signed-out · other-person · no-access · submitted. The shown state is never better than the known one.
 */

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 15_000;
const PERSON_WAIT = 5000;
// States that end only when a person acts: somebody signs in, assigns the note again, or reopens it.
const BY_PERSON = ["signed-out", "other-person", "no-access", "submitted"];

/** Resolves after `ms` milliseconds. @param {number} ms @returns {Promise<void>} */
export function sleepFor(ms) {
  return new Promise((done) => {
    setTimeout(done, ms);
  });
}

export function backOff(failures) {
  return Math.min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT);
}

export class Outbox {
  #queue;
  #post;
  #accepted;
  #refused;
  #show;
  #sleep;
  #wake = null;
  #running = null;
  #failures = 0;
  #watchers = [];
  state = "saved";

  /**
   * @param {object} parts
   * @param {() => object|null} parts.queue  the change to send next, null when there is none
   * @param {(change: object) => Promise<{kind: string, data?: object, wait?: number}>} parts.post  see api.js for the kinds
   * @param {(answer: object) => void} parts.accepted  must remove the change from the queue
   * @param {(answer: object) => void} parts.refused  must remove the change from the queue
   * @param {(state: string) => void} parts.show
   * @param {(ms: number) => Promise<void>} [parts.sleep]
   */
  constructor({ queue, post, accepted, refused, show, sleep }) {
    this.#queue = queue;
    this.#post = post;
    this.#accepted = accepted;
    this.#refused = refused;
    this.#show = show;
    this.#sleep = sleep ?? sleepFor;
  }

  /** Send the queue now: something was queued, or the connection may be back. Waits after failures begin short again. */
  poke() {
    this.#failures = 0;
    // The server said when it accepts more: it would refuse an earlier request.
    if (this.state !== "later") this.#wake?.();
    if (this.#running) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Resolves to true once everything is saved, or to false as soon as a change has to wait. */
  async drained() {
    this.poke();
    while (this.#queue() !== null) {
      await new Promise((done) => {
        this.#watchers.push(done);
      });
      if (this.#stuck && this.#queue() !== null) return false;
    }
    return true;
  }

  get #stuck() {
    return !["saved", "saving"].includes(this.state);
  }

  #set(state) {
    this.state = state;
    this.#show(state);
    for (const done of this.#watchers.splice(0)) done();
  }

  async #run() {
    for (let change = this.#queue(); change !== null; change = this.#queue()) {
      if (!this.#stuck) this.#set("saving");
      const outcome = await this.#post(change);
      if (outcome.kind === "ok" || outcome.kind === "refused") {
        this.#failures = 0;
        if (outcome.kind === "ok") this.#accepted(outcome.data);
        else this.#refused(outcome.data);
        this.#set(this.#queue() === null ? "saved" : "saving");
      } else if (BY_PERSON.includes(outcome.kind)) {
        await this.#pause(outcome.kind, PERSON_WAIT);
      } else if (outcome.kind === "later") {
        await this.#pause("later", outcome.wait);
      } else {
        this.#failures += 1;
        await this.#pause("offline", backOff(this.#failures));
      }
    }
    this.#set("saved");
  }

  async #pause(state, ms) {
    this.#set(state);
    const woken = new Promise((done) => {
      this.#wake = done;
    });
    await Promise.race([this.#sleep(ms), woken]);
    this.#wake = null;
  }
}
