/** Flag the note for a reviewer, with a reason. */

import { byId } from "../editor/dom.js";
import { flagWords as words } from "./talk_words.js";
import { words as pageWords } from "../editor/words.js";

export class Flags {
  #workbench;
  #talk;
  #dialog = byId("flag-dialog");
  #form = byId("flag-form");

  /** @param {import("./workbench.js").Workbench} workbench @param {import("./talk.js").Talk} talk */
  constructor(workbench, talk) {
    this.#workbench = workbench;
    this.#talk = talk;
    talk.on(() => this.#show());
    workbench.on("leave", () => this.#dialog.close());
    byId("show-flag").addEventListener("click", () => this.open());
    byId("flag-cancel").addEventListener("click", () => this.#dialog.close());
    byId("flag-clear").addEventListener("click", () => this.#send({ act: "clear", flag: this.#own.id }, words.cleared));
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { reason, text } = this.#form.elements;
      this.#send({ act: "raise", reason: reason.value, text: text.value }, words.done);
    });
    this.#dialog.addEventListener("close", () => this.#workbench.work.focusNote());
  }

  actions() {
    return [{ keys: ["f"], group: pageWords.groups.note, what: words.action, run: () => this.open() }];
  }

  get #own() {
    return this.#talk.flags.find(({ own }) => own) ?? null;
  }

  open() {
    if (this.#dialog.open) return;
    const own = this.#own;
    this.#form.reset();
    if (own) {
      this.#form.elements.reason.value = own.reason;
      this.#form.elements.text.value = own.text;
    }
    const others = this.#talk.flags.filter((flag) => !flag.own);
    byId("flag-others").textContent = others.length ? words.others(others) : "";
    byId("flag-error").textContent = "";
    byId("flag-clear").hidden = !own;
    byId("flag-raise").textContent = own ? words.change : words.raise;
    this.#dialog.showModal();
    (this.#form.querySelector("[name=reason]:checked") ?? this.#form.querySelector("[name=reason]")).focus();
  }

  #show() {
    const own = this.#own;
    const button = byId("show-flag");
    const shown = own ?? this.#talk.flags[0] ?? null;
    button.classList.toggle("is-flagged", shown !== null);
    button.title = shown ? shown.why : "";
    byId("flag-word").textContent = shown ? words.flagged : words.flag;
  }

  async #send(body, done) {
    if (this.#form.dataset.sending) return;
    this.#form.dataset.sending = "yes";
    const { note } = this.#workbench;
    const trouble = await this.#talk.post(note.urls.flag, body);
    delete this.#form.dataset.sending;
    byId("flag-error").textContent = trouble ?? "";
    if (trouble) return;
    this.#dialog.close();
    if (note === this.#workbench.note) {
      note.data.flagged = this.#talk.flags.length > 0;
      this.#workbench.emit("flagged");
    }
    this.#workbench.say(done);
  }
}
