// The CPU time of a row, for 10^3 to 10^8 records and 1 to 10,000 shards. The real loader and data set reader run with
// one thread on simulated files and indexes, because no disk here has enough space. The reader parses a shard's index,
// as from its sidecar, whenever it opens the shard. Runs all cases in turns and measures the CPU time of the process:
// first while the reader opens shards for the first time and reads their indexes, and then after it has read all
// records once (up to 10^6 records).
//
//   scale_bench [--rounds=5] [--rows=200000] [--record_bytes=1000] [--index_mib=1024] [--records=0 --shards=0]
//
// --index_mib: memory for indexes, 1024 as in a worker with a budget of 16 GiB; --records and --shards: only that case.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "pipeline/loader/loader.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/tfrecord/framing.h"
#include "pipeline/storage/forwarding_storage.h"
#include "pipeline/storage/posix_storage.h"

namespace penstock::bench {
namespace {

struct Options {
  int rounds = 5;
  int rows = 200'000;
  int record_bytes = 1000;
  int index_mib = 1024;
  int records = 0, shards = 0;  // 0: all cases
};

// A file that repeats one framed record.
class MadeUpFile final : public storage::StoredFile {
 public:
  MadeUpFile(std::string path, const std::string* frame, uint64_t records)
      : path_(std::move(path)), frame_(frame), info_{records * frame->size(), 1, ""} {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    if (offset >= info_.size) return size_t{0};
    length = std::min<uint64_t>(length, info_.size - offset);
    for (size_t done = 0; done < length;) {
      const size_t from = (offset + done) % frame_->size();
      const size_t piece = std::min(length - done, frame_->size() - from);
      std::memcpy(out + done, frame_->data() + from, piece);
      done += piece;
    }
    return length;
  }
  void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions&,
            storage::CallDone<size_t> done) const override {
    std::move(done)(ReadAt(offset, length, out));
  }
  absl::StatusOr<FileInfo> Info() const override { return info_; }
  const FileInfo& opened() const override { return info_; }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
  const std::string* const frame_;
  const FileInfo info_;
};

class MadeUpStorage final : public storage::ForwardingStorage {
 public:
  MadeUpStorage(const std::string* frame, uint64_t records) : frame_(frame), records_(records) {}
  bool HasLowLatency(const std::string&) const override { return true; }
  void Open(const std::string& name, const storage::CallOptions&,
            storage::CallDone<std::unique_ptr<storage::StoredFile>> done) override {
    std::move(done)(std::make_unique<MadeUpFile>(name, frame_, records_));
  }
  void Stat(const std::string& name, const storage::CallOptions&,
            storage::CallDone<storage::StoredName> done) override {
    storage::StoredName file;
    file.info = {records_ * frame_->size(), 1, ""};
    file.resolved = name;
    std::move(done)(file);
  }
  void List(const std::string&, const storage::CallOptions&,
            storage::CallDone<std::vector<storage::StoredEntry>> done) override {
    std::move(done)(std::vector<storage::StoredEntry>());
  }

 private:
  storage::Storage* Of(const std::string&) const override { return storage::LocalFiles(); }

  const std::string* const frame_;
  const uint64_t records_;  // in each file
};

// Counts rows and drops them.
class CountingSink final : public loader::RowSink {
 public:
  void OnRow(loader::RowResult row) override {
    if (!row.status.ok()) std::fprintf(stderr, "%s\n", row.status.ToString().c_str());
    PS_CHECK(row.status.ok());
    MutexLock lock(&mutex_);
    if (++rows_ == wanted_) arrived_.NotifyAll();  // a notification for each row would cost more than the row
  }
  void WaitFor(uint64_t rows) {
    MutexLock lock(&mutex_);
    wanted_ = rows;
    while (rows_ < rows) arrived_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar arrived_;
  uint64_t rows_ ABSL_GUARDED_BY(mutex_) = 0, wanted_ ABSL_GUARDED_BY(mutex_) = 0;
};

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// One data set. Its session continues from measurement to measurement.
class Case {
 public:
  Case(uint64_t records, uint64_t shards, const std::string* frame, uint64_t index_bytes)
      : records_(records), shards_(shards), storage_(frame, records / shards) {
    const uint64_t each = records / shards;
    sources::ShardIndex index;
    for (uint64_t k = 0; k < each; ++k)
      index.AppendRecord(static_cast<uint32_t>(frame->size() - sources::kRecordFrameBytes));
    index.file_size = each * frame->size();
    index.mtime_ns = 1;
    index.content_hash = 1;
    blob_ = index.Serialize();
    std::vector<sources::SnapshotShard> list;
    for (uint64_t s = 0; s < shards; ++s) {
      sources::SnapshotShard shard;
      shard.root = "data";
      shard.relative_path = std::to_string(1'000'000 + s);
      shard.size = index.file_size;
      shard.record_count = each;
      shard.content_hash = index.content_hash;
      shard.data_bytes = index.data_bytes();
      list.push_back(std::move(shard));
    }
    auto snapshot = sources::Snapshot::Create(std::move(list));
    PS_CHECK(snapshot.ok());
    loader::DatasetReader::Options options;
    options.max_index_bytes = index_bytes;
    auto reader = loader::DatasetReader::Create(
        &storage_, *std::move(snapshot), {{"data", "s3://made-up"}},
        [this](const sources::SnapshotShard&, const std::string&,
               const std::stop_token&) -> absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> {
          ++parsed_;
          auto parsed = sources::ShardIndex::Parse(blob_);
          if (!parsed.ok()) return parsed.status();
          return std::make_shared<const sources::ShardIndex>(*std::move(parsed));
        },
        options);
    PS_CHECK(reader.ok());
    v1::JobSpec spec;
    spec.set_name("scale");
    v1::Feature* const id = spec.add_features();
    id->set_key("id");
    id->set_column("id");
    id->set_type(v1::Feature::INT64);
    spec.mutable_order()->set_seed(17);
    auto job = loader::LoadJob::Create(spec, *std::move(reader));
    if (!job.ok()) std::fprintf(stderr, "%s\n", job.status().ToString().c_str());
    PS_CHECK(job.ok());
    job_ = *std::move(job);
    loader::LoaderOptions loader;
    loader.threads = 1;
    auto made = loader::Loader::Create(loader);
    PS_CHECK(made.ok());
    loader_ = *std::move(made);
    auto session = loader_->OpenSession(job_, {.largest_step_rows = 256}, &sink_);
    PS_CHECK(session.ok());
    session_ = *std::move(session);
    Rows(20'000);
  }

  // Returns nanoseconds of CPU time per row.
  double Measure(uint64_t rows) {
    const double before = CpuSeconds();
    Rows(rows);
    return (CpuSeconds() - before) * 1e9 / static_cast<double>(rows);
  }
  // Reads all records once, if they are few enough.
  void TouchAll() {
    if (records_ <= kTouchedRecords) Rows(records_);
  }
  // Returns the nanoseconds to the first row of a new epoch.
  double FirstRowOfAnEpoch() {
    epoch_ += 1;
    next_ = 0;
    const Nanos start = Clock::Real()->Now();
    Rows(1);
    return static_cast<double>(Clock::Real()->Now() - start);
  }
  uint64_t records() const { return records_; }
  uint64_t shards() const { return shards_; }
  uint64_t parsed() const { return parsed_; }

 private:
  static constexpr uint64_t kTouchedRecords = 1'000'000;
  void Rows(uint64_t rows) {
    while (rows > 0) {
      std::vector<loader::RowRequest> requests;
      for (; rows > 0 && requests.size() < 256; --rows) {
        if (next_ == records_ / shards_ * shards_) {
          next_ = 0;
          ++epoch_;
        }
        requests.push_back({.epoch = epoch_, .position = next_++, .step = asked_++ / 256});
      }
      session_->Request(requests);
      if (asked_ > 1024) sink_.WaitFor(asked_ - 1024);
    }
    sink_.WaitFor(asked_);
  }

  const uint64_t records_, shards_;
  MadeUpStorage storage_;
  std::string blob_;
  std::atomic<uint64_t> parsed_{0};
  CountingSink sink_;
  std::shared_ptr<const loader::LoadJob> job_;
  std::unique_ptr<loader::Loader> loader_;
  std::unique_ptr<loader::Loader::Session> session_;
  uint64_t epoch_ = 0, next_ = 0, asked_ = 0;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&](const std::string& name, int* value) {
      if (word.rfind("--" + name + "=", 0) != 0) return false;
      *value = std::atoi(word.c_str() + name.size() + 3);
      return true;
    };
    if (number("rounds", &options.rounds) || number("rows", &options.rows) ||
        number("record_bytes", &options.record_bytes) || number("index_mib", &options.index_mib) ||
        number("records", &options.records) || number("shards", &options.shards)) {
      continue;
    }
    std::fprintf(stderr, "unknown flag %s\n", argv[i]);
    return 2;
  }
  std::string frame;
  const std::string content(static_cast<size_t>(options.record_bytes), 'x');
  sources::AppendFramedRecord(records::ExampleBuilder().Int64("id", 7).Bytes("bytes", content).Serialize(), &frame);
  const uint64_t index_bytes = static_cast<uint64_t>(options.index_mib) << 20;
  std::vector<std::unique_ptr<Case>> cases;
  const auto add = [&](uint64_t records, uint64_t shards) {
    cases.push_back(std::make_unique<Case>(records, shards, &frame, index_bytes));
  };
  if (options.records > 0) {
    add(static_cast<uint64_t>(options.records), static_cast<uint64_t>(std::max(1, options.shards)));
  } else {
    for (const uint64_t records : {1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000}) add(records, 50);
    for (const uint64_t shards : {1, 10, 100, 1'000, 10'000}) add(1'000'000, shards);
  }
  std::vector<std::vector<double>> cost(cases.size()), first(cases.size());
  std::vector<uint64_t> parsed(cases.size());
  std::vector<double> touching;
  for (const auto& one : cases) {
    touching.push_back(one->Measure(static_cast<uint64_t>(options.rows)));
    one->TouchAll();
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t c = 0; c < cases.size(); ++c) {
      const uint64_t before = cases[c]->parsed();
      cost[c].push_back(cases[c]->Measure(static_cast<uint64_t>(options.rows)));
      parsed[c] += cases[c]->parsed() - before;
      first[c].push_back(cases[c]->FirstRowOfAnEpoch());
    }
  }
  std::printf("records of %zu bytes; CPU of a row, best and median of %d rounds of %d rows\n", frame.size(),
              options.rounds, options.rows);
  std::printf("%12s %8s %10s %10s %10s %8s %16s %14s\n", "records", "shards", "first ns", "best ns", "median ns",
              "ratio", "indexes parsed", "new epoch us");
  for (size_t c = 0; c < cases.size(); ++c) {
    const size_t base = c < 6 ? 0 : 6;
    std::printf(
        "%12llu %8llu %10.0f %10.0f %10.0f %8.3f %16llu %14.1f\n", static_cast<unsigned long long>(cases[c]->records()),
        static_cast<unsigned long long>(cases[c]->shards()), touching[c],
        *std::min_element(cost[c].begin(), cost[c].end()), Median(cost[c]), Median(cost[c]) / Median(cost[base]),
        static_cast<unsigned long long>(parsed[c]), Median(first[c]) / 1000);
  }
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) { return penstock::bench::Main(argc, argv); }
