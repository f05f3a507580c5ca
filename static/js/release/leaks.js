/** Decisions about the leaks that auditors found. */

import { AnsweredList } from "../editor/deciding/answering.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const { groups } = words;
const what = { ...words.keys, ...words.leakKeys };
const onward = () => document.querySelector(".pagination [rel=next]") ?? byId("onward");
const list = new AnsweredList(byId("leaks"), { items: ".entry", said: ({ answer }, quote) => words.said[answer](quote), onward });
list.bind([
  { keys: ["r"], group: groups.decide, what: what.replace, run: list.key("replace") },
  { keys: ["a"], group: groups.decide, what: what.accept, run: list.key("accept") },
  { keys: ["x"], group: groups.decide, what: what.dismiss, run: list.key("dismiss") },
  ...list.keys(groups.move, what),
]);
document.documentElement.dataset.leaks = "ready";
