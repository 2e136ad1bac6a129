// What the numbers mean, in words. No function here reads the document.

export const WAITS = 0.05; // as kLeastWait of the coordinator: a trainer that waits less gets enough rows
const LAGS = 0.8; // a rank that gets less than this part of the median lags
const SILENT_SECONDS = 5; // a reader reports each second

const whole = new Intl.NumberFormat("en");
export const count = (number) => whole.format(Number(number));
export const counted = (number, what) => `${count(number)} ${what}${Number(number) === 1 ? "" : "s"}`;
export const percent = (part) => `${Math.round(100 * part)}\u00a0%`;
export const rate = (rows) => `${rows < 10 ? rows.toFixed(1) : whole.format(Math.round(rows))}\u00a0rows/s`;
export const plainName = (worker) => worker.name || worker.id;

export function bytes(value) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let number = Number(value);
  while (number >= 1024 && unit + 1 < units.length) {
    number /= 1024;
    ++unit;
  }
  return `${unit === 0 || number >= 10 ? Math.round(number) : number.toFixed(1)} ${units[unit]}`;
}

export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

export const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$|^$/.test(text) ? "" : ".");

const middle = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted.length === 0 ? 0 : sorted[Math.floor((sorted.length - 1) / 2)];
};

// Joins the status and the explanations. The result has one entry for each job, the worst first.
export function judgeJobs(status, explained) {
  const explanations = new Map(explained.jobs.map((job) => [job.explanation.job, job]));
  const jobs = status.jobs.map((job) => judgeJob(job, explanations.get(job.name)));
  return jobs.sort((a, b) => b.badness - a.badness || a.name.localeCompare(b.name));
}

function judgeJob(job, explained) {
  const explanation = explained?.explanation ?? null;
  const paused = job.paused_by !== "";
  const ranks = job.sessions.map((session) => judgeRank(session, paused));
  const waited = Math.max(explanation?.waited ?? 0, ...ranks.map((rank) => (rank.silent ? 0 : rank.waited)));
  const reads = ranks.length > 0 && !paused;
  const silent = reads && ranks.every((rank) => rank.silent); // the numbers are old
  const stuck = ranks.some((rank) => !rank.silent && rank.stuck) || explanation?.limit === "NO_WORKER";
  const starves = reads && !silent && (stuck || (waited >= WAITS && explanation?.limit !== "LIMIT_UNKNOWN"));
  const unknown = reads && !starves && (silent || explanation === null || explanation.limit === "LIMIT_UNKNOWN");
  const broken = job.state === "FAILED" || job.next?.state === "FAILED" || explanation?.limit === "FILES";
  // Coarse steps, so that jobs and ranks do not change places all the time.
  const badness = (starves ? 100 + Math.round(10 * waited) : 0) + (broken ? 50 : 0) + (reads ? 20 : 0);
  const enough = LAGS * middle(ranks.map((rank) => rank.rows_per_second));
  for (const rank of ranks) rank.badness += rank.rows_per_second < enough ? 5 : 0;
  ranks.sort((a, b) => b.badness - a.badness || a.rank - b.rank);
  return { ...job, explanation, sentence: jobSentence(job, explained), ranks, waited, paused, reads, silent, starves, unknown, broken, badness };
}

// In a paused job a wait is no fault.
function judgeRank(session, paused) {
  const waited = session.wait_fraction;
  const silent = Number(session.seconds_since_report) > SILENT_SECONDS;
  const stuck = !paused && session.waiting_for !== "";
  const starves = !paused && !silent && (waited >= WAITS || stuck);
  const trouble = silent ? `No report for ${duration(Number(session.seconds_since_report))}; the numbers are old.`
    : sentenceCase(session.waiting_for || session.note);
  return {
    ...session, waited, silent, stuck, starves, trouble,
    badness: (silent || stuck ? 100 : 0) + Math.round(10 * waited),
  };
}

function jobSentence(job, explained) {
  if (job.state === "FAILED") return `Job ${job.name} has failed: ${job.error}`;
  if (job.state === "CANCELLED") return `Job ${job.name} was cancelled${job.error === "" ? "" : `: ${job.error}`}.`;
  if (job.state === "PREPARING") {
    return `Job ${job.name} is being prepared: ` +
      (job.waiting || `${count(job.shards_indexed)} of ${counted(job.shards, "shard")} indexed.`);
  }
  if (job.paused_by !== "") return `${job.paused_by} paused job ${job.name}: its trainers wait until penstock resume ${job.name}.`;
  if (explained !== undefined) return sentenceCase(explained.sentence);
  return job.sessions.length === 0 ? `Job ${job.name} is ready, and no trainer reads it.`
    : `Job ${job.name}: nothing is known yet about its trainers.`;
}

// Returns the answer to "is training waiting for data?".
export function verdict(jobs, workers) {
  if (jobs.length === 0) return { text: "There is no job.", fault: false };
  const starving = jobs.filter((job) => job.starves);
  if (starving.length === 1 && jobs.length > 1) return { text: `Training of ${starving[0].name} waits for data.`, fault: true };
  if (starving.length > 1) return { text: `${starving.length} jobs wait for data.`, fault: true };
  if (starving.length === 1) return { text: "Training waits for data.", fault: true };
  if (jobs.some((job) => job.silent)) return { text: "A job's trainers do not report.", fault: true };
  if (jobs.some((job) => job.reads && job.unknown)) return { text: "Training has begun; its waits are not known yet.", fault: false };
  if (jobs.some((job) => job.reads)) {
    const files = jobs.find((job) => job.reads && job.broken);
    return files === undefined ? { text: "Training does not wait for data.", fault: false }
      : { text: "Training does not wait for data, but a file or a job has failed.", fault: true };
  }
  if (jobs.every((job) => job.state === "FAILED")) return { text: "The jobs have failed.", fault: true };
  if (jobs.some((job) => job.paused && job.ranks.length > 0)) return { text: "Training is paused.", fault: false };
  if (workers.every((worker) => !isThere(worker))) return { text: "No trainer reads, and no worker serves.", fault: true };
  return { text: "No trainer reads now.", fault: false };
}

export const title = (jobs) => {
  const starving = jobs.filter((job) => job.starves);
  if (starving.length === 0) return "Penstock";
  return starving.length === 1 ? `${starving[0].name} waits for data - Penstock` : `${starving.length} jobs wait for data - Penstock`;
};

// Returns what the first lines say about a job: pairs of a name and a text, with a mark for faults.
export function facts(job, names) {
  const none = (name, text) => ({ name, text, fault: false });
  if (job === undefined || !job.reads) {
    const text = job === undefined ? "no job" : job.paused ? "paused" : "nobody reads it";
    return [none("Waiting", text), none("Stage", "unknown"), none("Worker", "unknown"), none("Lags", "unknown")];
  }
  return [
    { name: "Waiting", text: `${job.starves ? "" : "hardly, "}${percent(job.waited)} of the time`, fault: false },
    none("Stage", stageText(job)),
    { name: "Worker", ...workerText(job, names) },
    { name: "Lags", ...lagText(job) },
  ];
}

// Limits that keep rows waiting outside of all stages.
const OUTSIDE = {
  NETWORK: "none: finished rows wait for the network", MEMORY: "none: rows wait for memory", WINDOW: "none: workers wait for requests",
  SHARED_MEMORY: "none: finished rows wait for the trainer", CAP: "none: rows wait for the job's caps",
  NO_WORKER: "none: rows wait for a worker", LOST_WORKER: "none: rows wait for a lost worker", FILES: "none: rows wait for files",
};

// Returns the stage that limits a job: the stage that takes most of a row's time. With the CPU as the limit it is no read: a slow
// worker that the trainer does not wait for may read for long. Null if it is not known, or if there is none.
export function limitingStage(job) {
  const limit = job.explanation?.limit;
  const shares = job.explanation?.shares ?? [];
  if (shares.length === 0 || OUTSIDE[limit] !== undefined) return null;
  const fits = shares.filter((share) => (limit === "CPU" ? share.stage !== "read" : limit !== "STORAGE" || share.stage === "read"));
  return (fits.length > 0 ? fits : shares).reduce((a, b) => (b.share > a.share ? b : a));
}

function stageText(job) {
  const stage = limitingStage(job);
  if (stage === null) return OUTSIDE[job.explanation?.limit] ?? "not measured yet";
  return `${stage.stage}${stage.client ? " (trainer)" : ""}, ${percent(stage.share)} of a row`;
}

function workerText(job, names) {
  const explanation = job.explanation;
  if (explanation === null) return { text: "not known yet", fault: false };
  if (explanation.limit === "NO_WORKER") return { text: "none is live", fault: true };
  if (explanation.worker !== "") return { text: names.get(explanation.worker) ?? explanation.worker, fault: false };
  if (!job.starves) return { text: `none; ${counted(explanation.workers, "worker")} keep up`.replace("1 worker keep", "1 worker keeps"), fault: false };
  return { text: explanation.workers === 1 ? "the only one" : explanation.workers === 2 ? "both alike" : `all ${explanation.workers} alike`, fault: false };
}

function lagText(job) {
  const ranks = job.ranks;
  if (ranks.length === 1) return { text: `none; one rank gets ${rate(ranks[0].rows_per_second)}`, fault: false };
  const slowest = ranks.reduce((a, b) => (b.rows_per_second < a.rows_per_second ? b : a));
  const longest = ranks.reduce((a, b) => (b.waited > a.waited ? b : a));
  const median = middle(ranks.map((rank) => rank.rows_per_second));
  const medianWait = middle(ranks.map((rank) => rank.waited));
  if (longest.waited >= WAITS && longest.waited > medianWait + 0.1) {
    return { text: `rank ${longest.rank} waits ${percent(longest.waited)}, median ${percent(medianWait)}`, fault: true };
  }
  if (slowest.rows_per_second < LAGS * median) {
    return { text: `rank ${slowest.rank} gets ${count(Math.round(slowest.rows_per_second))}, median ${rate(median)}`, fault: true };
  }
  return { text: `none; each gets about ${rate(median)}`, fault: false };
}

export const waitText = (rank) => (rank.starves || rank.waited >= WAITS ? `waits ${percent(rank.waited)}` : "hardly waits");

export function progressText(job) {
  if (job.ranks.length === 0) return job.state.toLowerCase();
  const first = job.ranks[0];
  const done = Number(first.epoch_positions) === 0 ? 0 : Number(first.position) / Number(first.epoch_positions);
  const sum = job.ranks.reduce((all, rank) => all + rank.rows_per_second, 0);
  return `${counted(job.ranks.length, "rank")}, ${rate(sum)}, epoch ${count(first.epoch)}: ${percent(done)}`;
}

// ---- Workers

const STATES = { LIVE: "serves", DRAINING: "drains", DEAD: "lost", LEFT: "has left", SUSPECT: "removed until steady" };
export const stateText = (worker) => STATES[worker.state] ?? worker.state.toLowerCase();
export const isThere = (worker) => worker.state !== "DEAD" && worker.state !== "LEFT";
const isFaulty = (worker) => worker.state === "DEAD" || worker.state === "SUSPECT" || worker.load.troubles.length > 0;

export function judgeWorkers(workers) {
  const badness = (worker) => (worker.state === "LEFT" ? -10 : 0) + (isFaulty(worker) ? 100 : 0) + (worker.state === "DRAINING" ? 50 : 0) +
    (worker.note !== "" && isThere(worker) ? 20 : 0);
  return workers.map((worker) => ({ ...worker, faulty: isFaulty(worker), badness: badness(worker) }))
    .sort((a, b) => b.badness - a.badness || plainName(a).localeCompare(plainName(b), "en", { numeric: true }));
}

export function workerWords(worker) {
  if (!isThere(worker)) return ["", "", ""]; // its last numbers are old
  const load = worker.load;
  return [
    `makes ${rate(load.rows_per_second)}`,
    `${counted(load.tuning.threads || worker.threads, "thread")}, ${percent(load.owing_fraction)} busy`,
    `memory ${bytes(load.memory_bytes)} of ${bytes(worker.memory_budget_bytes)}`,
  ];
}

const CACHES = { RECORDS: "Record cache", DECODED_IMAGES: "Cache of decoded images", FINISHED_ROWS: "Cache of finished rows", RECORDS_ON_DISK: "Disk cache" };

function cacheText(cache) {
  const asked = Number(cache.hits) + Number(cache.misses);
  return `${CACHES[cache.of] ?? "Cache"}: ${bytes(cache.bytes)} of ${bytes(cache.limit)}, ` +
    (asked === 0 ? "not asked yet" : `${percent(Number(cache.hits) / asked)} hits`) +
    (cache.saved_seconds >= 1 ? `, ${duration(cache.saved_seconds)} saved` : "") + (cache.chosen ? ", size chosen by the worker" : "");
}

export function workerDetails(worker) {
  const load = worker.load;
  const tuning = load.tuning;
  const lines = load.caches.map(cacheText);
  lines.push(`Settings: ${count(tuning.threads || worker.threads)} of ${counted(tuning.most_threads || worker.threads, "thread")} make rows` +
    `${tuning.threads_pinned ? " (set by --threads)" : ""}, ${tuning.read_threads > 0 ? counted(tuning.read_threads, "thread") : "none"} only for reads` +
    `${tuning.read_threads_pinned ? " (set by --read-threads)" : ""}` + (tuning.last_change ? `. Last change: ${tuning.last_change}` : ""));
  lines.push(`Memory budget: ${bytes(worker.memory_budget_bytes)}${worker.memory_budget_source ? ` (${worker.memory_budget_source})` : ""}`);
  lines.push(`Transport: ${counted(load.sessions, "reader")}, ${bytes(load.bytes_sent)} sent at ${worker.address}` + (worker.host ? ` on host ${worker.host}` : ""));
  lines.push(`Data: owns ${counted(worker.owned_records, "record")}, ${bytes(worker.owned_bytes)}; has read ${bytes(load.bytes_read)}`);
  lines.push(`Penstock ${worker.version}, ID ${worker.id}`);
  return lines;
}

export function storageText(worker) {
  const load = worker.load;
  const requests = Number(load.remote_requests);
  if (requests === 0 || !isThere(worker)) return null;
  const rows = Number(load.rows);
  const used = Number(load.remote_used_bytes);
  return `Worker ${plainName(worker)}: ${counted(requests, "request")}` +
    (rows > 0 ? `, ${count(Math.round((1000 * requests) / rows))} for 1,000 rows` : "") +
    (used > 0 ? `, ${(Number(load.remote_bytes) / used).toFixed(2)} bytes read for each byte used` : "") +
    (Number(load.remote_hedges) > 0 ? `, ${counted(load.remote_hedges, "late request")} sent twice` : "");
}

// ---- Rejected callers

// Returns a line for each caller that the coordinator and the workers rejected in the last minutes.
export function rejectedTexts(status) {
  const text = (by, caller) => `${by} rejected ${caller.host || "a caller"}${caller.name ? ` (${caller.name})` : ""} ` +
    `${counted(caller.count, "time")}, last ${duration(Number(caller.seconds_since_last))} ago: ${caller.message}`;
  return [
    ...status.rejected.map((caller) => text("The coordinator", caller)),
    ...status.workers.flatMap((worker) => worker.rejected.map((caller) => text(`Worker ${plainName(worker)}`, caller))),
  ];
}

// ---- Commands

// Returns a word of a shell command, or null if it cannot be one line of text.
export function shellWord(text) {
  if (/^[A-Za-z0-9._:@%+=,/-]+$/.test(text)) return text;
  return /[\p{C}\p{Z}]/u.test(text.replaceAll(" ", "")) ? null : `'${text.replaceAll("'", "'\\''")}'`;
}

// Returns the next commands for a job and a worker, with their purposes.
export function commands(job, worker, coordinator) {
  const at = coordinator === "" ? "" : ` --coordinator ${coordinator}`;
  const result = [];
  const add = (purpose, command, name) => {
    const word = shellWord(name);
    if (word !== null && !word.startsWith("-")) result.push({ purpose, command: `penstock ${command} ${word}${at}` });
  };
  if (job !== undefined) {
    if (job.reads) {
      add("Explain what limits the job", "explain", job.name);
      add("Draw its rows through the stages in time", "trace", job.name);
    }
    if (Number(job.bad_records) > 0) add("List its bad records", "quarantine", job.name);
    add("List its shards", "shards", job.name);
  }
  if (worker !== undefined && isThere(worker)) add(`Drain worker ${plainName(worker)}: others take over its rows`, "drain", worker.id);
  return result;
}
