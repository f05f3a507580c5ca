/**
 * Words in the language of the page, in Django's own way. Where there is more than one language the page loads Django's JavaScript
 * catalogue, `globalThis.django`, before its modules: most words are looked up once, while their module is read. Without it the
 * English source is what is said. `manage.py makemessages -d djangojs` finds the strings that are written out in these calls.
 */

const { django } = globalThis;

/** The language of the page, for the browser's own formats; plain English has its dates as the server writes them, day first. */
export const locale = ((language) => (!language || language === "en" ? "en-GB" : language))(globalThis.document?.documentElement.lang);

export const gettext = django?.gettext ?? ((text) => text);
export const ngettext = django?.ngettext ?? ((one, many, count) => (count === 1 ? one : many));
export const pgettext = django?.pgettext ?? ((_context, text) => text);

/** The text with its named places, `%(name)s`, filled in. A value is never looked at again: it may be words of a note. */
export const interpolate = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => String(values[name]));

let lists;
/** "a, b, c", as the language writes a list. */
export function listed(items) {
  lists ??= new Intl.ListFormat(locale, { type: "unit", style: "short" });
  return lists.format(items);
}
