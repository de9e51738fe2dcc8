// The auditor's desk: the disputes that wait, those that have waited longest first.
import { by, call, element, toast, words } from "./api.mjs";
import { line } from "./cases.mjs";

let cursor = "";

/** @param {boolean} anew */
async function page(anew) {
  const state = by("state").value;
  const { cases, next } = await call(`/v1/cases?limit=50${state && `&state=${state}`}${anew ? "" : `&cursor=${encodeURIComponent(cursor)}`}`);
  if (anew) by("cases").replaceChildren();
  by("cases").append(...cases.map(line));
  if (!by("cases").children.length) by("cases").append(element("li", words.none, { class: "dim" }));
  cursor = next ?? "";
  by("more").hidden = !next;
}

by("state").addEventListener("change", () => page(true).catch(toast));
by("more").addEventListener("click", () => page(false).catch(toast));
page(true).catch(toast);
