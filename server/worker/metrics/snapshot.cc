#include "server/worker/metrics/snapshot.h"

#include <array>
#include <string>
#include <vector>

#include "base/runtime/thread_pool.h"
#include "pipeline/storage/files.h"

namespace penstock::worker {
namespace {

void AddSettings(const loader::SelfTuning& tuning, WorkerSnapshot* out) {
  const loader::SelfTuning::Now now = tuning.Get();
  const tuning::TuningLimits& limits = tuning.limits();
  out->threads = {static_cast<uint64_t>(now.setting.threads), limits.threads_pinned};
  out->most_threads = {static_cast<uint64_t>(limits.most_threads), true};
  out->read_threads = {static_cast<uint64_t>(now.setting.read_threads), limits.read_threads_pinned};
  out->requests = {static_cast<uint64_t>(now.setting.requests), false};
  out->tuning_changes = now.changes;
}

void AddStreams(const SentCounts::Sums& sent, StreamCounts* out) {
  out->shared_memory_bytes = sent.bytes[SentCounts::kSharedMemory];
  out->grpc_bytes = sent.bytes[SentCounts::kGrpc];
  out->other_bytes = sent.bytes[SentCounts::kOther];
  out->zstd_bytes = sent.compressed_bytes;
  out->compressed_row_bytes = sent.compressed_row_bytes;
  out->granted_rows = sent.granted_rows;
  out->fetched_rows = sent.fetched_rows;
  out->shared_memory_streams = sent.streams[SentCounts::kSharedMemory];
  out->grpc_streams = sent.streams[SentCounts::kGrpc];
  out->other_streams = sent.streams[SentCounts::kOther];
  out->connections = sent.connections;
}

void AddStorage(const storage::ObjectCounts& objects, const ShardIndexes::Counts& indexes, WorkerSnapshot* out) {
  out->objects = storage::SchemeCountsOfObjects();
  out->object_bytes = objects.bytes;
  out->indexes_from_sidecars = indexes.sidecar;
  out->indexes_from_coordinator = indexes.coordinator;
  out->indexes_built = indexes.built;
}

// `rooms`: of the state directory and, if there is a disk cache, of its folder.
void AddRooms(const std::vector<server::DiskRoom>& rooms, WorkerSnapshot* out) {
  const std::array<std::string, 2> names = {"state", "disk_cache"};
  for (size_t i = 0; i < rooms.size(); ++i) {
    out->folders.push_back({names[i], rooms[i].free_bytes, rooms[i].size_bytes});
  }
}

}  // namespace

WorkerSnapshot TakeSnapshot(const SnapshotParts& parts) {
  WorkerSnapshot snapshot;
  snapshot.loader = parts.host->loader()->Stats();
  snapshot.jobs = parts.host->loader()->Jobs();
  AddSettings(parts.host->tuning(), &snapshot);
  AddStreams(parts.shared->sent.Get(), &snapshot.streams);
  snapshot.streams.rejections = parts.shared->rejections->Get();
  parts.shared->rejections->CopyTo(&snapshot.streams.callers);
  snapshot.streams.failed_streams = parts.shared->failed_streams.load();
  const ThreadPool::Load reads = parts.host->files().load();
  snapshot.busy_read_threads = static_cast<uint64_t>(reads.busy);
  snapshot.queued_calls = reads.waiting;
  AddStorage(storage::CountsOfObjects(), parts.indexes->counts(), &snapshot);
  snapshot.failing_files = parts.jobs->FileErrorLines(kFileErrorLines, kFileErrorBytes).size();
  AddRooms(parts.rooms->Last(), &snapshot);
  snapshot.sessions = parts.shared->open_sessions.load();
  snapshot.served_jobs = parts.jobs->names().size();
  return snapshot;
}

}  // namespace penstock::worker
