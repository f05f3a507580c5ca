/** The attributes of the selected span in the workbench. */

import { AttributeList } from "../editor/attribute_list.js";
import { words } from "../editor/words.js";

export class Attributes {
  #workbench;
  #list;

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.#list = new AttributeList({
      labels: workbench.labels,
      targets: () => (workbench.work.selected ? [workbench.work.selected] : []),
      set: (_span, name, value) => workbench.work.labeling.setAttribute(name, value),
      back: () => workbench.work.focusNote(),
    });
    workbench.on("drawn", () => this.#list.refresh());
    workbench.on("leave", () => this.#list.close());
  }

  actions() {
    return [{ keys: ["F4"], group: words.groups.change, what: words.keys.attributes, run: () => this.open() }];
  }

  /** Open the list for the selected span. False where no span is selected. */
  open() {
    const { work, note } = this.#workbench;
    const span = work.selected;
    if (!span) return false;
    if (!work.labeling.mayChange()) return true;
    work.palette.close();
    const message = this.#list.open(note.layout.box(span.start, span.end));
    if (message) {
      this.#workbench.say(message);
      work.hint(message);
    }
    return true;
  }
}
