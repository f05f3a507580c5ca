/**
 * Translations by Django's JavaScript catalog. With more than one language, the page loads the catalog, `globalThis.django`,
 * before its modules; most strings are looked up once, when their module loads. Without a catalog the English source is shown.
 * `manage.py makemessages -d djangojs` finds the strings that are literals in these calls.
 */

const { django } = globalThis;

/** The language of the page, for the browser's formats. */
export const locale = globalThis.document?.documentElement.lang || "en";

export const gettext = django?.gettext ?? ((text) => text);
export const ngettext = django?.ngettext ?? ((one, many, count) => (count === 1 ? one : many));
export const pgettext = django?.pgettext ?? ((_context, text) => text);

/** Replace the named placeholders, `%(name)s`, of a text. Values are not searched for placeholders: they may be note text. */
export const interpolate = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => String(values[name]));

let lists;
/** Format a list as the language does, for example "a, b, c". */
export function listed(items) {
  lists ??= new Intl.ListFormat(locale, { type: "unit", style: "short" });
  return lists.format(items);
}
