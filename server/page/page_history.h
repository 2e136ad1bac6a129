// The recent past of the cluster for the web page: what each rank got in the last hour, and the last events. Plain
// state: the caller passes the status and the time.
#ifndef PENSTOCK_SERVER_PAGE_PAGE_HISTORY_H_
#define PENSTOCK_SERVER_PAGE_PAGE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/v1/control.pb.h"

namespace penstock::server {

// Not thread-safe.
class PageHistory {
 public:
  static constexpr size_t kMostBytes = size_t{16} << 20;  // limit of all ranks and events
  static constexpr int64_t kSeconds = 10;                 // between two points of a rank
  static constexpr size_t kPoints = 360;                  // points of a rank: an hour
  static constexpr size_t kMostEvents = 256;
  static constexpr size_t kMostEventBytes = 512;  // limit of one event; the rest is cut off

  // Adds the events since the previous status, and a point for each rank unless the present kSeconds have one.
  // Forgets the ranks that have left. A rank for which there is no room gets no history. `now` is in seconds since
  // 1970.
  void Add(int64_t now, const v1::StatusReply& status);

  // Returns the points of up to `most` ranks of a job as JSON. The ranks that wait most come first.
  std::string RanksJson(std::string_view job, size_t most) const;
  // Returns the events as JSON, the last one first.
  std::string EventsJson() const;

  size_t bytes() const { return rank_bytes_ + event_bytes_; }
  size_t ranks() const { return ranks_.size(); }

 private:
  struct Point {
    float rows_per_second = -1;  // -1: there is no point
    float waited = 0;            // fraction of the time
  };
  using Key = std::pair<std::string, std::string>;  // job, session
  struct Rank {
    uint32_t rank = 0;
    uint64_t seen = 0;          // number of the last status with the rank
    std::vector<Point> points;  // kPoints; the point of time t is at t / kSeconds % kPoints
  };
  struct Event {
    int64_t at = 0;
    std::string text;
  };
  // State whose changes are events.
  struct Job {
    v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
    uint64_t view = 0, bad_records = 0;
    int readers = 0;
  };
  struct Worker {
    v1::WorkerStatus::State state = v1::WorkerStatus::STATE_UNSPECIFIED;
    std::string name;
  };

  static size_t BytesOf(const Key& key);
  void AddPoints(int64_t now, const v1::StatusReply& status);
  void AddJobEvents(int64_t now, const v1::StatusReply& status);
  void AddWorkerEvents(int64_t now, const v1::StatusReply& status);
  void AddEvent(int64_t now, std::string text);

  std::map<Key, Rank> ranks_;
  std::deque<Event> events_;  // the oldest first
  std::map<std::string, Job> jobs_;
  std::map<std::string, Worker> workers_;  // by id
  size_t rank_bytes_ = 0, event_bytes_ = 0;
  uint64_t number_ = 0;     // number of the last status
  int64_t last_point_ = 0;  // time of the last points; a multiple of kSeconds; 0: none
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_PAGE_PAGE_HISTORY_H_
