// Workers, the worst first, each with its caches, settings and transport on request.

import { FoldedList, folded, lines, make, setFault, setText } from "./dom.js";
import { counted, isThere, plainName, stateText, workerDetails, workerWords } from "./words.js";

const FIRST_WORKERS = 8;

export class WorkerList {
  constructor(section) {
    this.chosen = null;
    this.name = make("h2", { id: "workers-name" }, "Workers");
    this.summary = make("span", { class: "quiet" });
    this.list = make("ul");
    this.folded = new FoldedList(this.list, FIRST_WORKERS, "workers", makeWorker, (element, worker) => this.showWorker(element, worker));
    section.append(make("div", { class: "head" }, this.name, this.summary), this.list, this.folded.button);
  }

  // `chosen` is the worker of the address, which comes first and shows its details; null without one.
  show(workers, chosen) {
    const there = workers.filter(isThere).length;
    setText(this.summary, there === workers.length ? counted(there, "worker") : `${there} of ${counted(workers.length, "worker")} are there`);
    this.chosen = chosen;
    this.folded.show(chosen === null ? workers : [chosen, ...workers.filter((worker) => worker !== chosen)]);
  }

  showWorker(element, worker) {
    const [does, note, trouble, details] = element.children;
    const [link, state, ...words] = does.children;
    setText(link, plainName(worker));
    link.href = `#/worker/${encodeURIComponent(worker.id)}`;
    setText(state, stateText(worker));
    setFault(state, worker.state === "DEAD" || worker.state === "SUSPECT");
    setText(note, worker.note);
    note.hidden = worker.note === "";
    workerWords(worker).forEach((text, i) => setText(words[i], text));
    lines(trouble, isThere(worker) ? worker.load.troubles : []);
    const isChosen = worker === this.chosen;
    if (isChosen && element.dataset.opened !== worker.id) details.open = true;
    if (!isChosen && element.dataset.opened) details.open = false;
    element.dataset.opened = isChosen ? worker.id : "";
    element.worker = worker;
    if (details.open) lines(details.lastElementChild, workerDetails(worker));
  }
}

function makeWorker() {
  const list = make("ul", { class: "lines" });
  const element = make("li", { class: "worker" },
    make("div", { class: "does" }, make("a"), make("span"), make("span"), make("span"), make("span")),
    make("p", { class: "quiet" }),
    make("ul", { class: "lines fault" }),
    folded("Caches, settings and transport", list, () => lines(list, workerDetails(element.worker))));
  return element;
}
