// Requests as workers and trainers send them, for the coordinator's tests.
#ifndef PENSTOCK_TESTS_SERVER_COORDINATOR_JOB_SPECS_H_
#define PENSTOCK_TESTS_SERVER_COORDINATOR_JOB_SPECS_H_

#include <string>
#include <vector>

#include "base/version.h"
#include "penstock/v1/control.pb.h"

namespace penstock::coordinator {

inline v1::JobSpec SimpleSpec(const std::string& name, uint32_t batch = 10) {
  v1::JobSpec spec;
  spec.set_name(name);
  spec.add_dataset()->add_files("train-*");
  v1::Feature* feature = spec.add_features();
  feature->set_key("label");
  feature->set_column("label");
  feature->set_type(v1::Feature::INT64);
  spec.mutable_batch()->set_size(batch);
  return spec;
}

inline v1::SubmitRequest SubmitOf(const v1::JobSpec& spec, bool replace = false) {
  v1::SubmitRequest request;
  *request.mutable_spec() = spec;
  request.set_replace(replace);
  return request;
}

inline v1::RegisterWorkerRequest WorkerCalled(const std::string& id, uint64_t incarnation = 1) {
  v1::RegisterWorkerRequest request;
  request.set_id(id);
  request.set_incarnation(incarnation);
  request.set_address(id + ".example:7071");
  request.set_threads(4);
  request.set_conformance_digest("d1");
  request.add_roots("data");
  request.set_version(std::string(Version()));
  return request;
}

inline v1::HeartbeatRequest BeatOf(const std::string& id, uint64_t incarnation = 1) {
  v1::HeartbeatRequest request;
  request.set_id(id);
  request.set_incarnation(incarnation);
  return request;
}

inline v1::OpenSessionRequest SessionOn(const std::string& job, uint32_t rank = 0, uint32_t world_size = 1,
                                        uint64_t position = 0) {
  v1::OpenSessionRequest request;
  request.set_job(job);
  request.set_rank(rank);
  request.set_world_size(world_size);
  request.set_position(position);
  request.set_version(std::string(Version()));
  return request;
}

// The tasks of a reply, as a vector.
template <typename TasksReply>
std::vector<v1::Task> TasksIn(const TasksReply& reply) {
  return {reply.tasks().begin(), reply.tasks().end()};
}

// A worker's report that it has done `task` on a data set of `shards` shards of `records` records of 100 bytes.
inline v1::ReportTaskRequest DoneBy(const std::string& worker, const v1::Task& task, int shards, uint64_t records) {
  v1::ReportTaskRequest report;
  report.set_worker_id(worker);
  report.set_task_id(task.id());
  if (task.has_prepare()) {
    for (int i = 0; i < shards; ++i) {
      v1::Shard* file = report.add_files();
      file->set_root("data");
      file->set_path("train-" + std::to_string(100000 + i));
      file->set_size(1000);
    }
    report.add_columns()->set_name("label");
    report.set_pipeline_fingerprint(77);
  } else if (task.has_index()) {
    *report.mutable_shard() = task.index().shard();
    report.mutable_shard()->set_records(records);
    report.mutable_shard()->set_data_bytes(records * 100);
    report.mutable_shard()->set_content_hash(1234 + records);
    report.mutable_shard()->set_max_record_bytes(100);
  }
  return report;
}

}  // namespace penstock::coordinator

#endif  // PENSTOCK_TESTS_SERVER_COORDINATOR_JOB_SPECS_H_
