/** Every sentence that the workbench's script shows or says. */

import { gettext, interpolate, listed, ngettext, pgettext } from "../core/translating.js";

const SAVE = {
  saved: () => gettext("Saved"),
  saving: () => gettext("Saving…"),
  offline: (count) => interpolate(ngettext("Offline, %(count)s waiting", "Offline, %(count)s waiting", count), { count }),
  later: (count) => interpolate(ngettext("Sent in a moment, %(count)s waiting", "Sent in a moment, %(count)s waiting", count), { count }),
  "signed-out": (count) => interpolate(ngettext("Signed out, %(count)s waiting", "Signed out, %(count)s waiting", count), { count }),
  "other-person": (count) =>
    interpolate(ngettext("Another person is signed in, %(count)s waiting", "Another person is signed in, %(count)s waiting", count), { count }),
  "no-access": (count) => interpolate(ngettext("No access, %(count)s waiting", "No access, %(count)s waiting", count), { count }),
  submitted: (count) =>
    interpolate(ngettext("Submitted elsewhere, %(count)s waiting", "Submitted elsewhere, %(count)s waiting", count), { count }),
};

/** How far the changes of the page are saved. @param {number} waiting how many are not */
export const saveWords = (state, waiting) => SAVE[state]?.(waiting);

/** What is said of an outcome that keeps changes waiting. */
export const TOLD = {
  offline: gettext("The server can't be reached. Your work is kept in this page and is sent when it is back; leave the page open."),
  later: gettext("The server is taking no more changes from you for a moment. Your work is kept in this page and is sent by itself; leave the page open."),
  "signed-out": gettext("You are signed out. Your work is kept in this page: sign in again in another tab and it will be saved."),
  "other-person": gettext(
    "Somebody else is signed in now in this browser. Your work is kept in this page: sign in as yourself in another tab and it will be saved.",
  ),
  "no-access": gettext(
    "This note is not yours to change any more: it was taken back, or you left the project. What is not saved is kept in this page: ask a manager to give you the note again, and it will be saved.",
  ),
  submitted: gettext(
    "This note was submitted in another tab. What is not saved is kept in this page: reopen the note, and it will be saved.",
  ),
};

const spans = (count) => interpolate(ngettext("%(count)s span", "%(count)s spans", count), { count });

export const words = {
  toldSavedAgain: gettext("Everything is saved again."),
  elsewhere: ({ added, removed, changed }) => {
    const changes = [
      added && interpolate(ngettext("%(count)s span added", "%(count)s spans added", added), { count: added }),
      removed && interpolate(ngettext("%(count)s span deleted", "%(count)s spans deleted", removed), { count: removed }),
      changed && interpolate(ngettext("%(count)s span changed", "%(count)s spans changed", changed), { count: changed }),
    ].filter(Boolean);
    return interpolate(gettext("This note was changed in another tab: %(changes)s. What you see now is what is saved."), { changes: listed(changes) });
  },
  refusedMany: (message, count) =>
    count > 1
      ? interpolate(ngettext("%(message)s %(count)s change was not saved.", "%(message)s %(count)s changes were not saved.", count), { message, count })
      : message,
  closed: gettext("This note is submitted. Reopen it to change it."),
  keysChanged: gettext("The keys of your labels have changed."),
  labelsChanged: gettext("The labels of this project have changed. Load the page again to see them."),
  submittedElsewhere: gettext("This note was submitted in another tab."),
  reopenedElsewhere: gettext("This note was reopened in another tab."),
  notSubmitted: gettext("Not submitted: some changes are not saved yet. They are kept in this page."),
  submitLost: gettext("The server can't be reached; the note was not submitted. Try again."),
  reopenLost: gettext("The server can't be reached; the note was not reopened. Try again."),
  reopened: gettext("Reopened. You can change it again."),
  opened: (name, count) =>
    count === 0
      ? interpolate(gettext("%(name)s is open, no spans"), { name })
      : interpolate(ngettext("%(name)s is open, %(count)s span", "%(name)s is open, %(count)s spans", count), { name, count }),
  textOf: (name) => interpolate(gettext("Text of %(name)s"), { name }),
  inNote: (name, message) => interpolate(gettext("In %(name)s: %(message)s"), { name, message }),
  notesDone: (done, total) => interpolate(ngettext("%(done)s of %(total)s done", "%(done)s of %(total)s done", total), { done, total }),
  notesLeft: (count) => interpolate(ngettext("%(count)s left", "%(count)s left", count), { count }),
  moreNotes: (count) => interpolate(ngettext("More than %(count)s note", "More than %(count)s notes", count), { count }),
  refused: (status) => interpolate(gettext("The server refused it (%(status)s)."), { status }),
  submitting: gettext("Submitting…"),
  labelled: (label, quote) => interpolate(gettext("%(label)s: %(quote)s"), { label, quote }),
  relabelled: (label, quote) => interpolate(gettext("Now %(label)s: %(quote)s"), { label, quote }),
  deleted: (label, quote) => interpolate(gettext("Deleted %(label)s: %(quote)s"), { label, quote }),
  resized: (label, quote) => interpolate(gettext("%(label)s is now: %(quote)s"), { label, quote }),
  undone: gettext("Undone"),
  redone: gettext("Done again"),
  there: (label) => interpolate(gettext("%(label)s is there already."), { label }),
  onlySpace: gettext("Only white space is selected."),
  armed: (label) => interpolate(gettext("Every selection becomes %(label)s. Esc stops."), { label }),
  disarmed: gettext("No label is ready any more."),
  span: (label, quote, at, total) => interpolate(gettext("%(label)s: %(quote)s, %(at)s of %(total)s"), { label, quote, at, total }),
  noFurther: gettext("There is no further note this way."),
  noSpans: gettext("There are no spans in this note yet."),
  nothing: gettext("Nothing selected. Select text, or click a span."),
  remove: gettext("Delete"),
  removeKey: pgettext("a key", "Del"),
  offsets: (start, end) => interpolate(gettext("Characters %(start)s–%(end)s"), { start, end }),
  count: (count) => (count === 0 ? gettext("No spans") : spans(count)),
  close: pgettext("a notice", "Close"),
  continued: (label) => interpolate(gettext("%(label)s, continued"), { label }),
  pick: gettext("Spans here"),
  pickHere: gettext("Choose among the spans that lie here"),
  pickHint: (count) => interpolate(ngettext("%(count)s span lies here", "%(count)s spans lie here", count), { count }),
  noSpanHere: gettext("No span lies here."),
  noWider: gettext("There is nothing wider."),
  noNarrower: gettext("There is nothing narrower."),
  noLast: gettext("No label was given yet. Choose one."),
  nothingUntouched: gettext("No date, number or name is left that no span covers. Read on all the same."),
  nothingFurther: gettext("Nothing further to look at. Read on all the same; Ctrl+Enter submits."),
  untouched: gettext("Next to look at"),
  goesOn: gettext("Auto-next is on: after a label's key, the next stretch worth a look is selected."),
  staysThere: gettext("Auto-next is off."),
  chosen: gettext("Press a label's key, or choose one."),
  othersOfLast: (count) => interpolate(ngettext("* labels %(count)s other mention too.", "* labels %(count)s other mentions too.", count), { count }),
  fromTheOtherEnd: gettext("From the other end of the note."),
  relabel: gettext("Relabel"),
  mentions: gettext("Label other mentions"),
  mentionsKey: gettext("Give its label to the other mentions of the same text"),
  allOthers: (count) =>
    count === 1 ? gettext("The other one") : interpolate(ngettext("All %(count)s other", "All %(count)s others", count), { count }),
  noMentions: gettext("This text stands nowhere else without this label."),
  anyCase: gettext("Capital or small, all the same"),
  applyTo: (count) => (count === 0 ? gettext("None ticked") : interpolate(ngettext("Label %(count)s", "Label %(count)s", count), { count })),
  cancel: gettext("Cancel"),
  labelledMany: (label, count) =>
    interpolate(
      ngettext("%(count)s span labelled %(label)s. One undo takes them back.", "%(count)s spans labelled %(label)s. One undo takes them back.", count),
      { label, count },
    ),
  filter: (typed) => interpolate(gettext("Labels with “%(typed)s”"), { typed }),
  noLabelLike: (typed) => interpolate(gettext("No label with “%(typed)s”. Backspace."), { typed }),
  wider: gettext("Wider"),
  narrower: gettext("Narrower"),
  more: gettext("More keys"),
  keys: {
    word: gettext("Next word, word before (as seen)"),
    line: gettext("A line down, a line up"),
    extendLine: gettext("Extend the selection by a line"),
    sentence: gettext("Next sentence or line, the one before"),
    lineEdge: gettext("Start and end of the line; with Shift, extend"),
    noteEdge: gettext("Start and end of the note; with Shift, extend"),
    page: gettext("A screen down, a screen up"),
    untouched: gettext("Next stretch worth a look that no span covers; the one before"),
    nextSpan: gettext("Next span; after the last, on to the buttons"),
    previousSpan: gettext("Previous span"),
    widen: gettext("Wider: from the word to the expression to the line"),
    narrow: gettext("Narrower"),
    escape: gettext("Let go of the selection; again, leave the text"),
    rightEnd: gettext("Extend the selection; of a selected span, move its right end"),
    leftEnd: gettext("Move the left end of the selected text or span"),
    rightCharacter: gettext("The right end, by a character"),
    leftCharacter: gettext("The left end, by a character"),
    repeat: gettext("The last label once more"),
    goOn: gettext("Auto-next on or off: after a label's key, the next stretch is selected by itself"),
    palette: gettext("Choose a label for the selected text or span"),
    remove: gettext("Delete the selected span"),
    undo: gettext("Undo"),
    redo: gettext("Redo"),
    enter: gettext("Choose a label for the selected text; with none selected, submit the note"),
    submit: gettext("Submit the note, whatever is selected"),
    next: gettext("Next note"),
    previous: gettext("Previous note"),
    sheet: gettext("This list"),
  },
  mouse: [
    [gettext("Drag"), gettext("Select text, by words; with Alt, by characters")],
    [gettext("Double click"), gettext("Select the whole date, name or address; again, what is around it")],
    [gettext("Click"), gettext("Select a span; where several lie, choose")],
    [gettext("Drag an end"), gettext("Resize the selected span; Alt takes characters, Esc lets it be")],
    [gettext("Click a label"), gettext("Give it; with nothing selected, give it to all that is selected next")],
  ],
  groups: {
    move: pgettext("what keys are for", "Move"),
    change: pgettext("what keys are for", "Label and change"),
    mouse: pgettext("what keys are for", "Mouse"),
    note: pgettext("what keys are for", "Note"),
    labels: pgettext("what keys are for", "Labels"),
  },
};
