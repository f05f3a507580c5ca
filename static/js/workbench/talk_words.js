/** Every sentence of comments, flags, guidelines and the find bar that the script shows or says. */

const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;

export const talk = {
  onNote: "On the note",
  onText: (quote) => `On the text “${quote}”`,
  onSpan: (label, quote) => `On ${label}: “${quote}”`,
  wasAt: (start, end) => `On a span that is gone, characters ${start}–${end}`,
  place: "Comment",
  write: "Your comment",
  save: "Save the comment",
  saveAnswer: "Answer",
  saveEdit: "Save",
  cancel: "Cancel",
  answer: "Answer",
  edit: "Edit",
  remove: "Delete",
  removeSure: "Delete for good?",
  settle: "Settle",
  open: "Open again",
  edited: "edited",
  deleted: "This comment was deleted.",
  settledBy: (name) => `settled by ${name}`,
  settledOnes: (count) => plural(count, "settled thread", "settled threads"),
  unsaved: "Save or cancel these words first.",
  about: (name) => `reading of ${name}`,
  none: "Nothing is said about this note so far.",
  saved: "Comment saved",
  removed: "Comment deleted",
  settled: "Settled",
  opened: "Open again",
  hasComment: "has a comment",
  action: "Comment on what is selected, else on the note",
  troubles: {
    lost: "The server can't be reached. Nothing was lost: your words are still here, try again.",
    "signed-out": "You are signed out. Sign in again in another tab, then try again; your words are still here.",
    "other-person": "Somebody else is signed in now in this browser. Sign in as yourself in another tab, then try again.",
  },
  unread: "The comments of this note could not be read; they are tried again when you come back to this page.",
};

export const flagWords = {
  action: "Flag this note, with a reason",
  flag: "Flag",
  flagged: "Flagged",
  change: "Change the flag",
  raise: "Flag the note",
  done: "The note is flagged.",
  cleared: "The flag is cleared.",
  others: (flags) => `Also flagged: ${flags.map(({ by, why }) => `${by} (${why})`).join("; ")}`,
};

export const guideWords = {
  action: "Guidelines beside the text",
  loading: "Loading…",
  failed: "The guidelines could not be loaded. Close and open this panel to try again, or open them as a page.",
  undescribed: "This label has no description.",
  opened: "Guidelines opened",
  closed: "Guidelines closed",
  news: "changed",
};

export const findWords = {
  action: "Find in this note",
  next: "Next hit",
  count: (at, of) => `${at} of ${of}`,
  none: "No hits",
  found: (at, of, around) => `Hit ${at} of ${of}: ${around}`,
};
