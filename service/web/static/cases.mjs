// What pages say of disputes.
import { element, language, say, words } from "./api.mjs";

/** @param {string} at A moment, in the time of who reads it, with its zone: it may be printed. */
export const time = (at) => new Date(at).toLocaleString(language, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});

/** How long ago. @param {string} since */
function age(since) {
  const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(since)) / 60_000));
  const [count, unit] = minutes < 120 ? [minutes, "minute"] : minutes < 2880 ? [Math.floor(minutes / 60), "hour"] : [Math.floor(minutes / 1440), "day"];
  return new Intl.NumberFormat(language, { style: "unit", unit: String(unit), unitDisplay: "long" }).format(Number(count));
}

/** How far a dispute is. @param {any} one */
export function state(one) {
  if (one.state === "closed" && !one.ruling) return words["case.withdrawn"];
  return [words[`case.${one.state}`], ...(one.ruling ? [words[`ruling.${one.ruling}`]] : [])].join(" · ");
}

/** A dispute in a list. @param {any} one */
export function line(one) {
  const row = element("li"), waits = ["open", "answered"].includes(one.state);
  row.append(element("a", say("dispute", { number: one.event }), { href: `/cases/${one.case_id}` }), element("span", state(one), { class: `state ${one.state}` }),
    element("span", [say("dispute.at", { time: time(one.opened_at) }), ...(waits ? [say("dispute.waits", { time: age(one.opened_at) })] : [])].join(" · "), { class: "dim" }));
  row.append(element("a", words.replay, { href: `/games/${one.game_id}/at/${one.event}` }));
  return row;
}

/** The pictures before and after an event. @param {HTMLElement} box @param {string} game @param {number} event */
export function pair(box, game, event) {
  box.replaceChildren(...[event - 1, event].filter((version) => version > 0).map((version) => {
    const figure = element("figure"), caption = element("figcaption"), title = say("moment", { number: version });
    caption.append(`${words[version < event ? "dispute.before" : "dispute.after"]} · `, element("a", title, { href: `/games/${game}/at/${version}` }));
    figure.append(caption, element("img", "", { src: `/v1/games/${game}/positions/${version}.svg?lang=${language}`, alt: title }));
    return figure;
  }));
}
