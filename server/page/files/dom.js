// Writes the document. All texts from outside become text nodes, never markup.

// Returns an element with attributes and children. A child is an element or a text.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Sets a text only if it changes, so that a selection stays, and a screen reader is not disturbed.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// As setText. Words between backticks become code.
export function setWords(element, text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return setText(element, text);
  if (element.textContent === parts.join("")) return;
  element.replaceChildren(...parts.map((part, i) => (i % 2 === 0 ? part : make("code", part.length <= 30 ? { class: "short" } : {}, part))));
}

// As setWords, for a sentence with numbers. Its height never falls while the width stays, so that no number moves the lines below.
export function setSentence(element, text) {
  setWords(element, text);
  const width = String(element.offsetWidth);
  if (element.dataset.width !== width) element.style.minHeight = "";
  element.dataset.width = width;
  element.style.minHeight = `${element.offsetHeight}px`;
}

// As setText, for a command. Its lines break only between words, or in long ones.
export function setCommand(element, command) {
  if (element.textContent === command) return;
  const words = command.split(" ").map((word) => (word.length <= 30 ? make("span", { class: "short" }, word) : word));
  element.replaceChildren(...words.flatMap((word, i) => (i === 0 ? [word] : [" ", word])));
}

export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

export function setFault(element, is) {
  element.classList.toggle("fault", Boolean(is));
}

// Makes `list` have a child for each item, and calls update(child, item) for each. Children stay where they are, and get
// new contents: nothing moves when the order of the items changes.
export function fill(list, items, create, update) {
  while (list.children.length > items.length) list.lastElementChild.remove();
  while (list.children.length < items.length) list.append(create());
  items.forEach((item, i) => update(list.children[i], item));
}

export const lines = (list, texts) => fill(list, texts, () => make("li"), setText);

// Returns a folded part. `open` is called when a user opens it.
export function folded(title, content, open = () => {}) {
  const details = make("details", {}, make("summary", {}, title), content);
  details.addEventListener("toggle", () => {
    if (details.open) open();
  });
  return details;
}

// A list that shows the first items, and the rest on request.
export class FoldedList {
  constructor(list, first, what, create, update) {
    Object.assign(this, { list, first, what, create, update, all: false, items: [] });
    this.button = make("button", { type: "button", class: "more", "aria-expanded": "false" });
    this.button.hidden = true;
    this.button.addEventListener("click", () => {
      this.all = !this.all;
      this.show(this.items);
    });
  }

  show(items) {
    this.items = items;
    const rest = items.length - this.first;
    fill(this.list, this.all ? items : items.slice(0, this.first), this.create, this.update);
    this.button.hidden = rest <= 0;
    setAttribute(this.button, "aria-expanded", String(this.all));
    setText(this.button, this.all ? `Show only the first ${this.first}` : `Show ${rest} more ${this.what}`);
  }
}
