// The linter of the browser code and of its tests; `make lint` runs it where Node is. Only errors: how code is laid out is no rule's business.
import js from "@eslint/js";
import globals from "globals";

const rules = {
  ...js.configs.recommended.rules,
  "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
  "array-callback-return": "error",
  "consistent-return": "error",
  "default-case-last": "error",
  eqeqeq: "error",
  "no-console": "error",
  "no-constructor-return": "error",
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-new-func": "error",
  "no-promise-executor-return": "error",
  "no-script-url": "error",
  "no-self-compare": "error",
  "no-template-curly-in-string": "error",
  "no-unmodified-loop-condition": "error",
  "no-unreachable-loop": "error",
  "no-useless-assignment": "error",
  "no-useless-rename": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "prefer-const": "error",
  // Words of a note become markup nowhere but in one escaping function, which sets `textContent`.
  "no-restricted-properties": [
    "error",
    ...["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({ property, message: "Set textContent, or build elements." })),
    { object: "document", property: "write" },
  ],
};

export default [
  { ignores: ["**/vendor/**", "**/*.min.js", "node_modules/**", "build/**", "staticfiles/**", "var/**", ".venv/**"] },
  {
    files: ["static/js/**/*.js"],
    rules,
    languageOptions: { ecmaVersion: 2025, sourceType: "module", globals: { ...globals.browser } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
  },
  {
    files: ["static/js/core/base.js", "static/js/core/morphing.js"],
    languageOptions: { sourceType: "script", globals: { ...globals.browser, htmx: "readonly", Idiomorph: "readonly" } },
  },
  {
    files: ["static/js/audio/*.js"],
    languageOptions: { globals: { ...globals.browser, htmx: "readonly", WaveSurfer: "readonly" } },
  },
  {
    files: ["tests/**/*.mjs", "fixtures/**/*.mjs", "*.config.js"],
    rules: { ...rules, "no-console": "off", "no-promise-executor-return": "off" },
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: { ...globals.node } },
  },
];
