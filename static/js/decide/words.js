/** Sentences that the pages of review and of adjudication share. */

const TIME = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

export const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;
export const when = (at) => (at ? `, ${TIME.format(new Date(at))}` : "");

export const words = {
  left: (count, total) => (total === 0 ? "none" : count === 0 ? `${total}, none open` : `${count} of ${total} open`),
  place: (at, total) => `${at} of ${total}`,
  you: "you",
  asItWas: "It is so already.",
  undone: "Taken back",
  redone: "Decided again",
  onlySpace: "Only white space is selected.",
  notClosed: "Not closed: some decisions are not saved yet. They are kept in this page.",
  closeLost: "The server can't be reached; the note was not closed. Try again.",
  letGo: "Let go",
};
