/** The causes of disagreements and of errors: a list whose items get them by keys and clicks. */

import { AnsweredList } from "../editor/deciding/answering.js";
import { words } from "./words.js";

export const KEYS = { AB: "a", AM: "m", D: "d", S: "s" };

/**
 * Bind the keys of a list whose items get causes.
 * @param {HTMLElement} root @param {{items: string, groups: Record<string, string>, what: Record<string, string>}} parts
 * @param {(list: AnsweredList) => import("../editor/keys.js").Action[]} [more] @param {(event: KeyboardEvent, list: AnsweredList) => void} [typing]
 */
export function causeList(root, { items, groups, what }, more = () => [], typing = undefined) {
  const said = ({ added, removed }) => words.causeSaid(added ?? removed, Boolean(added));
  const list = new AnsweredList(root, { items, said });
  const causes = Object.entries(KEYS).map(([kind, key]) => ({ keys: [key], group: groups.cause, what: words.causes[kind], run: list.key(kind) }));
  list.bind([...causes, ...list.keys(groups.move, what), ...more(list)], typing && ((event) => typing(event, list)));
}
