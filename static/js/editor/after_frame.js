/**
 * Delay updates that may be shown a frame later than the result of a gesture, so that the gesture's frame is painted sooner. They run
 * together after that frame.
 */

export class AfterFrame {
  #waiting = new Map(); // name -> function, in the order of `put`
  #isAsked = false;

  /** Run a function after the current frame; it replaces a waiting one of the same name. */
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
