#include "server/worker/link/job_loads.h"

#include <algorithm>

namespace penstock::worker {
namespace {

double Seconds(Nanos time) { return static_cast<double>(time) / kSecond; }

void AddStage(const std::string& name, double seconds, v1::JobLoad* load) {
  for (v1::StageSeconds& known : *load->mutable_stages()) {
    if (known.name() != name) continue;
    known.set_seconds(known.seconds() + seconds);
    return;
  }
  v1::StageSeconds* const added = load->add_stages();
  added->set_name(name);
  added->set_seconds(seconds);
}

// Adds the times to those of another job of the same name.
void AddDatasets(const std::vector<loader::JobTimes::Dataset>& datasets, v1::JobLoad* load) {
  for (size_t i = 0; i < datasets.size(); ++i) {
    if (i == static_cast<size_t>(load->datasets_size())) load->add_datasets()->set_dataset(static_cast<uint32_t>(i));
    v1::DatasetSeconds* const known = load->mutable_datasets(static_cast<int>(i));
    known->set_rows(known->rows() + datasets[i].rows);
    known->set_seconds(known->seconds() + datasets[i].seconds);
  }
}

void KeepLongest(v1::JobLoad* load) {
  auto* const datasets = load->mutable_datasets();
  std::stable_sort(datasets->begin(), datasets->end(),
                   [](const auto& a, const auto& b) { return a.seconds() > b.seconds(); });
  if (datasets->size() > static_cast<int>(kMostDatasets))
    datasets->DeleteSubrange(kMostDatasets, datasets->size() - kMostDatasets);
}

void AddTimes(const loader::JobTimes& times, v1::JobLoad* load) {
  load->set_job(times.job);
  load->set_rows(load->rows() + times.rows);
  load->set_bytes_read(load->bytes_read() + times.bytes_read);
  load->set_making_seconds(load->making_seconds() + times.making_seconds);
  load->set_reading_seconds(load->reading_seconds() + times.reading_seconds);
  load->set_storage_seconds(load->storage_seconds() + times.storage_seconds);
  load->set_memory_seconds(load->memory_seconds() + times.memory_seconds);
  load->set_unrequested_seconds(load->unrequested_seconds() + times.unrequested_seconds);
  load->set_capped_seconds(load->capped_seconds() + times.capped_seconds);
  load->set_held_seconds(load->held_seconds() + times.held_seconds);
  load->set_background_reads(load->background_reads() + times.background_reads);
  load->set_background_read_seconds(load->background_read_seconds() + times.background_read_seconds);
  load->set_timed_rows(load->timed_rows() + times.timed_rows);
  std::vector<loader::JobTimes::Stage> stages = times.stages;
  std::stable_sort(stages.begin(), stages.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  for (size_t i = 0; i < stages.size(); ++i) {
    AddStage(i < kMostStages ? stages[i].name : "other", stages[i].seconds, load);
  }
  AddDatasets(times.datasets, load);
}

}  // namespace

void AddJobLoads(const std::vector<loader::JobTimes>& times, const std::map<std::string, JobSends::Sums>& sends,
                 v1::WorkerLoad* load) {
  std::map<std::string, v1::JobLoad> loads;
  for (const loader::JobTimes& of : times) AddTimes(of, &loads[of.job]);
  std::vector<const v1::JobLoad*> busiest;
  for (auto& [name, of] : loads) {
    KeepLongest(&of);
    const auto sent = sends.find(name);
    if (sent != sends.end()) {
      of.set_bytes_sent(sent->second.bytes);
      of.set_send_seconds(Seconds(sent->second.sending));
      of.set_full_seconds(Seconds(sent->second.full));
      of.set_streams(sent->second.streams);
    }
    busiest.push_back(&of);
  }
  std::stable_sort(busiest.begin(), busiest.end(), [](const v1::JobLoad* a, const v1::JobLoad* b) {
    return std::make_pair(a->streams() > 0, a->making_seconds()) >
           std::make_pair(b->streams() > 0, b->making_seconds());
  });
  if (busiest.size() > kMostJobLoads) busiest.resize(kMostJobLoads);
  for (const v1::JobLoad* of : busiest) *load->add_jobs() = *of;
}

}  // namespace penstock::worker
