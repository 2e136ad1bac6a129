// A numeric model of a host with storage, a loader and a trainer. It computes the counts of that loader for given
// settings.
#ifndef PENSTOCK_TESTS_PIPELINE_TUNING_SIMULATED_MACHINE_H_
#define PENSTOCK_TESTS_PIPELINE_TUNING_SIMULATED_MACHINE_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "pipeline/tuning/tuning_window.h"

namespace penstock::tuning {

struct SimulatedMachine {
  int cpus = 2;
  double row = 1e-3;        // CPU seconds per row
  double latency = 10e-6;   // seconds per read
  double most_reads = 1e9;  // reads per second that storage can answer
  bool objects = false;     // storage answers requests, which occupy no thread
  double trainer = 0;       // seconds per row without a CPU
  double trainer_cpu = 0;   // seconds per row on one CPU of this host
  double others = 0;        // threads of other processes that always run here
  double noise = 0;         // relative noise of a window's rate

  struct State {
    double rate = 0;         // rows per second
    double latency = 0;      // seconds per read, with the wait for other reads
    double on_rows = 0;      // part of the threads' time with a row
    double unrequested = 0;  // part of the threads' time without a requested row
  };

  // Returns the steady state with this setting.
  State With(const TuningSetting& setting) const {
    const std::pair<int, int> which{setting.threads, objects ? setting.requests : setting.read_threads};
    const auto known = states.find(which);
    if (known != states.end()) return known->second;
    return states[which] = Find(setting);
  }
  State Find(const TuningSetting& setting) const {
    const double threads = setting.threads;
    const int reads = objects ? setting.requests : setting.read_threads;
    const bool apart = reads > 0;
    const double row_cpu = row + (apart ? 30e-6 : 0);
    double rate = 1, could = 1;
    for (int i = 0; i < 500; ++i) {
      const double active = std::min(1.0, rate / std::max(could, 1e-9));
      const double blocked = apart ? 0 : std::min(1.0, could * latency / threads);
      const double running = threads * (1 - blocked);
      const double wanted = std::min(1.0, rate * trainer_cpu);
      const double share = std::min(1.0, cpus / std::max(1e-9, running + wanted + others));
      could = apart ? std::min(threads * share / row_cpu, reads / latency) : threads / (row_cpu / share + latency);
      could = std::min(could, most_reads);
      const double beside = std::min(1.0, cpus / (running + 1 + others)), alone = std::min(1.0, cpus / (1 + others));
      const double speed = active * beside + (1 - active) * alone;
      const double a_row = trainer + trainer_cpu / speed;
      const double takes = a_row > 0 ? 1 / a_row : std::numeric_limits<double>::infinity();
      rate = 0.9 * rate + 0.1 * std::min(could, takes);
    }
    State state;
    state.rate = rate;
    state.unrequested = 1 - std::min(1.0, rate / could);
    state.latency = latency;
    // Reads beyond the storage's rate wait there.
    if (could >= 0.999 * most_reads) {
      const double under_way = apart ? reads : threads;
      state.latency = std::max(latency, (apart ? under_way : under_way - rate * row_cpu) / rate);
    }
    const double share = std::min(1.0, cpus / (threads + std::min(1.0, rate * trainer_cpu) + others));
    state.on_rows = std::min(1 - state.unrequested, rate * (row_cpu / share + (apart ? 0 : state.latency)) / threads);
    return state;
  }

  TuningWindow Window(const TuningSetting& setting, double seconds, std::mt19937_64* random) const {
    const State state = With(setting);
    const double all = setting.threads * seconds;
    TuningWindow window;
    window.seconds = seconds;
    window.rows = state.rate * seconds;
    if (noise > 0) window.rows *= std::max(0.05, 1 + noise * std::normal_distribution<>()(*random));
    window.reads = window.rows;
    window.read_seconds = window.reads * state.latency;
    window.busy_seconds = state.on_rows * all;
    window.cpu_seconds = std::min(window.busy_seconds, state.rate * seconds * row);
    if (setting.read_threads == 0 && !objects) {
      window.blocked_seconds = std::min(window.busy_seconds, state.rate * seconds * state.latency);
    }
    window.other_seconds = seconds * std::min<double>(cpus, others + state.rate * trainer_cpu);
    window.unrequested_seconds = state.unrequested * all;
    window.storage_seconds = std::max(0.0, all - window.busy_seconds - window.unrequested_seconds);
    return window;
  }

  // Returns the best rate of all settings.
  double Best() const {
    if (best > 0) return best;
    for (int threads = 1; threads <= cpus; ++threads) {
      for (int reads = 0; reads <= 512; reads = reads == 0 ? 4 : 2 * reads) {
        if (objects && (reads == 0 || reads > 256)) continue;
        best = std::max(best, With({threads, objects ? 0 : reads, reads}).rate);
      }
    }
    return best;
  }

  // Call this after each change to the machine.
  void Forget() {
    states.clear();
    best = 0;
  }

  mutable std::map<std::pair<int, int>, State> states;  // states already computed
  mutable double best = 0;
};

}  // namespace penstock::tuning

#endif  // PENSTOCK_TESTS_PIPELINE_TUNING_SIMULATED_MACHINE_H_
