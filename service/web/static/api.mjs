// The public API as the pages call it: cookie, CSRF header, words of the page.

export const words = JSON.parse(document.body.dataset.words ?? "{}");
export const language = document.documentElement.lang;
const meta = /** @type {HTMLMetaElement|null} */ (document.querySelector("meta[name=csrf]"));
let csrf = meta?.content ?? "";

/** @param {string} name @param {Record<string,string|number>} [facts] */
export const say = (name, facts = {}) => words[name].replace(/\{(\w+)\}/g, (/** @type {string} */ _, /** @type {string} */ key) => String(facts[key]));

/** @param {string} id @returns {any} */
export const by = (id) => document.getElementById(id);

/** @param {string} value */
export function useCsrf(value) { csrf = value; }
export const known = () => csrf !== "";

/** What the API refused, with its answer. */
export class Refused extends Error {
  /** @param {any} problem */
  constructor(problem) { super(problem.reason ?? problem.detail ?? problem.title ?? words.failed); this.problem = problem; }
}

/** @param {string} path @param {any} [body] @param {Record<string,string>} [headers] @returns {Promise<any>} */
export async function call(path, body, headers = {}) {
  const address = path + (path.includes("?") ? "&" : "?") + "lang=" + language;
  const answer = await fetch(address, body === undefined ? { headers } : {
    method: "POST", body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", ...(csrf ? { "X-CSRF-Token": csrf } : {}), ...headers },
  });
  const told = (answer.headers.get("Content-Type") ?? "").includes("json") ? await answer.json() : await answer.text();
  if (!answer.ok) throw new Refused(told);
  return told;
}

let fading = 0;
/** @param {unknown} what */
export function toast(what) {
  const box = by("toast");
  box.textContent = what instanceof Error ? what.message : String(what);
  box.hidden = false;
  clearTimeout(fading);
  fading = window.setTimeout(() => { box.hidden = true; }, 6000);
}

/** @param {string} svg */
export function drawing(svg) {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const picture = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (document.importNode(parsed, true)));
  picture.setAttribute("role", "group");
  return picture;
}

/** @param {string} tag @param {string} text */
export function element(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}
