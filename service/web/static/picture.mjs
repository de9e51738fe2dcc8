// A position's picture in the page: map and panel apart, what may be clicked laid over it, what moved moving.
import { calm } from "./api.mjs";

const SVG = "http://www.w3.org/2000/svg";

/** @param {Element | null} of @returns {{x: number, y: number, rest: string} | null} */
function placed(of) {
  const said = of?.getAttribute("transform") ?? "";
  const found = /translate\(([-\d.]+) ([-\d.]+)\)(.*)/.exec(said);
  return found ? { x: Number(found[1]), y: Number(found[2]), rest: found[3].replace(/rotate\(([-\d.]+)\)/, "rotate($1deg)") } : null;
}

export class Picture {
  /** @param {HTMLElement} map @param {HTMLElement} panel */
  constructor(map, panel) {
    this.map = map;
    this.panel = panel;
  }

  /** @param {string} id @returns {SVGGraphicsElement | null} */
  find(id) {
    const selector = `#${CSS.escape(id)}`;
    return this.map.querySelector(selector) ?? this.panel.querySelector(selector);
  }

  /** Show a picture. `moving`: let what is new, changed or elsewhere be seen to be. @param {string} text @param {boolean} moving */
  show(text, moving) {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const whole = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (document.importNode(parsed, true)));
    whole.setAttribute("role", "group");
    const before = moving ? this.#snapshot() : null;
    const inner = /** @type {SVGSVGElement | null} */ (whole.querySelector(":scope > svg#map"));
    if (inner) {
      inner.id = "board";
      const [, , width, height] = (whole.getAttribute("viewBox") ?? "0 0 360 360").split(" ").map(Number);
      const cut = Number(inner.getAttribute("y")) + Number(inner.getAttribute("height")) + 4;
      const board = /** @type {SVGSVGElement} */ (whole.cloneNode(false));
      board.removeAttribute("aria-labelledby");
      board.setAttribute("viewBox", `0 0 ${width} ${cut}`);
      const sheet = document.createElementNS(SVG, "rect");
      for (const [name, value] of [["class", "sheet"], ["width", String(width)], ["height", String(cut)]]) sheet.setAttribute(name, value);
      board.append(sheet, inner);
      whole.setAttribute("viewBox", `0 ${cut} ${width} ${height - cut}`);
      this.map.replaceChildren(board);
      this.panel.replaceChildren(whole);
    } else {
      this.map.replaceChildren(whole);
      this.panel.replaceChildren();
    }
    if (before) this.#animate(before);
  }

  #parts() {
    return [...this.map.querySelectorAll("[id^=tile-], [id^=thing-], [id^=hero-]"), ...this.panel.querySelectorAll("[id^=panel-], [id^=die-]")];
  }

  #snapshot() {
    /** @type {Map<string, {at: ReturnType<typeof placed>, look: string}>} */
    const seen = new Map();
    for (const part of this.#parts()) {
      const copy = /** @type {Element} */ (part.cloneNode(true));
      for (const ring of copy.querySelectorAll(".ring")) ring.remove();
      seen.set(part.id, { at: placed(part), look: copy.innerHTML });
    }
    return seen;
  }

  /** @param {Map<string, {at: ReturnType<typeof placed>, look: string}>} before */
  #animate(before) {
    if (calm || !before.size) return;
    const dice = [...before.keys()].some((id) => id.startsWith("die-"));
    for (const part of this.#parts()) {
      const was = before.get(part.id);
      const now = placed(part);
      if (part.id.startsWith("die-")) {
        if (!dice || was?.look !== part.innerHTML) part.classList.add("tumble");
      } else if (!was) part.classList.add("appear");
      else if (part.id.startsWith("hero-")) {
        if (was.at && now && (was.at.x !== now.x || was.at.y !== now.y)) {
          const [from, to] = [was.at, now].map((one) => `translate(${one.x}px, ${one.y}px) ${one.rest}`);
          part.animate([{ transform: from }, { transform: to }], { duration: 380, easing: "cubic-bezier(.3,.1,.3,1)" });
        }
      } else if (part.id.startsWith("panel-") ? was.look !== part.innerHTML : part.id.startsWith("thing-") && was.look !== part.innerHTML) {
        part.classList.add("changed");
      } else if (part.id.startsWith("tile-") && this.#kind(was.look) !== this.#kind(part.innerHTML)) part.classList.add("appear");
    }
  }

  /** What is drawn of a tile, without its name. @param {string} look */
  #kind(look) {
    return look.replace(/<title>.*?<\/title>/s, "");
  }

  /**
   * Make an element something to click, by pointer and keyboard.
   * @param {string} id @param {string} label @param {boolean} legal @param {() => unknown} what
   * @param {boolean} [through] Does the pointer go through to what is under it?
   */
  target(id, label, legal, what, through) {
    const part = this.find(id);
    if (!part) return;
    if (through) part.classList.add("through");
    part.classList.add(legal ? "target" : "refused-target");
    for (const [name, value] of [["role", "button"], ["tabindex", "0"], ["aria-label", label]]) part.setAttribute(name, value);
    if (!legal) part.setAttribute("aria-disabled", "true");
    const box = part.getBBox();
    const cell = /^tile-/.test(id);
    const inset = cell ? 5 : -1.5;
    const ring = document.createElementNS(SVG, "rect");
    const shape = { x: box.x + inset, y: box.y + inset, width: Math.max(box.width - 2 * inset, 1), height: Math.max(box.height - 2 * inset, 1), rx: cell ? 10 : 8, class: cell ? "ring cell" : "ring" };
    for (const [name, value] of Object.entries(shape)) ring.setAttribute(name, String(value));
    part.append(ring);
    part.addEventListener("click", (event) => { event.stopPropagation(); what(); });
    part.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); what(); }
    });
  }

  /** Show a target as picked, or not. @param {string} id @param {boolean} picked */
  press(id, picked) {
    const part = this.find(id);
    part?.setAttribute("aria-pressed", String(picked));
    part?.classList.toggle("picked", picked);
  }

  /** The tile that something stands on. @param {string} id */
  under(id) {
    const at = id.startsWith("tile-") ? null : placed(this.map.querySelector(`#${CSS.escape(id)}`));
    return at && `tile-${Math.floor(at.x / 100)}-${Math.floor(at.y / 100)}`;
  }

  /** The target beside a hero in a direction, by the arrow's name. @param {number | null} seat @param {string} arrow */
  beside(seat, arrow) {
    const at = placed(this.find(`hero-${seat}`));
    const step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[arrow];
    return at && step ? this.find(`tile-${Math.floor(at.x / 100) + step[0]}-${Math.floor(at.y / 100) + step[1]}`) : null;
  }
}
