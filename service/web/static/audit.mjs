// The audit: what the server's check of the record found, each part in words.
import { by, call, element, say, toast, words } from "./api.mjs";

const id = document.body.dataset.game;
const LOOK = /** @type {Record<string, string>} */ ({ VERIFIED: "verified", "VERIFIED WITH LIMITS": "verified", REFUTED: "refuted" });

/** @param {number} event */
const moment = (event) => element("a", say("moment", { number: event }), { href: `/games/${id}/at/${event}` });

try {
  const found = await call(`/v1/games/${id}/audit`);
  const head = element("h2", found.words, { class: `verdict ${LOOK[found.verdict] ?? ""}` });
  const said = element("p", [say("audit.events", { count: found.events }), words[`verdict.${found.verdict}`]].filter(Boolean).join(" "));
  by("verdict").replaceChildren(head, said);
  if (found.event !== null) by("verdict").append(moment(found.event));
  for (const check of found.checks) {
    const row = element("li", "", { class: "card" });
    row.append(element("span", words[`result.${check.result}`] ?? check.result, { class: `result ${check.result}` }), element("strong", check.name), element("p", check.detail, { class: "dim" }));
    if (check.event !== null) { const line = element("p"); line.append(moment(check.event)); row.append(line); }
    by("checks").append(row);
  }
  by("limits").hidden = !found.limits.length;
  by("limits").querySelector("ul").replaceChildren(...found.limits.map((/** @type {any} */ one) => element("li", one.text)));
} catch (error) { toast(error); }
