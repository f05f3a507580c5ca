/** Every sentence that the review page's script shows or says. */

import { gettext, interpolate, listed, ngettext, pgettext } from "../core/translating.js";
import { whoWhen, words as shared } from "../editor/deciding/words.js";

const WHY = {
  string: () => gettext("The same words are in gold elsewhere in this note."),
  run: (runs) => interpolate(gettext("Found by %(runs)s, and not by this run."), { runs }),
  first: (first) => interpolate(gettext("%(first)s added this, and you did not."), { first }),
  own: (first) => interpolate(gettext("You added this, and %(first)s did not."), { first }),
};
const WHY_TAGS = { string: gettext("same words"), own: gettext("only yours") };
const STATES = {
  open: gettext("proposed"),
  accepted: pgettext("a proposal", "accepted"),
  rejected: pgettext("a proposal", "rejected"),
  added: gettext("in gold"),
  hint: gettext("possible miss"),
};
const percent = (value) => Math.round(value * 100);

export const words = {
  ...shared,
  states: STATES,
  stateTags: {
    open: pgettext("a proposal", "open"),
    accepted: STATES.accepted,
    rejected: STATES.rejected,
    differs: gettext("the first otherwise"),
    planted: gettext("left out"),
  },
  stages: {
    second: (first) =>
      interpolate(gettext("%(first)s reviewed this note first. What you leave stands as %(first)s decided; your close ends it."), { first }),
    blind: (first) =>
      interpolate(
        gettext("%(first)s reviewed this note first. You decide without seeing what %(first)s decided; where you differ, you then see both."),
        { first },
      ),
    settling: (first) =>
      interpolate(gettext("You and %(first)s both reviewed this note. Yours stands where you leave it; your close ends it."), { first }),
    waiting: () => gettext("You had a hand in the first review of this note. It waits for a second reviewer, who must be somebody else."),
  },
  // Planted leaks: one sentence for what had been left out, and what is to be done now.
  leftOut: ({ missed, partly, found }) =>
    [
      missed &&
        interpolate(
          ngettext(
            "%(count)s known identifier had been left out of the proposals to measure what reading misses, and is not marked.",
            "%(count)s known identifiers had been left out of the proposals to measure what reading misses, and are not marked.",
            missed,
          ),
          { count: missed },
        ),
      partly &&
        interpolate(
          ngettext(
            "Of %(count)s known identifier that had been left out only a part is marked.",
            "Of %(count)s known identifiers that had been left out only a part is marked.",
            partly,
          ),
          { count: partly },
        ),
      found &&
        interpolate(
          ngettext("%(count)s more had been left out, and is marked.", "%(count)s more had been left out, and are marked.", found),
          { count: found },
        ),
      missed + partly === 1 ? gettext("Decide on it, then close the note.") : gettext("Decide on each, then close the note."),
    ]
      .filter(Boolean)
      .join(" "),
  leftOutOpen: (count) =>
    interpolate(
      ngettext(
        "%(count)s identifier that had been left out waits for a decision. Accept or reject, then close the note.",
        "%(count)s identifiers that had been left out wait for a decision. Accept or reject, then close the note.",
        count,
      ),
      { count },
    ),
  planted: {
    found: gettext("Had been left out of the proposals, and reading found it."),
    partly: gettext(
      "Had been left out of the proposals; reading marked a part of it. Accept adds it as it was proposed, reject leaves what is marked.",
    ),
    missed: gettext("Had been left out of the proposals, and was not marked when the note was closed."),
    elsewhere: gettext("Had been left out of the proposals; it came into gold by other means, so it measures nothing."),
  },
  differ: (first, count) =>
    interpolate(
      ngettext(
        "You and %(first)s differ in %(count)s place. What you leave stands as yours; = takes %(first)s's. Then Enter closes the note.",
        "You and %(first)s differ in %(count)s places. What you leave stands as yours; = takes %(first)s's. Then Enter closes the note.",
        count,
      ),
      { first, count },
    ),
  firstSaid: (first, state) => interpolate(gettext("%(first)s: %(state)s"), { first, state: STATES[state] }),
  takeFirst: (first) => interpolate(gettext("As %(first)s"), { first }),
  titles: { proposal: gettext("Chosen proposal"), gold: gettext("Chosen gold span"), text: gettext("Selected text"), hint: gettext("Possible miss") },
  none: gettext("This run proposed nothing here. Read the note, mark what it missed, and close it."),
  allDone: gettext("Nothing is open. Read the note once more, as it would be given away, for what was missed; then close it."),
  nothing: gettext("No proposal is chosen. J goes to the next one; a click on one chooses it."),
  closedNote: gettext("This note is reviewed. Reopen it to change a decision."),
  confidence: (value) => (value === null ? "" : interpolate(gettext("confidence %(percent)s %"), { percent: percent(value) })),
  agree: (count, total) => interpolate(ngettext("%(count)s of %(total)s runs:", "%(count)s of %(total)s runs:", total), { count, total }),
  agreeShort: (count, total) => interpolate(gettext("%(at)s of %(total)s"), { at: count, total }),
  backer: (run, confidence) =>
    confidence === null ? run : interpolate(gettext("%(run)s (%(percent)s %)"), { run, percent: percent(confidence) }),
  rivals: gettext("Other readings of this place"),
  settles: gettext("Other readings of this place. Accepting this one rejects them."),
  source: (source) => (source ? interpolate(gettext("by %(source)s"), { source }) : ""),
  facts: (facts) => listed(facts.filter(Boolean)),
  decided: {
    accepted: (by, at) => interpolate(gettext("Accepted by %(who)s"), { who: whoWhen(by, at) }),
    rejected: (by, at) => interpolate(gettext("Rejected by %(who)s"), { who: whoWhen(by, at) }),
  },
  there: gettext("In gold already, so there is nothing to decide"),
  thereSince: (history) => interpolate(gettext("In gold already, so there is nothing to decide: %(history)s"), { history }),
  history: (from, by, at) =>
    listed(
      [
        from && interpolate(gettext("from %(source)s"), { source: from }),
        by && interpolate(gettext("decided by %(who)s"), { who: whoWhen(by, at) }),
      ].filter(Boolean),
    ),
  added: (by, at) => interpolate(gettext("Added by %(who)s"), { who: whoWhen(by, at) }),
  as: gettext("In gold as"),
  hint: gettext("A label's key accepts with that label. Shift+← → moves the right end, Alt+← → the left."),
  hintText: gettext("A label adds it to gold as a span of its own."),
  ends: (label) => interpolate(gettext("Take as the ends of %(label)s"), { label }),
  described: (label, state, quote) => interpolate(gettext("%(label)s, %(state)s: %(quote)s"), { label, state, quote }),
  describedHint: (label, quote, why) => interpolate(gettext("Possible miss, %(label)s: %(quote)s. %(why)s"), { label, quote, why }),
  saidAccepted: (label, quote) => interpolate(gettext("Accepted %(label)s: %(quote)s"), { label, quote }),
  saidRejected: (label, quote) => interpolate(gettext("Rejected %(label)s: %(quote)s"), { label, quote }),
  saidCorrected: (label, quote) => interpolate(gettext("Accepted as %(label)s: %(quote)s"), { label, quote }),
  saidAdded: (label, quote) => interpolate(gettext("Added %(label)s: %(quote)s"), { label, quote }),
  saidThere: (label) => interpolate(gettext("%(label)s is in gold already."), { label }),
  saidRemoved: (label, quote) => interpolate(gettext("Taken out of gold, %(label)s: %(quote)s"), { label, quote }),
  marking: gettext("Choose words with the arrow keys, Shift extends, a label's key adds the span. Esc stops."),
  selectFirst: gettext("Select the right words first, then press E."),
  stillOpen: (count) =>
    interpolate(
      ngettext(
        "%(count)s proposal is still open. Decide first, then close the note.",
        "%(count)s proposals are still open. Decide first, then close the note.",
        count,
      ),
      { count },
    ),
  chooseFirst: gettext("Here runs say different things of one place. Choose between them first, then close the note."),
  restThenMisses: (open, hints) =>
    [
      interpolate(ngettext("%(count)s place may have been missed.", "%(count)s places may have been missed.", hints), { count: hints }),
      interpolate(
        ngettext(
          "Look, then press Shift+Enter again: it accepts the %(count)s proposal still open and closes the note.",
          "Look, then press Shift+Enter again: it accepts the %(count)s proposals still open and closes the note.",
          open,
        ),
        { count: open },
      ),
    ].join(" "),
  closed: gettext("This note's review is closed. Reopen it to change a decision."),
  closedElsewhere: gettext("This note's review was closed meanwhile, by somebody else or in another tab."),
  reopenedElsewhere: gettext("This note's review was reopened meanwhile."),
  elsewhere: gettext("Somebody else decided on this note meanwhile, or you in another tab. What you see now is what is saved."),
  ticked: (count, total) =>
    interpolate(
      ngettext(
        "%(count)s of %(total)s open places on this page ticked. What is not ticked stays open.",
        "%(count)s of %(total)s open places on this page ticked. What is not ticked stays open.",
        total,
      ),
      { count, total },
    ),
  accept: gettext("Accept"),
  reject: gettext("Reject"),
  filtered: gettext("Only some proposals are listed; the note closes when none of all of them is open."),
  hintsLeft: (count) =>
    count ? interpolate(ngettext("%(count)s to look at", "%(count)s to look at", count), { count }) : pgettext("how many are open", "none"),
  why: ({ why, runs }) => WHY[why](listed(runs)),
  whyTag: ({ why, runs }) => WHY_TAGS[why] ?? listed(runs),
  addIt: gettext("Add"),
  notOne: gettext("Not one"),
  hintOther: gettext("Another label's key adds it with that label."),
  remove: gettext("Take out of gold"),
  groups: {
    move: pgettext("what keys are for", "Move"),
    decide: pgettext("what keys are for", "Decide"),
    missed: pgettext("what keys are for", "What was missed"),
    note: pgettext("what keys are for", "Note"),
    labels: pgettext("what keys are for", "Labels: accept with it, or add the selection"),
  },
  keys: {
    ...shared.keys,
    next: gettext("Next proposal"),
    before: gettext("Proposal before"),
    open: gettext("Skip to the next open proposal"),
    pointed: gettext("Reject the proposal under the pointer, whichever is chosen"),
    pointedBy: gettext("Alt+click"),
    rightEnd: gettext("Move the right end of the proposal by a word"),
    leftEnd: gettext("Move its left end by a word"),
    ends: gettext("Take the selected words as its ends"),
    first: gettext("Decide as the first of two reviewers did"),
    mask: gettext("Original text, or masked as it would be given away"),
    mark: gettext("Choose words: arrow keys move, Shift extends, a label's key adds"),
    remove: gettext("Take an added span out of gold"),
    rest: gettext("Accept all that is still open in this note, and close it"),
    nextNote: gettext("Next note"),
    noteBefore: gettext("Note before"),
  },
};
