// The rules' page: a paragraph keeps its place when the language is changed, and a link may name both in either order.

/** `#2.3.8?lang=fr`, where the language was put behind the paragraph, leads to `?lang=fr#2.3.8`. */
const [, paragraph, language] = /^#([\w.]+)\?lang=(\w+)$/.exec(location.hash) ?? [];
if (language) location.replace(`${location.pathname}?lang=${language}#${paragraph}`);

/** The links to other languages lead to the paragraph that is looked at. */
function follow() {
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".languages a"))) {
    link.hash = location.hash;
  }
}

addEventListener("hashchange", follow);
follow();
