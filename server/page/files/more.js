// What is below the workers: shards and views, bad records, object storage, events, rejected callers, next commands.

import { get } from "./data.js";
import { fill, folded, FoldedList, lines, make, setCommand, setFault, setText } from "./dom.js";
import { bytes, commands, count, counted, rejectedTexts, storageText } from "./words.js";

const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

// A part that asks for its lines when a user opens it, and again whenever `refresh` is called while it is open.
class Asked {
  constructor(title, ask) {
    this.list = make("ul", { class: "lines" });
    this.ask = ask;
    this.part = folded(title, this.list, () => this.refresh());
  }

  async refresh() {
    if (!this.part.open) return;
    try {
      lines(this.list, await this.ask());
    } catch (error) {
      lines(this.list, [error.message]);
    }
  }
}

const heading = (id, text) => make("h2", { id }, text);

export class More {
  constructor() {
    this.job = undefined;
    const section = (id) => document.getElementById(id);

    this.data = make("ul", { class: "lines" });
    this.shards = new Asked("List the shards", async () => {
      const reply = await get("shards", this.job.name);
      const texts = reply.shards.map((shard) => `${shard.root}:${shard.path}, ${bytes(shard.bytes)}, ` +
        (shard.indexed ? `${counted(shard.records, "record")}, served by ${shard.owners.map((id) => this.names.get(id) ?? id).join(", ") || "nobody"}` : "not indexed"));
      return reply.left_out > 0 ? [...texts, `and ${counted(reply.left_out, "more shard")}`] : texts;
    });
    section("data").append(heading("data-name", "Shards and views"), this.data, this.shards.part);

    this.badSection = section("bad");
    this.badText = make("p");
    this.bad = new Asked("List the bad records", async () => {
      const reply = await get("quarantine", this.job.name);
      const texts = reply.entries.slice(0, 100).map((entry) => `${entry.root}:${entry.path}, record ${count(entry.record)}: ${entry.reason}: ${entry.message}`);
      const rest = Number(reply.bad_records) - texts.length;
      return rest > 0 ? [...texts, `and ${counted(rest, "more bad record")}`] : texts;
    });
    this.badSection.append(heading("bad-name", "Bad records"), this.badText, this.bad.part);

    this.storage = new FoldedList(make("ul", { class: "lines" }), 4, "workers", () => make("li"), setText);
    section("storage").append(heading("storage-name", "Object storage and other slow storage"), this.storage.list, this.storage.button);

    const events = make("ul");
    this.events = new FoldedList(events, 8, "events", () => make("li", { class: "event" }, make("time", { class: "quiet" }), make("span")), (element, event) => {
      const at = new Date(1000 * event.at);
      setText(element.children[0], clock.format(at));
      element.children[0].dateTime = at.toISOString();
      setText(element.children[1], event.text);
      setFault(element.children[1], / (was lost|has failed|bad records?|was removed)/.test(event.text) && !/^job .* has view/.test(event.text));
    });
    section("events").append(heading("events-name", "Events"), events, this.events.button);

    const rejected = make("ul", { class: "lines" });
    this.rejected = new FoldedList(rejected, 4, "callers", () => make("li"), setText);
    section("rejected").append(heading("rejected-name", "Rejected callers"), rejected, this.rejected.button);

    this.commands = make("ul");
    section("commands").append(heading("commands-name", "Next commands"), this.commands);
  }

  showRejected(status) {
    const texts = rejectedTexts(status);
    document.getElementById("rejected").hidden = texts.length === 0;
    this.rejected.show(texts);
  }

  show(job, workers, worker, names, coordinator) {
    const changed = this.job?.name !== job?.name;
    this.job = job;
    this.names = names;
    document.getElementById("data").hidden = job === undefined;
    this.badSection.hidden = job === undefined;
    if (job !== undefined) {
      lines(this.data, dataTexts(job));
      const bad = Number(job.bad_records);
      setText(this.badText, bad === 0 ? `No record of job ${job.name} is known to be bad.`
        : `${count(bad)} of ${counted(job.records, "record")}: ${job.bad_reasons.map((reason) => `${count(reason.records)} ${reason.reason}`).join(", ")}`);
      setFault(this.badText, bad > 0);
      this.bad.part.hidden = bad === 0;
      if (changed || this.badRecords !== bad) this.bad.refresh();
      if (changed) this.shards.refresh();
      this.badRecords = bad;
    }
    const storage = workers.map(storageText).filter((text) => text !== null);
    this.storage.show(storage.length === 0 ? ["No worker has read from it."] : storage);
    const next = commands(job, worker, coordinator);
    document.getElementById("commands").hidden = next.length === 0;
    fill(this.commands, next, makeCommand, (element, { purpose, command }) => {
      const [texts, button] = element.children;
      setText(texts.children[0], purpose);
      setCommand(texts.children[1], command);
      button.setAttribute("aria-label", `Copy: ${purpose}`);
    });
  }
}

function dataTexts(job) {
  const texts = [`Job ${job.name}: ${count(job.shards_indexed)} of ${counted(job.shards, "shard")} indexed, ${counted(job.records, "record")}, ${bytes(job.bytes)}`];
  if (Number(job.view_number) > 0) {
    texts.push(`View ${job.view_number} assigns its ${job.policy === "BY_RANK" ? "ranks" : "records"} to workers; batches have ${counted(job.batch_size, "row")}`);
  }
  if (job.next !== null) texts.push(`Its replacement: ${job.next.error || job.next.waiting || `${job.next.shards_indexed} of ${job.next.shards_total} shards indexed`}`);
  return texts;
}

function makeCommand() {
  const code = make("code");
  const button = make("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      setText(button, "Copied");
    } catch {
      // Without TLS, browsers allow copying only on the host itself.
      getSelection().selectAllChildren(code);
      setText(button, "Selected");
    }
    setTimeout(() => setText(button, "Copy"), 2000);
  });
  return make("li", { class: "command" }, make("div", {}, make("span", { class: "quiet" }), code), button);
}
