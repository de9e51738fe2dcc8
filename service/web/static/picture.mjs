// A position's picture in the page: map and panel apart, what may be clicked laid over it, what moved moving.
import { calm } from "./api.mjs";

const SVG = "http://www.w3.org/2000/svg";
/** @type {KeyframeAnimationOptions} */
const MOVING = { duration: 380, easing: "cubic-bezier(.3,.1,.3,1)" };
const DICE = /^(die|party|dungeon|temp)-/;
const PARTS = "[id^=tile-],[id^=thing-],[id^=hero-],[id^=panel-],[id^=die-],[id^=party-],[id^=dungeon-],[id^=temp-],[id^=treasure-]";

/** @param {Element | null} of @returns {{x: number, y: number, rest: string} | null} */
function placed(of) {
  const said = of?.getAttribute("transform") ?? "";
  const found = /translate\(([-\d.]+) ([-\d.]+)\)(.*)/.exec(said);
  return found ? { x: Number(found[1]), y: Number(found[2]), rest: found[3].replace(/rotate\(([-\d.]+)\)/, "rotate($1deg)") } : null;
}

/** A picture, ready to be shown: what takes time is done. @param {string} text @returns {SVGSVGElement} */
export function read(text) {
  const whole = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (new DOMParser().parseFromString(text, "image/svg+xml").documentElement));
  looks(whole);
  return whole;
}

/** What each part looks like, its name apart. @type {WeakMap<Element, Map<string, {at: ReturnType<typeof placed>, look: string}>>} */
const known = new WeakMap();
/** @param {Element} whole */
function looks(whole) {
  let found = known.get(whole);
  if (!found) {
    found = new Map();
    for (const part of whole.querySelectorAll(PARTS)) found.set(part.id, { at: placed(part), look: part.innerHTML.replace(/<title>.*?<\/title>/gs, "") });
    known.set(whole, found);
  }
  return found;
}

export class Picture {
  /** What is shown, as it came. @type {Element | null} */
  #shown = null;
  /** What a click on an element does. @type {WeakMap<Element, () => unknown>} */
  #targets = new WeakMap();

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

  /**
   * Show a picture. `moving`: let what is new, changed or elsewhere be seen to be; `marks`: what else is meant. Where
   * there are marks, even none, what changed keeps one.
   * @param {string | SVGSVGElement} picture @param {boolean} moving @param {string[]} [marks]
   */
  show(picture, moving, marks) {
    const whole = typeof picture === "string" ? read(picture) : picture;
    const before = moving && this.#shown ? looks(this.#shown) : null;
    const spots = before && !calm ? this.#spots() : null;
    this.#shown = whole;
    this.#lay(/** @type {SVGSVGElement} */ (document.importNode(whole, true)));
    const changed = before ? this.#animate(before, looks(whole), spots, Boolean(marks)) : [];
    if (marks) this.#mark([...new Set([...changed, ...marks])]);
  }

  /** Put map and panel where they belong. @param {SVGSVGElement} whole */
  #lay(whole) {
    whole.setAttribute("role", "group");
    this.#style(whole);
    const inner = /** @type {SVGSVGElement | null} */ (whole.querySelector(":scope > svg#map"));
    if (inner) inner.id = "board"; // the page has a map, too
    if (inner && Number(inner.getAttribute("height"))) { // at the end of some games there is nothing on it any more
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
  }

  /** The sheet of styles is the same in every picture: it is kept, not read again. @param {SVGSVGElement} whole */
  #style(whole) {
    const style = whole.querySelector(":scope > style");
    if (!style) return;
    if (!document.head.querySelector("style[data-picture], link[href$='picture.css']")) {
      const kept = document.createElement("style");
      kept.dataset.picture = "";
      kept.textContent = style.textContent;
      document.head.append(kept);
    }
    style.remove();
  }

  /** Where on the screen the dice lie. */
  #spots() {
    /** @type {Map<string, DOMRect>} */
    const spots = new Map();
    for (const part of this.map.querySelectorAll("[id^=party-],[id^=dungeon-],[id^=temp-]")) spots.set(part.id, part.getBoundingClientRect());
    return spots;
  }

  /**
   * Move what moved; what changed.
   * @param {ReturnType<typeof looks>} before @param {ReturnType<typeof looks>} after @param {Map<string, DOMRect> | null} spots
   * @param {boolean} marked What changed keeps a mark, and needs no glow.
   */
  #animate(before, after, spots, marked) {
    /** @type {string[]} */
    const changed = [];
    /** What moves: all is measured before anything does. @type {(() => unknown)[]} */
    const moves = [];
    const dice = [...before.keys()].some((id) => id.startsWith("die-"));
    for (const [id, now] of after) {
      const was = before.get(id), same = was?.look === now.look;
      if (DICE.test(id)) {
        const slides = spots && this.#slide(id, spots.get(id));
        const rolled = id.startsWith("die-") ? !dice || !same : !same && now.look.includes("<use");
        if (slides) moves.push(slides);
        if (rolled && !calm) moves.push(this.#tumble(id));
        if (!same || rolled) changed.push(id);
      } else if (id.startsWith("hero-") && was) {
        if (!was.at || !now.at || (was.at.x === now.at.x && was.at.y === now.at.y)) continue;
        const [from, to] = [was.at, now.at].map((one) => `translate(${one.x}px, ${one.y}px) ${one.rest}`);
        moves.push(() => this.find(id)?.animate([{ transform: from }, { transform: to }], MOVING));
        changed.push(id);
      } else if (!same) {
        const look = was && !id.startsWith("tile-") ? "changed" : "appear";
        if (look === "appear" || !marked) moves.push(() => this.find(id)?.classList.add(look));
        if (!now.look.includes('"#hit"')) changed.push(id); // a cell without a tile shows nothing new
      }
    }
    if (!calm) for (const move of moves) move();
    return changed;
  }

  /** How a die slides from where it lay, if it lay elsewhere. @param {string} id @param {DOMRect | undefined} from */
  #slide(id, from) {
    const part = this.find(id), to = part?.getBoundingClientRect(), scale = part?.getScreenCTM()?.a;
    if (!part || !from || !to || !scale) return null;
    const x = (from.left + from.width / 2 - to.left - to.width / 2) / scale, y = (from.top + from.height / 2 - to.top - to.height / 2) / scale;
    if (Math.abs(x) + Math.abs(y) < 2) return null;
    return () => part.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "translate(0, 0)" }], { ...MOVING, composite: "add" });
  }

  /** How a die rolls on the spot. @param {string} id */
  #tumble(id) {
    const part = this.find(id), box = part?.getBBox();
    if (!part || !box) return () => {};
    const x = box.x + box.width / 2, y = box.y + box.height / 2;
    /** @param {number} up @param {number} turn @param {number} size */
    const thrown = (up, turn, size) => `translate(${x}px, ${y - up}px) rotate(${turn}deg) scale(${size}) translate(${-x}px, ${-y}px)`;
    return () => part.animate([{ transform: thrown(22, -400, 0.6), opacity: 0.2 }, { transform: thrown(0, 20, 1.05), opacity: 1, offset: 0.8 }, { transform: thrown(0, 0, 1) }],
      { duration: 520, easing: "cubic-bezier(.2,.8,.3,1)", composite: "add" });
  }

  /** Lay a frame around what is meant. @param {string[]} ids */
  #mark(ids) {
    const parts = /** @type {SVGGraphicsElement[]} */ (ids.map((id) => this.find(id)).filter(Boolean));
    const boxes = parts.map((part) => part.getBBox()); // all of them before anything changes
    parts.forEach((part, index) => {
      const box = boxes[index], frame = document.createElementNS(SVG, "rect");
      if (!box.width) return;
      const shape = { class: "mark", x: box.x - 2, y: box.y - 2, width: box.width + 4, height: box.height + 4, rx: 8 };
      for (const [name, value] of Object.entries(shape)) frame.setAttribute(name, String(value));
      part.append(frame);
    });
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
    const known = this.#targets.has(part);
    this.#targets.set(part, what);
    if (known) return;
    const box = part.getBBox();
    const cell = /^tile-/.test(id);
    const inset = cell ? 5 : -1.5;
    const ring = document.createElementNS(SVG, "rect");
    const shape = { x: box.x + inset, y: box.y + inset, width: Math.max(box.width - 2 * inset, 1), height: Math.max(box.height - 2 * inset, 1), rx: cell ? 10 : 8, class: cell ? "ring cell" : "ring" };
    for (const [name, value] of Object.entries(shape)) ring.setAttribute(name, String(value));
    part.append(ring);
    const act = () => this.#targets.get(part)?.();
    part.addEventListener("click", (event) => { event.stopPropagation(); act(); });
    part.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); }
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
