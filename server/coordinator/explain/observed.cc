#include "server/coordinator/explain/observed.h"

#include <algorithm>

namespace penstock::coordinator {
namespace {

double Grown(double then, double now) { return now >= then ? now - then : now; }

const v1::JobLoad* Find(const v1::WorkerLoad& load, const std::string& job) {
  for (const v1::JobLoad& known : load.jobs()) {
    if (known.job() == job) return &known;
  }
  return nullptr;
}

double StageSeconds(const v1::JobLoad& load, const std::string& name) {
  for (const v1::StageSeconds& stage : load.stages()) {
    if (stage.name() == name) return stage.seconds();
  }
  return 0;
}

void AddStages(const v1::JobLoad& then, const v1::JobLoad& now, WorkerInput* out) {
  const double rows = Grown(static_cast<double>(then.rows()), static_cast<double>(now.rows()));
  if (rows <= 0) return;
  const double read = Grown(then.reading_seconds(), now.reading_seconds());
  const double background = Grown(then.background_read_seconds(), now.background_read_seconds());
  const double send = Grown(then.send_seconds(), now.send_seconds());
  out->stages.push_back({"read", 1000 * read / rows});
  const double timed = Grown(static_cast<double>(then.timed_rows()), static_cast<double>(now.timed_rows()));
  for (const v1::StageSeconds& stage : now.stages()) {
    if (timed <= 0) break;
    const double seconds = Grown(StageSeconds(then, stage.name()), stage.seconds());
    out->stages.push_back({stage.name(), 1000 * seconds / timed});
  }
  out->stages.push_back({"send", 1000 * send / rows});
  const double reads = Grown(static_cast<double>(then.background_reads()), static_cast<double>(now.background_reads()));
  out->background_reads = reads > 0;
  out->read_ms = reads > 0 ? 1000 * background / reads : 1000 * read / rows;
}

// Skips a data set that `then` omits, because others took more time then.
void AddDatasets(const v1::JobLoad& then, const v1::JobLoad& now, WorkerInput* out) {
  for (const v1::DatasetSeconds& dataset : now.datasets()) {
    const auto known = std::find_if(then.datasets().begin(), then.datasets().end(),
                                    [&](const auto& other) { return other.dataset() == dataset.dataset(); });
    if (known == then.datasets().end() && !then.datasets().empty()) continue;
    const v1::DatasetSeconds first = known == then.datasets().end() ? v1::DatasetSeconds() : *known;
    out->datasets.push_back({dataset.dataset(),
                             Grown(static_cast<double>(first.rows()), static_cast<double>(dataset.rows())),
                             Grown(first.seconds(), dataset.seconds())});
  }
}

}  // namespace

v1::WorkerLoad CountsOf(const v1::WorkerLoad& load) {
  v1::WorkerLoad counts = load;
  counts.clear_troubles();
  counts.clear_tuning();
  return counts;
}

void ObserveWorker(const v1::WorkerLoad& then, const v1::WorkerLoad& now, Nanos between, const std::string& job,
                   WorkerInput* out) {
  const v1::JobLoad* const last = Find(now, job);
  if (last == nullptr || between <= 0) return;
  const v1::JobLoad* const known = Find(then, job);
  const v1::JobLoad first = known != nullptr ? *known : v1::JobLoad();
  const double making = Grown(first.making_seconds(), last->making_seconds());
  const double reading = std::min(making, Grown(first.reading_seconds(), last->reading_seconds()));
  const double storage = Grown(first.storage_seconds(), last->storage_seconds());
  const double memory = Grown(first.memory_seconds(), last->memory_seconds());
  const double unrequested = Grown(first.unrequested_seconds(), last->unrequested_seconds());
  const double capped = Grown(first.capped_seconds(), last->capped_seconds());
  double others = 0, computing = making - reading;
  for (const v1::JobLoad& other : now.jobs()) {
    if (other.job() == job) continue;
    const v1::JobLoad* const before = Find(then, other.job());
    const double made = Grown(before == nullptr ? 0 : before->making_seconds(), other.making_seconds());
    others += made;
    computing += made - Grown(before == nullptr ? 0 : before->reading_seconds(), other.reading_seconds());
  }
  // A job that is new here has counters for less than the time between the heartbeats.
  const double threads = std::max<uint32_t>(out->threads, 1);
  const double told = making + storage + memory + unrequested + capped + others;
  const double apart = static_cast<double>(between) / kSecond;
  if (told <= 0) return;
  out->seconds = std::min(apart, told / threads);
  out->rows_per_second = Grown(static_cast<double>(first.rows()), static_cast<double>(last->rows())) / out->seconds;
  out->computing = (making - reading) / told;
  out->reading = reading / told;
  out->storage = storage / told;
  out->memory = memory / told;
  out->unrequested = unrequested / told;
  out->capped = capped / told;
  out->held = std::clamp(Grown(first.held_seconds(), last->held_seconds()) / out->seconds, 0.0, 1.0);
  out->others = others / told;
  const double streams = std::max<uint32_t>(last->streams(), 1);
  out->blocked = std::clamp(Grown(first.full_seconds(), last->full_seconds()) / (streams * out->seconds), 0.0, 1.0);
  out->sent_per_second =
      Grown(static_cast<double>(first.bytes_sent()), static_cast<double>(last->bytes_sent())) / out->seconds;
  const double cpu = Grown(then.cpu_seconds(), now.cpu_seconds());
  out->cpu = computing > 0.2 * apart ? std::clamp(cpu / computing, 0.0, 1.0) : 1;
  out->capacity = now.capacity();
  const double rows = Grown(static_cast<double>(then.rows()), static_cast<double>(now.rows()));
  const double requests =
      Grown(static_cast<double>(then.remote_requests()), static_cast<double>(now.remote_requests()));
  out->remote_requests = rows > 0 ? requests / rows : 0;
  const double hits =
      Grown(static_cast<double>(then.record_cache_hits()), static_cast<double>(now.record_cache_hits()));
  const double misses =
      Grown(static_cast<double>(then.record_cache_misses()), static_cast<double>(now.record_cache_misses()));
  out->cache_hits = hits + misses > 0 ? hits / (hits + misses) : 0;
  for (const v1::CacheLoad& cache : now.caches()) {
    CacheInput* const in = cache.of() == v1::CacheLoad::RECORDS          ? &out->records
                           : cache.of() == v1::CacheLoad::DECODED_IMAGES ? &out->decoded
                           : cache.of() == v1::CacheLoad::FINISHED_ROWS  ? &out->rows
                                                                         : nullptr;
    if (in != nullptr) *in = {cache.chosen(), cache.limit(), cache.bytes()};
  }
  AddStages(first, *last, out);
  AddDatasets(first, *last, out);
}

void ObserveSession(const v1::ReportSessionRequest& then, const v1::ReportSessionRequest& now, SessionInput* out) {
  const v1::SessionTimes &first = then.times(), &last = now.times();
  const double seconds = last.seconds() - first.seconds();
  out->waiting_for = now.waiting_for();
  out->copy_threads = last.copy_threads();
  out->window_steps = last.window_steps();
  if (seconds <= 0) return;
  out->seconds = seconds;
  const double rows = Grown(static_cast<double>(then.rows()), static_cast<double>(now.rows()));
  out->rows_per_second = rows / seconds;
  out->steps_per_second = Grown(static_cast<double>(first.steps()), static_cast<double>(last.steps())) / seconds;
  out->bytes_per_second =
      Grown(static_cast<double>(first.bytes_received()), static_cast<double>(last.bytes_received())) / seconds;
  out->waited = std::clamp((last.waited_seconds() - first.waited_seconds()) / seconds, 0.0, 1.0);
  const double copy = Grown(first.copy_seconds(), last.copy_seconds());
  const double seal = Grown(first.seal_seconds(), last.seal_seconds());
  if (rows > 0) {
    out->copy_ms = 1000 * copy / rows;
    out->seal_ms = 1000 * seal / rows;
  }
  if (last.copy_threads() > 0) out->copying = (copy + seal) / (last.copy_threads() * seconds);
  double all = 0;
  for (const v1::WaitedOn& waited : last.waited_on()) {
    double before = 0;
    for (const v1::WaitedOn& known : first.waited_on())
      before += known.worker() == waited.worker() ? known.seconds() : 0;
    const double grown = Grown(before, waited.seconds());
    if (grown <= 0) continue;
    out->waited_on[waited.worker()] += grown;
    all += grown;
  }
  for (auto& [worker, part] : out->waited_on) part /= all;
}

std::string_view FileOf(std::string_view line) { return line.substr(0, line.find(": ")); }

void AddTails(std::string_view path, std::set<std::string_view>* tails) {
  for (;;) {
    if (!path.empty()) tails->insert(path);
    const size_t slash = path.find('/');
    if (slash == std::string_view::npos) return;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace penstock::coordinator
