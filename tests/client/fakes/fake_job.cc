#include "tests/client/fakes/fake_job.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/version.h"
#include "net/grpc_status.h"
#include "net/job_mirror.h"
#include "pipeline/plan/state.h"
#include "tests/support/job_parts.h"

namespace penstock::client {
namespace {

constexpr size_t kImageBytes = 4 * 5 * 3;

uint64_t RowHash(uint64_t epoch, uint64_t row, uint64_t what) { return HashWords({epoch, row, what}); }

std::vector<uint8_t> ImageOf(uint64_t epoch, uint64_t row) {
  std::vector<uint8_t> image(kImageBytes);
  for (size_t i = 0; i < kImageBytes; ++i) image[i] = static_cast<uint8_t>(RowHash(epoch, row, i));
  return image;
}

std::vector<float> ValuesOf(uint64_t epoch, uint64_t row) {
  std::vector<float> values(RowHash(epoch, row, 1000) % 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(row) + static_cast<float>(i) / 8;
  return values;
}

std::string NameOf(uint64_t epoch, uint64_t row) { return absl::StrCat("row ", row, " of epoch ", epoch); }

std::vector<std::string> WordsOf(uint64_t epoch, uint64_t row) {
  std::vector<std::string> words(RowHash(epoch, row, 2000) % 3);
  for (size_t i = 0; i < words.size(); ++i) words[i] = std::string(i * (row % 5), static_cast<char>('a' + i));
  return words;
}

void AppendU32(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

void AppendStrings(const std::vector<std::string>& strings, std::string* out) {
  AppendU32(static_cast<uint32_t>(strings.size()), out);
  for (const std::string& s : strings) AppendU32(static_cast<uint32_t>(s.size()), out);
  for (const std::string& s : strings) *out += s;
}

void AddColumn(v1::Job* job, const char* name, v1::DataType type, bool ragged, std::vector<int64_t> shape,
               bool scalar = false) {
  v1::Column* column = job->add_columns();
  column->set_name(name);
  column->set_dtype(type);
  column->set_ragged(ragged);
  for (const int64_t extent : shape) column->add_shape(extent);
  column->set_scalar(scalar);
}

}  // namespace

plan::PlanOptions FakeJob::plan_options() const {
  plan::PlanOptions options;
  options.seed = seed;
  options.chunk_records = 4;
  options.window_chunks = 8;
  return options;
}

std::shared_ptr<const plan::ShardOffsets> FakeJob::offsets() const {
  return *plan::ShardOffsets::Create({records / 4, 0, records - records / 4});
}

uint64_t FakeJob::order_fingerprint() const { return plan::OrderFingerprint(77, plan_options()); }

uint64_t FakeJob::RecordOf(uint64_t epoch, uint64_t row) const {
  const auto order = *plan::DataOrder::Create({records / 4, 0, records - records / 4}, plan_options(), std::nullopt);
  const plan::EpochOrder plan = order->Epoch(epoch);
  return plan.RecordAt(row < records ? row : (row - records) % records);
}

v1::Job FakeJob::Proto() const {
  v1::Job job;
  job.set_name(name);
  job.set_uid(1234);
  job.set_state(state);
  job.set_error(error);
  v1::Order* order = job.mutable_spec()->mutable_order();
  order->set_seed(seed);
  order->set_chunk_records(4);
  order->set_window_chunks(8);
  job.mutable_spec()->mutable_batch()->set_size(batch);
  job.mutable_spec()->mutable_batch()->set_last(last);
  for (const uint64_t count : {records / 4, uint64_t{0}, records - records / 4}) {
    v1::Shard* shard = job.mutable_snapshot()->add_shards();
    shard->set_records(count);
    shard->set_data_bytes(count * 100);
  }
  job.mutable_snapshot()->set_fingerprint(77);
  job.set_order_fingerprint(order_fingerprint());
  job.set_pipeline_fingerprint(88);
  AddColumn(&job, "image", v1::UINT8, false, {4, 5, 3});
  AddColumn(&job, "label", v1::INT64, false, {});
  AddColumn(&job, "values", v1::FLOAT32, true, {});
  AddColumn(&job, "name", v1::STRING, true, {}, true);
  AddColumn(&job, "words", v1::STRING, true, {});
  return job;
}

std::string FakeJob::Payload(uint64_t epoch, uint64_t row) const {
  const std::vector<uint8_t> image = ImageOf(epoch, row);
  std::string out(image.begin(), image.end());
  const auto label = static_cast<int64_t>(row);
  out.append(reinterpret_cast<const char*>(&label), sizeof label);
  const std::vector<float> values = ValuesOf(epoch, row);
  AppendU32(static_cast<uint32_t>(values.size()), &out);
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  AppendStrings({NameOf(epoch, row)}, &out);
  AppendStrings(WordsOf(epoch, row), &out);
  return out;
}

std::string CheckBatch(const FakeJob& job, const Batch& batch, uint64_t rank, uint64_t world_size) {
  const uint64_t slice = job.batch / world_size;
  const auto offsets = job.offsets();
  const ColumnView& image = batch.column("image");
  const auto labels = batch.column("label").data<int64_t>();
  const ColumnView& values = batch.column("values");
  const ColumnView& names = batch.column("name");
  const ColumnView& words = batch.column("words");
  if (image.bytes() != batch.rows() * kImageBytes) return "the image column's size";
  if (labels.size() != batch.rows() || names.string_count() != batch.rows()) return "the number of rows";
  if (values.row_splits().size() != batch.rows() + 1 || words.row_splits().size() != batch.rows() + 1) return "splits";
  if (reinterpret_cast<uintptr_t>(image.raw()) % 64 != 0 || reinterpret_cast<uintptr_t>(values.raw()) % 64 != 0) {
    return "the alignment";
  }
  for (size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t row = batch.position() + rank * slice + i;
    const uint64_t epoch = batch.epoch();
    const std::string which = absl::StrCat(" of row ", row, " of epoch ", epoch);
    const plan::Location at = offsets->Locate(job.RecordOf(epoch, row));
    if (batch.ids()[i] != RowId{static_cast<int64_t>(at.shard), static_cast<int64_t>(at.record)}) return "id" + which;
    if (batch.valid()[i] != (row < job.records ? 1 : 0)) return "valid flag" + which;
    if (labels[i] != static_cast<int64_t>(row)) return absl::StrCat("label ", labels[i], which);
    const std::vector<uint8_t> expected = ImageOf(epoch, row);
    if (std::memcmp(expected.data(), image.data<uint8_t>().data() + i * kImageBytes, kImageBytes) != 0) {
      return "image" + which;
    }
    const std::vector<float> floats = ValuesOf(epoch, row);
    const auto got =
        values.data<float>().subspan(values.row_splits()[i], values.row_splits()[i + 1] - values.row_splits()[i]);
    if (!std::equal(floats.begin(), floats.end(), got.begin(), got.end())) return "values" + which;
    if (names.string(i) != NameOf(epoch, row)) return "name" + which;
    const std::vector<std::string> strings = WordsOf(epoch, row);
    const int64_t first = words.row_splits()[i];
    if (words.row_splits()[i + 1] - first != static_cast<int64_t>(strings.size())) return "words" + which;
    for (size_t w = 0; w < strings.size(); ++w) {
      if (words.string(first + w) != strings[w]) return "words" + which;
    }
  }
  return "";
}

v1::View MakeFakeView(uint64_t number, uint64_t records, const std::vector<plan::ViewWorker>& workers) {
  v1::View view;
  view.set_term(1);
  view.set_number(number);
  view.set_key_space(records);
  const uint64_t n = workers.size();
  for (uint64_t i = 0; i < n; ++i) {
    v1::View::Range* range = view.add_ranges();
    range->set_begin(records * i / n);
    range->set_end(records * (i + 1) / n);
    range->set_owner(static_cast<uint32_t>(i));
    range->set_backup(static_cast<uint32_t>((i + 1) % n));
    v1::View::Worker* worker = view.add_workers();
    worker->set_id(workers[i].id);
    worker->set_address(workers[i].address);
  }
  return view;
}

FakeCoordinator::FakeCoordinator(FakeJob job) : job_(job.Proto()) { Start(); }

FakeCoordinator::~FakeCoordinator() { Stop(); }

void FakeCoordinator::Start() {
  {
    MutexLock lock(&mutex_);
    stopping_ = false;
  }
  auto running = net::StartServer(address_, {this});
  PS_CHECK(running.ok());
  address_ = running->address;
  running_ = *std::move(running);
}

void FakeCoordinator::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (running_.server != nullptr) running_.Shutdown();
  running_ = {};
}

void FakeCoordinator::SetView(const std::vector<plan::ViewWorker>& workers) {
  MutexLock lock(&mutex_);
  uint64_t records = 0;
  for (const v1::Shard& shard : job_.snapshot().shards()) records += shard.records();
  *job_.mutable_view() = MakeFakeView(job_.view().number() + 1, records, workers);
  ++revision_;
  changed_.NotifyAll();
}

void FakeCoordinator::SetState(v1::JobState state, const std::string& error) {
  MutexLock lock(&mutex_);
  job_.set_state(state);
  job_.set_error(error);
  ++revision_;
  changed_.NotifyAll();
}

void FakeCoordinator::SetJob(const v1::Job& job) {
  MutexLock lock(&mutex_);
  job_ = job;
  ++revision_;
  changed_.NotifyAll();
}

v1::Job FakeCoordinator::job() {
  MutexLock lock(&mutex_);
  return job_;
}

void FakeCoordinator::ForgetSessions() {
  MutexLock lock(&mutex_);
  sessions_.clear();
}

void FakeCoordinator::WaitForSessions(size_t open) {
  MutexLock lock(&mutex_);
  while (sessions_.size() != open) sessions_changed_.Wait(&mutex_);
}

void FakeCoordinator::WaitForOpened(size_t requests) {
  MutexLock lock(&mutex_);
  while (opened_.size() < requests) sessions_changed_.Wait(&mutex_);
}

std::vector<v1::OpenSessionRequest> FakeCoordinator::opened() {
  MutexLock lock(&mutex_);
  return opened_;
}

std::vector<v1::ReportSessionRequest> FakeCoordinator::reports() {
  MutexLock lock(&mutex_);
  return reports_;
}

grpc::Status FakeCoordinator::OpenSession(grpc::ServerContext* context, const v1::OpenSessionRequest* request,
                                          v1::OpenSessionReply* reply) {
  MutexLock lock(&mutex_);
  opened_.push_back(*request);
  sessions_changed_.NotifyAll();
  if (request->job() != job_.name()) {
    return net::ToGrpc(absl::NotFoundError(absl::StrCat("no job ", request->job(), "; there are: ", job_.name())));
  }
  sessions_.push_back(absl::StrCat("session-", next_session_++));
  reply->set_session_id(sessions_.back());
  *reply->mutable_job() = support::UpdateOf(job_, revision_);
  reply->set_revision(revision_);
  reply->set_version(std::string(Version()));
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                                    v1::WatchReply* reply) {
  MutexLock lock(&mutex_);
  Nanos left = request->wait_ms() * kMillisecond;
  while (revision_ <= request->known_revision() && !stopping_ && !context->IsCancelled() && left > 0) {
    const Nanos wait = std::min(left, 20 * kMillisecond);
    if (!changed_.WaitFor(&mutex_, std::chrono::nanoseconds(wait))) left -= wait;
  }
  reply->set_revision(revision_);
  if (revision_ > request->known_revision()) *reply->add_jobs() = support::UpdateOf(job_, revision_);
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ReportSession(grpc::ServerContext* context, const v1::ReportSessionRequest* request,
                                            v1::ReportSessionReply* reply) {
  MutexLock lock(&mutex_);
  reports_.push_back(*request);
  reply->set_unknown_session(std::find(sessions_.begin(), sessions_.end(), request->session_id()) == sessions_.end());
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::CloseSession(grpc::ServerContext* context, const v1::CloseSessionRequest* request,
                                           v1::CloseSessionReply* reply) {
  MutexLock lock(&mutex_);
  if (request->has_last()) reports_.push_back(request->last());
  sessions_.erase(std::remove(sessions_.begin(), sessions_.end(), request->session_id()), sessions_.end());
  sessions_changed_.NotifyAll();
  return grpc::Status::OK;
}

}  // namespace penstock::client
