/** The causes of errors. */

import { causeList } from "../agreement/causes.js";
import { words } from "./words.js";

const list = document.querySelector(".entries");
if (list) {
  causeList(list, { items: ".entry", groups: words.groups, what: words.keys });
  document.documentElement.dataset.errors = "ready";
}
