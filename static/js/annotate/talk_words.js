/** Every sentence of comments, flags, guidelines and the find bar that the script shows or says. */

import { gettext, interpolate, ngettext, pgettext } from "../core/translating.js";

export const talk = {
  onNote: gettext("On the note"),
  onText: (quote) => interpolate(gettext("On the text “%(quote)s”"), { quote }),
  onSpan: (label, quote) => interpolate(gettext("On %(label)s: “%(quote)s”"), { label, quote }),
  wasAt: (start, end) => interpolate(gettext("On a span that is gone, characters %(start)s–%(end)s"), { start, end }),
  place: gettext("Comment"),
  write: gettext("Your comment:"),
  save: gettext("Save the comment"),
  saveAnswer: pgettext("a button", "Answer"),
  saveEdit: gettext("Save"),
  cancel: gettext("Cancel"),
  answer: pgettext("a button", "Answer"),
  answerTo: (title) => interpolate(gettext("Answer: %(title)s"), { title }),
  edit: gettext("Edit"),
  remove: gettext("Delete"),
  removeSure: gettext("Delete for good?"),
  settle: gettext("Settle"),
  open: pgettext("a button", "Open again"),
  edited: gettext("edited"),
  deleted: gettext("This comment was deleted."),
  settledBy: (name) => interpolate(gettext("settled by %(name)s"), { name }),
  settledOnes: (count) => interpolate(ngettext("%(count)s settled thread", "%(count)s settled threads", count), { count }),
  unsaved: gettext("Save or cancel these words first."),
  about: (name) => interpolate(gettext("reading of %(name)s"), { name }),
  none: gettext("Nothing is said about this note so far."),
  saved: gettext("Comment saved"),
  removed: gettext("Comment deleted"),
  settled: pgettext("what became of a thread", "Settled"),
  opened: pgettext("what became of a thread", "Open again"),
  hasComment: gettext("has a comment"),
  action: gettext("Comment on what is selected, else on the note"),
  troubles: {
    lost: gettext("The server can't be reached. Nothing was lost: your words are still here, try again."),
    later: gettext("The server is taking no more from you for a moment. Nothing was lost: your words are still here, try again."),
    "signed-out": gettext("You are signed out. Sign in again in another tab, then try again; your words are still here."),
    "other-person": gettext("Somebody else is signed in now in this browser. Sign in as yourself in another tab, then try again."),
  },
  unread: gettext("The comments of this note could not be read; they are tried again when you come back to this page."),
};

const flagOf = ({ by, why }) => interpolate(gettext("%(by)s (%(why)s)"), { by, why });

export const flagWords = {
  action: gettext("Flag this note, with a reason"),
  flag: pgettext("a button", "Flag"),
  flagged: gettext("Flagged"),
  change: gettext("Change the flag"),
  raise: gettext("Flag the note"),
  done: gettext("The note is flagged."),
  cleared: gettext("The flag is cleared."),
  others: (flags) => interpolate(gettext("Also flagged: %(flags)s"), { flags: flags.map(flagOf).join("; ") }),
};

export const guideWords = {
  action: gettext("Guidelines beside the text"),
  loading: gettext("Loading…"),
  failed: gettext("The guidelines could not be loaded. Close and open this panel to try again, or open them as a page."),
  undescribed: gettext("This label has no description."),
  opened: gettext("Guidelines opened"),
  closed: gettext("Guidelines closed"),
  news: pgettext("the guidelines", "changed"),
};

export const findWords = {
  action: gettext("Find in this note"),
  next: gettext("Next hit"),
  count: (at, total) => interpolate(gettext("%(at)s of %(total)s"), { at, total }),
  none: gettext("No hits"),
  found: (at, total, around) => interpolate(gettext("Hit %(at)s of %(total)s: %(around)s"), { at, total, around }),
};
