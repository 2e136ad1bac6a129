// A loader on virtual time. It makes one row at a time, each in `row_time`: urgent rows first, then the earliest steps.
// A row's FIXED columns repeat the number of its record.
#ifndef PENSTOCK_TESTS_SIMULATION_SIM_LOADER_H_
#define PENSTOCK_TESTS_SIMULATION_SIM_LOADER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/runtime/executor.h"
#include "pipeline/loader/loader.h"

namespace penstock::simulation {

// Not thread-safe.
class SimLoader final : public loader::Loader {
 public:
  // `executor` must outlive the loader.
  SimLoader(Executor* executor, Nanos row_time) : executor_(executor), row_time_(row_time) {}

  absl::StatusOr<std::unique_ptr<Session>> OpenSession(std::shared_ptr<const loader::LoadJob> job,
                                                       const loader::LoaderSessionOptions& options,
                                                       loader::RowSink* sink) override;
  loader::LoaderStats Stats() const override;

 private:
  class RowsOf;
  struct Opened {
    std::shared_ptr<const loader::LoadJob> job;
    loader::RowSink* sink = nullptr;
    uint64_t head = 0;
  };
  // Not urgent, step, session, arrival.
  using Place = std::tuple<bool, uint64_t, uint64_t, uint64_t>;

  void Add(uint64_t session, const std::vector<loader::RowRequest>& rows);
  void SetHead(uint64_t session, uint64_t step);
  void Close(uint64_t session);
  size_t Pending(uint64_t session) const;
  void Next();
  void Make();

  Executor* const executor_;
  const Nanos row_time_;
  std::map<uint64_t, Opened> sessions_;
  std::map<Place, loader::RowRequest> waiting_;
  bool making_ = false;
  uint64_t next_session_ = 1, next_arrival_ = 0, made_ = 0;
  Nanos busy_ = 0;
};

}  // namespace penstock::simulation

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_LOADER_H_
