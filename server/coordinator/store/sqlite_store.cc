#include "server/coordinator/store/sqlite_store.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/coordinator/history_list.h"
#include "server/coordinator/store/sqlite_file.h"
#include "server/coordinator/store/sqlite_schema.h"

namespace penstock::coordinator {
namespace {

// A blob, because the column would turn some ids into numbers. Older releases stored no id.
constexpr char kCommitIdQuery[] = "SELECT value FROM meta WHERE key='commit_id'";
constexpr char kRevisionQuery[] = "SELECT value FROM meta WHERE key='revision'";

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string path, Executor* executor) : file_(std::move(path)), executor_(executor) {}

  absl::Status Open() { return OpenWithSchema(&file_); }

  absl::StatusOr<v1::StoredState> Load() override {
    v1::StoredState state;
    PS_ASSIGN_OR_RETURN(const int64_t revision, file_.Number(kRevisionQuery));
    PS_ASSIGN_OR_RETURN(const int64_t term, file_.Number("SELECT value FROM meta WHERE key='term'"));
    state.set_revision(static_cast<uint64_t>(revision));
    state.set_term(static_cast<uint64_t>(term));
    PS_ASSIGN_OR_RETURN(*state.mutable_commit_id(), file_.Bytes(kCommitIdQuery));
    PS_RETURN_IF_ERROR(LoadMessages("jobs", [&] { return state.add_jobs(); }));
    PS_RETURN_IF_ERROR(LoadMessages("views", [&] { return state.add_views(); }));
    PS_RETURN_IF_ERROR(LoadMessages("workers", [&] { return state.add_workers(); }));
    PS_RETURN_IF_ERROR(LoadMessages("ticket_keys", [&] { return state.add_ticket_keys(); }));
    PS_RETURN_IF_ERROR(LoadMessages("revocations", [&] { return state.add_revocations(); }));
    PS_RETURN_IF_ERROR(file_.Each("SELECT number, data FROM history ORDER BY number", [&](const SqliteRow& row) {
      if (Parse(row.Bytes(1), state.add_history())) return absl::OkStatus();
      return file_.Damaged(absl::StrCat("event ", row.Number(0), " cannot be parsed"));
    }));
    PS_RETURN_IF_ERROR(file_.Each("SELECT name, data FROM pieces ORDER BY name", [&](const SqliteRow& row) {
      v1::StoredPiece* const piece = state.add_pieces();
      piece->set_name(std::string(row.Bytes(0)));
      piece->set_data(std::string(row.Bytes(1)));
      return absl::OkStatus();
    }));
    PS_RETURN_IF_ERROR(
        file_.Each("SELECT job, record, data FROM bad_records ORDER BY job, record", [&](const SqliteRow& row) {
          const std::string job(row.Bytes(0));
          const int count = state.bad_records_size();
          v1::StoredBadRecords* bad = count > 0 && state.bad_records(count - 1).job() == job
                                          ? state.mutable_bad_records(count - 1)
                                          : state.add_bad_records();
          bad->set_job(job);
          v1::BadRecord* record = bad->add_records();
          if (!Parse(row.Bytes(2), record)) {
            return file_.Damaged(absl::StrCat("a bad record of job ", job, " cannot be parsed"));
          }
          record->set_record(static_cast<uint64_t>(row.Number(1)));
          return absl::OkStatus();
        }));
    PS_RETURN_IF_ERROR(
        file_.Each("SELECT job, number, data FROM decisions ORDER BY job, number", [&](const SqliteRow& row) {
          const std::string job(row.Bytes(0));
          const int count = state.decisions_size();
          v1::StoredDecisions* decisions = count > 0 && state.decisions(count - 1).job() == job
                                               ? state.mutable_decisions(count - 1)
                                               : state.add_decisions();
          decisions->set_job(job);
          if (row.Number(1) != decisions->records_size() || !Parse(row.Bytes(2), decisions->add_records())) {
            return file_.Damaged(
                absl::StrCat("a decision about a record of job ", job, " is missing or cannot be parsed"));
          }
          return absl::OkStatus();
        }));
    return state;
  }

  void Commit(StoreCommit commit, Done done) override {
    executor_->Post(
        [this, commit = std::move(commit), done = std::move(done)]() mutable { std::move(done)(CommitNow(commit)); });
  }

  void Settle(std::string id, uint64_t expected_revision, Done done) override {
    executor_->Post([this, id = std::move(id), expected_revision, done = std::move(done)]() mutable {
      std::move(done)(SettleNow(id, expected_revision));
    });
  }

 private:
  CommitOutcome CommitNow(const StoreCommit& commit) {
    absl::Status status = file_.Run("BEGIN IMMEDIATE");
    if (!status.ok()) return {CommitOutcome::kNotStored, std::move(status)};
    status = WriteAll(commit);
    if (!status.ok()) {
      file_.RollBack();
      return {absl::IsAborted(status) ? CommitOutcome::kSuperseded : CommitOutcome::kNotStored, std::move(status)};
    }
    status = file_.Run("COMMIT");
    if (status.ok()) return {CommitOutcome::kStored, absl::OkStatus()};
    // The last write of a transaction to the log makes it valid. If a later sync fails, the log may be valid after a
    // crash. After any other error it is not.
    const bool unknown = file_.SyncFailed();
    file_.RollBack();
    return {unknown ? CommitOutcome::kUnknown : CommitOutcome::kNotStored, std::move(status)};
  }

  // A transaction that SQLite rolled back is still in the log if only its sync failed. So this writes a transaction,
  // which takes its place in the log. If that fails, a recovery of the log may still store the commit.
  CommitOutcome SettleNow(const std::string& id, uint64_t expected_revision) {
    absl::Status status = file_.Run("BEGIN IMMEDIATE");
    if (!status.ok()) return {CommitOutcome::kUnknown, std::move(status)};
    absl::StatusOr<std::string> last = file_.Bytes(kCommitIdQuery);
    absl::StatusOr<int64_t> revision = file_.Number(kRevisionQuery);
    status = last.status();
    if (status.ok()) status = revision.status();
    if (status.ok()) {
      status = file_.Run("INSERT INTO meta VALUES('settled', 1) ON CONFLICT(key) DO UPDATE SET value=value+1");
    }
    if (status.ok()) status = file_.Run("COMMIT");
    if (!status.ok()) {
      file_.RollBack();
      return {CommitOutcome::kUnknown, std::move(status)};
    }
    if (*last == id) return {CommitOutcome::kStored, absl::OkStatus()};
    if (static_cast<uint64_t>(*revision) == expected_revision) {
      return {CommitOutcome::kNotStored,
              absl::UnavailableError(absl::StrCat(file_.path(), ": the last commit was lost"))};
    }
    return {CommitOutcome::kSuperseded, Superseded(*revision, expected_revision)};
  }

  absl::Status Superseded(int64_t revision, uint64_t expected_revision) const {
    return absl::AbortedError(absl::StrCat(file_.path(), " was changed by another process (revision ", revision,
                                           ", expected ", expected_revision,
                                           "); only one coordinator may use a state_dir"));
  }

  // Returns Aborted if another process has written.
  absl::Status WriteAll(const StoreCommit& commit) {
    PS_ASSIGN_OR_RETURN(const int64_t revision, file_.Number(kRevisionQuery));
    if (static_cast<uint64_t>(revision) != commit.expected_revision) {
      return Superseded(revision, commit.expected_revision);
    }
    bool jobs_change = false, events_come = false;
    for (const auto& event : commit.events) {
      PS_RETURN_IF_ERROR(Write(*event));
      jobs_change = jobs_change || event->has_put_job() || event->has_delete_job();
      events_come = events_come || event->has_add_history();
    }
    if (jobs_change) {
      PS_RETURN_IF_ERROR(file_.Run("DELETE FROM pieces WHERE name NOT IN (SELECT piece FROM job_pieces)"));
    }
    if (events_come) {
      PS_RETURN_IF_ERROR(file_.Write(
          "DELETE FROM history WHERE number <= (SELECT number FROM history ORDER BY number DESC LIMIT 1 OFFSET ?)",
          {static_cast<int64_t>(kMostEvents)}));
    }
    PS_RETURN_IF_ERROR(file_.Write("INSERT OR REPLACE INTO meta VALUES('commit_id', ?)", {commit.id}));
    return file_.Run("UPDATE meta SET value=value+1 WHERE key='revision'");
  }

  absl::Status Write(const v1::StoreEvent& event) {
    switch (event.event_case()) {
      case v1::StoreEvent::kBeginTerm:
        return file_.Write("UPDATE meta SET value=? WHERE key='term'", {static_cast<int64_t>(event.begin_term())});
      case v1::StoreEvent::kPutPiece:
        return file_.Write("INSERT OR IGNORE INTO pieces VALUES(?, ?)",
                           {event.put_piece().name(), event.put_piece().data()});
      case v1::StoreEvent::kPutJob:
        return PutJob(event.put_job());
      case v1::StoreEvent::kDeleteJob:
        for (const char* of_job : {"DELETE FROM views WHERE name=?", "DELETE FROM bad_records WHERE job=?",
                                   "DELETE FROM decisions WHERE job=?", "DELETE FROM job_pieces WHERE job=?",
                                   "DELETE FROM jobs WHERE name=?"}) {
          PS_RETURN_IF_ERROR(file_.Write(of_job, {event.delete_job()}));
        }
        return absl::OkStatus();
      case v1::StoreEvent::kPutView:
        return Put("views", event.put_view().job(), event.put_view());
      case v1::StoreEvent::kPutWorker:
        return Put("workers", event.put_worker().registration().id(), event.put_worker());
      case v1::StoreEvent::kDeleteWorker:
        return file_.Write("DELETE FROM workers WHERE name=?", {event.delete_worker()});
      case v1::StoreEvent::kAddBadRecords:
        for (const v1::BadRecord& record : event.add_bad_records().records()) {
          PS_RETURN_IF_ERROR(file_.Write(
              "INSERT OR IGNORE INTO bad_records(job, record, data) VALUES(?, ?, ?)",
              {event.add_bad_records().job(), static_cast<int64_t>(record.record()), record.SerializeAsString()}));
        }
        return absl::OkStatus();
      case v1::StoreEvent::kAddDecisions: {
        auto number = static_cast<int64_t>(event.add_decisions().begin());
        for (const v1::BadRecord& record : event.add_decisions().records()) {
          PS_RETURN_IF_ERROR(file_.Write("INSERT INTO decisions(job, number, data) VALUES(?, ?, ?)",
                                         {event.add_decisions().job(), number++, record.SerializeAsString()}));
        }
        return absl::OkStatus();
      }
      case v1::StoreEvent::kPutTicketKey:
        return Put("ticket_keys", event.put_ticket_key().name(), event.put_ticket_key());
      case v1::StoreEvent::kDeleteTicketKey:
        return file_.Write("DELETE FROM ticket_keys WHERE name=?", {event.delete_ticket_key()});
      case v1::StoreEvent::kPutRevocation:
        return Put("revocations", event.put_revocation().name(), event.put_revocation());
      case v1::StoreEvent::kDeleteRevocation:
        return file_.Write("DELETE FROM revocations WHERE name=?", {event.delete_revocation()});
      case v1::StoreEvent::kAddHistory:
        return AddHistory(event.add_history());
      case v1::StoreEvent::EVENT_NOT_SET:
        break;
    }
    return absl::InternalError("an event without content");
  }

  absl::Status PutJob(const v1::StoredJob& job) {
    const std::string& name = job.job().name();
    PS_RETURN_IF_ERROR(file_.Write("DELETE FROM job_pieces WHERE job=?", {name}));
    int64_t number = 0;
    for (const std::string& piece : job.pieces()) {
      PS_RETURN_IF_ERROR(file_.Write("INSERT INTO job_pieces VALUES(?, ?, ?)", {name, number++, piece}));
    }
    return Put("jobs", name, job);
  }

  absl::Status AddHistory(const v1::HistoryEvent& event) {
    const std::string key = HistoryKey(event);
    PS_RETURN_IF_ERROR(file_.Write("INSERT OR REPLACE INTO history VALUES(?, ?, ?)",
                                   {static_cast<int64_t>(event.number()), key, event.SerializeAsString()}));
    return file_.Write(
        "DELETE FROM history WHERE key=?1 AND number <= "
        "(SELECT number FROM history WHERE key=?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
        {key, static_cast<int64_t>(kMostEventsOfKey)});
  }

  absl::Status Put(const std::string& table, const std::string& name, const google::protobuf::MessageLite& message) {
    return file_.Write(absl::StrCat("INSERT OR REPLACE INTO ", table, " VALUES(?, ?)"),
                       {name, message.SerializeAsString()});
  }

  static bool Parse(std::string_view data, google::protobuf::MessageLite* message) {
    return message->ParseFromArray(data.data(), static_cast<int>(data.size()));
  }

  template <typename Add>
  absl::Status LoadMessages(const std::string& table, const Add& add) {
    return file_.Each(absl::StrCat("SELECT name, data FROM ", table, " ORDER BY name"), [&](const SqliteRow& row) {
      if (Parse(row.Bytes(1), add())) return absl::OkStatus();
      return file_.Damaged(absl::StrCat("table ", table, ", entry ", std::string(row.Bytes(0)), " cannot be parsed"));
    });
  }

  SqliteFile file_;
  Executor* const executor_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path, Executor* executor) {
  auto store = std::make_unique<SqliteStore>(path, executor);
  PS_RETURN_IF_ERROR(store->Open());
  return store;
}

}  // namespace penstock::coordinator
