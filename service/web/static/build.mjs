// Actions built from the API's `choices`: things are picked in the picture or in a form, as many as its fields take.
import { button, element, say, words } from "./api.mjs";

/** What is picked: a thing by its key and, where it was picked in a form, for which field.
 * @typedef {{key: string, where: string}} Pick */

/** The things that may go into a field: key -> id, label, element of the picture.
 * @param {any} field @returns {Map<string, {id: string | number, label: string, target: string}>} */
const things = (field) => new Map(field.ids.map((/** @type {string | number} */ id, /** @type {number} */ i) =>
  [field.targets[i] ? `#${field.targets[i]}` : String(id), { id, label: field.labels[i], target: field.targets[i] }]));

/** Whatever was picked, in the fields of a choice: field -> keys; null: it has no place for all of it.
 * @param {any} choice @param {Pick[]} picks */
export function placed(choice, picks) {
  const names = Object.keys(choice.fields).sort((a, b) => Number(choice.fields[b].single) - Number(choice.fields[a].single));
  /** @type {Record<string, string[]>} */
  const filled = Object.fromEntries(names.map((name) => [name, []]));
  for (const { key, where } of picks) {
    const name = names.find((one) => {
      const field = choice.fields[one];
      return (!where || where === `${choice.type}/${one}`) && things(field).has(key)
        && filled[one].length < field.maximum && filled[one].filter((other) => other === key).length < field.repeats;
    });
    if (name === undefined) return null;
    filled[name].push(key);
  }
  return filled;
}

export class Builder {
  /**
   * @param {{forms: HTMLElement, picked: HTMLElement, quick: HTMLElement}} parts
   * @param {import("./picture.mjs").Picture} picture @param {(action: any) => unknown} act
   */
  constructor(parts, picture, act) {
    this.parts = parts;
    this.picture = picture;
    this.act = act;
    /** @type {any[]} */
    this.choices = [];
    /** @type {any[]} */
    this.actions = [];
    /** @type {Pick[]} */
    this.picks = [];
    /** @type {Set<string>} */
    this.opened = new Set();
    this.version = -1;
  }

  /** What may be built and done now. What was picked before anything happened stays. @param {any} may */
  show(may) {
    if (may.version !== this.version) this.picks = [];
    this.version = may.version;
    this.choices = may.choices;
    this.actions = may.actions;
    this.parts.forms.replaceChildren();
    for (const [target, label] of this.#pieces()) this.picture.target(target, label, true, () => this.#toggle(`#${target}`, ""));
    this.#tell();
  }

  /** Is the element of the picture something to pick, or does it hold such things? @param {string} target */
  holds(target) {
    const part = this.picture.find(target);
    return [...this.#pieces().keys()].some((piece) => piece === target || part?.contains(this.picture.find(piece)));
  }

  /** Element of the picture -> label, of everything that may be picked there. */
  #pieces() {
    /** @type {Map<string, string>} */
    const found = new Map();
    for (const choice of this.choices) {
      for (const field of Object.values(choice.fields)) {
        for (const { target, label } of things(field).values()) if (target && this.picture.find(target)) found.set(target, label);
      }
    }
    return found;
  }

  /** Pick a thing, or once more where it may be, or no more. @param {string} key @param {string} where */
  #toggle(key, where) {
    const same = (/** @type {Pick} */ pick) => pick.key === key && (!where || !pick.where || pick.where === where);
    const fits = (/** @type {Pick[]} */ picks) => this.choices.some((choice) => placed(choice, picks));
    const more = [...this.picks, { key, where }];
    const held = this.picks.some(same);
    const again = this.choices.some((choice) => Object.values(choice.fields).some((field) => field.repeats > 1 && things(field).has(key)));
    if (fits(more) && (!held || again)) this.picks = more;
    else this.picks = held ? this.picks.filter((pick) => !same(pick)) : [{ key, where }];
    this.#tell();
  }

  #tell() {
    const { forms, picked, quick } = this.parts;
    const focused = document.activeElement instanceof HTMLElement && forms.contains(document.activeElement) ? document.activeElement.dataset.pick : "";
    for (const target of this.#pieces().keys()) this.picture.press(target, this.picks.some((pick) => pick.key === `#${target}`));
    const labels = new Map(this.choices.flatMap((choice) => Object.values(choice.fields).flatMap((field) => [...things(field)].map(([key, { label }]) => [key, label]))));
    picked.textContent = this.picks.length ? say("picked", { what: this.picks.map(({ key }) => labels.get(key)).join(", ") }) : this.choices.length ? words.pick : "";
    const whole = this.choices.map((choice) => this.#whole(choice)).filter(Boolean);
    const buttons = whole.map(({ label, action }) => button(label, () => this.act(action), "main"));
    for (const one of this.#ready()) buttons.push(button(one.label, () => this.act(one.action)));
    if (this.picks.length) buttons.push(button(words["pick.clear"], () => { this.picks = []; this.#tell(); }, "quiet"));
    quick.replaceChildren(...(this.choices.length ? buttons : []));
    forms.replaceChildren(...this.choices.map((choice) => this.#form(choice)));
    if (focused) /** @type {HTMLElement | null} */ (forms.querySelector(`[data-pick="${CSS.escape(focused)}"]`))?.focus();
  }

  /** The action of a choice, where what is picked makes it up. @param {any} choice @returns {any} */
  #whole(choice) {
    const filled = this.picks.length ? placed(choice, this.picks) : null;
    if (!filled || Object.entries(choice.fields).some(([name, field]) => filled[name].length < field.minimum)) return null;
    /** @type {Record<string, any>} */
    const action = { type: choice.type };
    const told = [];
    for (const [name, field] of Object.entries(choice.fields)) {
      const chosen = filled[name].map((key) => things(field).get(key));
      action[name] = field.single ? chosen[0]?.id : chosen.map((one) => one?.id);
      if (chosen.length) told.push(chosen.map((one) => one?.label).join(", "));
    }
    return { action, label: say("pick.whole", { what: choice.label, how: told.join(" → ") }) };
  }

  /** What is ready made of that which is picked: one click. */
  #ready() {
    const ids = this.picks.map(({ key }) => this.choices.flatMap((choice) => Object.values(choice.fields)).map((field) => things(field).get(key)?.id).find((id) => id !== undefined));
    return this.actions.filter(({ action }) => {
      const { type, ...args } = action;
      const named = Object.values(args).flat();
      return named.length && ids.every((id) => named.includes(id));
    });
  }

  /** @param {any} choice */
  #form(choice) {
    const filled = placed(choice, this.picks);
    const box = element("details", "", { class: "form", "data-type": choice.type });
    box.open = this.opened.has(choice.type) || this.choices.length === 1 || Boolean(this.picks.length && filled);
    const title = element("summary", choice.label);
    title.addEventListener("click", () => (box.open ? this.opened.delete(choice.type) : this.opened.add(choice.type)));
    box.append(title);
    for (const [name, field] of Object.entries(choice.fields)) {
      const many = field.minimum === field.maximum ? `${field.minimum}` : `${field.minimum}–${field.maximum}`;
      const group = element("fieldset");
      group.append(element("legend", `${field.label} (${many})`));
      for (const [key, { label }] of things(field)) {
        const count = filled?.[name].filter((one) => one === key).length ?? 0;
        const where = `${choice.type}/${name}`;
        const made = button(count > 1 ? `${label} ×${count}` : label, () => {
          this.opened.add(choice.type); // where somebody picks stays open, and keeps the focus
          this.#toggle(key, where);
        }, "pick");
        made.setAttribute("aria-pressed", String(count > 0));
        made.dataset.pick = `${where}/${key}`;
        group.append(made);
      }
      box.append(group);
    }
    return box;
  }
}
