/** Every text that the scripts of the adjudication page show or announce. */

import { words as disagreements } from "../../agreement/words.js";
import { gettext, interpolate, listed, ngettext, pgettext } from "../../core/translating.js";
import { whoWhen, words as shared } from "../../editor/deciding/words.js";
import { words as editor } from "../../editor/words.js";

const CHOICES = {
  majority: gettext("majority version"),
  unanimous: gettext("unanimous version"),
  rule: gettext("unanimous version, by the project's rule"),
  annotator: gettext("one annotator's version"),
  own: gettext("marked by the adjudicator"),
  nothing: gettext("no personal data"),
};
const CONSENSUS = {
  all: pgettext("the annotators", "unanimous"),
  majority: pgettext("the annotators", "majority"),
  split: pgettext("the annotators", "split"),
  one: pgettext("the annotators", "one annotator only"),
};
const STATES = {
  open: pgettext("a location", "open"),
  agreed: "", // The mark beside it says so.
  decided: pgettext("a location", "decided"),
  changed: pgettext("a location", "check again"),
};

export const words = {
  ...shared,
  consensus: CONSENSUS,
  states: STATES,
  stateOf: ({ consensus, state }) => listed([CONSENSUS[consensus], STATES[state]]),
  described: (quote, location) => interpolate(gettext("%(quote)s: %(state)s"), { quote, state: words.stateOf(location) }),
  chip: { nothing: pgettext("at a location", "no span"), split: pgettext("the annotators", "split") },
  of: (count, total, label) => interpolate(gettext("%(count)s of %(total)s %(label)s"), { count, total, label }),
  mostOf: (total, label) => interpolate(gettext("a majority of %(total)s: %(label)s"), { total, label }),
  all: (label) => interpolate(gettext("all %(label)s"), { label }),
  unanimous: (count) => interpolate(ngettext("Accept %(count)s unanimous location", "Accept %(count)s unanimous locations", count), { count }),
  majority: pgettext("a row of spans", "Majority"),
  nothing: pgettext("a button", "No span"),
  outcome: pgettext("a row of spans", "Decided"),
  before: pgettext("a row of spans", "Decided before"),
  none: gettext("no span"),
  keep: gettext("Keep"),
  take: (name) => interpolate(gettext("Accept %(name)s's version"), { name }),
  decided: (choice, annotator, by, at) => {
    const known = CHOICES[choice] ?? choice;
    const what = annotator ? listed([known, annotator]) : known;
    return by
      ? interpolate(gettext("Decided: %(what)s; %(who)s"), { what, who: whoWhen(by, at) })
      : interpolate(gettext("Decided: %(what)s"), { what });
  },
  changed: gettext(
    "An annotator has changed this location since it was decided. The decision is kept until you change it. Press E to keep it.",
  ),
  passes: gettext("All annotators agree here. This project accepts unanimous annotations when you finish."),
  agreed: gettext("All annotators agree here. Press A to accept this location, or * to accept all unanimous locations."),
  tie: gettext("No version has a majority here. Press a digit to accept an annotator's version, or mark your own span."),
  otherAttributes: gettext("All annotators marked the same spans, with different attributes. Press a digit to accept an annotator's version."),
  attributesByMajority: gettext(
    "All annotators marked the same spans, with different attributes. Press A for the attributes that most of them gave, or a digit for an annotator's version.",
  ),
  attributes: editor.attributes,
  empty: gettext("No annotator marked anything in this note. Read the note, mark what is missing, then finish."),
  allDone: gettext("All disagreements are decided. Read the note once more for missed identifiers, then finish."),
  pick: gettext("No disagreement is selected. Press J for the next one, or click one."),
  finishedNote: gettext("This note is adjudicated. Reopen it to change a decision."),
  notReady: gettext("Fewer than two annotators have currently submitted this note, so you can't decide anything. Earlier decisions are kept."),
  missing: (names) =>
    interpolate(
      ngettext(
        "%(names)s has not submitted this note. Their annotations are left out until they submit.",
        "%(names)s have not submitted this note. Their annotations are left out until they submit.",
        names.length,
      ),
      { names: listed(names) },
    ),
  text: gettext("Selected text"),
  hintText: gettext("Press a label's key or click a label to mark the text. While text is selected, all keys choose labels. Esc clears the selection."),
  said: {
    majority: (quote) => interpolate(gettext("Accepted the majority version: %(quote)s"), { quote }),
    annotator: (name, quote) => interpolate(gettext("Accepted %(name)s's version: %(quote)s"), { name, quote }),
    nothing: (quote) => interpolate(gettext("No personal data: %(quote)s"), { quote }),
    keep: (quote) => interpolate(gettext("Kept: %(quote)s"), { quote }),
    own: (label, quote) => interpolate(gettext("%(label)s: %(quote)s"), { label, quote }),
    drop: (label, quote) => interpolate(gettext("Removed %(label)s: %(quote)s"), { label, quote }),
    unanimous: (count) => interpolate(ngettext("%(count)s location accepted", "%(count)s locations accepted", count), { count }),
    cause: ({ kind, present }) => disagreements.causeSaid(kind, present),
  },
  causes: disagreements.causes,
  marking: gettext("Select text with the arrow keys; Shift extends. A label's key marks the text. Esc stops."),
  stillOpen: (count) =>
    interpolate(
      ngettext(
        "%(count)s disagreement is still open. Resolve it before you finish.",
        "%(count)s disagreements are still open. Resolve them before you finish.",
        count,
      ),
      { count },
    ),
  elsewhere: gettext("This note was changed by another adjudicator, or by you in another tab. You now see the saved state."),
  annotationSets: gettext(
    "An annotator submitted or reopened this note. Your decisions are kept. Locations that changed are marked “check again”.",
  ),
  finishedElsewhere: gettext("The adjudication of this note was finished by someone else or in another tab."),
  reopenedElsewhere: gettext("The adjudication of this note was reopened."),
  remove: (label) => interpolate(gettext("Remove %(label)s"), { label }),
  why: gettext("Why do they differ? A abbreviation, M ambiguity, D debatable, S scarcity. Esc changes nothing."),
  groups: {
    move: disagreements.groups.move,
    decide: pgettext("what keys are for", "Decide"),
    own: pgettext("what keys are for", "Your own span"),
    note: pgettext("what keys are for", "Note"),
    labels: pgettext("what keys are for", "Labels, while text is selected"),
  },
  keys: {
    ...shared.keys,
    next: disagreements.keys.next,
    before: disagreements.keys.before,
    open: gettext("Next open disagreement"),
    annotator: gettext("Accept the version of annotator 1, 2, …"),
    majority: gettext("Accept the majority or unanimous version"),
    unanimous: gettext("Accept all unanimous locations"),
    nothing: gettext("No personal data here"),
    keep: gettext("Check again: keep the earlier decision"),
    why: gettext("Add or remove a cause: then A, M, D or S"),
    mark: gettext("Select the text of the disagreement; then a label's key"),
    extend: gettext("Extend or shorten the selection"),
    drop: gettext("Remove the decided span"),
    nextNote: gettext("Next note, after this one is finished"),
  },
};
