// `hx-swap="morph"` for a part that is loaded every second: only differences are changed, so that the focus, selected text and
// the position of a screen reader stay. A classic script, loaded after htmx and idiomorph.
"use strict";

htmx.defineExtension("morph", {
  isInlineSwap: (style) => style === "morph",
  handleSwap(style, target, fragment) {
    if (style !== "morph") return false;
    return Idiomorph.morph(target, fragment.children, {
      morphStyle: "outerHTML",
      callbacks: {
        // Details that the user opened or closed keep their state.
        beforeAttributeUpdated: (name, element) => !(name === "open" && element instanceof HTMLDetailsElement),
      },
    });
  },
});
