/**
 * What may be shown a frame later than what a gesture is about, so that the gesture's own frame is done sooner: it waits until that
 * frame is made, and then runs all at once.
 */

export class AfterFrame {
  #waiting = new Map(); // name -> function, in the order in which they were put
  #isAsked = false;

  /** Run this after the frame that is being made; what was put under the same name before is dropped. */
  put(name, run) {
    this.#waiting.delete(name);
    this.#waiting.set(name, run);
    if (this.#isAsked) return;
    this.#isAsked = true;
    requestAnimationFrame(() => setTimeout(() => this.#run(), 0));
  }

  #run() {
    this.#isAsked = false;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const run of waiting) run();
  }
}
