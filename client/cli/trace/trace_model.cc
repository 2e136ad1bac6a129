#include "client/cli/trace/trace_model.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace penstock::cli {
namespace {

using Event = TraceModel::Event;
using Track = TraceModel::Track;
using Process = TraceModel::Process;
using Place = TraceModel::Place;

// Sorts "row thread 2" before "row thread 10".
std::pair<std::string, uint64_t> InOrder(const Track& track) {
  const size_t digits = track.name.find_last_not_of("0123456789") + 1;
  uint64_t number = 0;
  for (size_t i = digits; i < track.name.size() && i < digits + 9; ++i) number = 10 * number + (track.name[i] - '0');
  return {(track.name == "trainer" ? "" : "x") + track.name.substr(0, digits), number};
}

void AddPart(const v1::TracePart& part, Process* process) {
  process->worker = part.worker();
  process->host = part.host();
  process->version = part.version();
  process->rank = part.rank();
  process->sessions.assign(part.sessions().begin(), part.sessions().end());
  process->sessions.push_back(part.process());
  process->clock = {part.least_offset(), part.most_offset()};
  process->round_trip = static_cast<Nanos>(part.round_trip());
  process->exchanges = part.exchanges();
  for (const v1::TraceTrack& in : part.tracks()) {
    auto track = std::find_if(process->tracks.begin(), process->tracks.end(), [&in](const Track& there) {
      return there.name == in.name() && there.session == in.session();
    });
    if (track == process->tracks.end()) {
      track = process->tracks.insert(track, Track());
      track->name = in.name();
      track->session = in.session();
    }
    track->dropped += in.dropped();
    for (const v1::TraceEvent& event : in.events()) {
      Event& out = track->events.emplace_back();
      if (event.name() < static_cast<uint32_t>(part.names_size()))
        out.name = part.names(static_cast<int>(event.name()));
      out.kind = event.kind();
      out.begin = part.began() + event.begin();
      out.end = out.begin + static_cast<Nanos>(event.length());
      out.epoch = event.epoch();
      out.position = event.position();
      out.record = event.record();
      out.rows = event.rows();
      out.bytes = event.bytes();
      out.spread = static_cast<Nanos>(event.spread());
    }
  }
}

bool IsRow(const Event& event) { return event.kind == v1::TraceEvent::SPAN && event.name == "row"; }
bool IsSpan(const Event& event, std::string_view name) {
  return event.kind == v1::TraceEvent::SPAN && event.name == name;
}

// The place of an event, for look-ups by its key.
struct Found {
  size_t process = 0, track = 0, event = 0;
};
using MessageKey = std::tuple<std::string, uint64_t, uint64_t, uint64_t>;  // session, epoch, first position, rows

class Links {
 public:
  explicit Links(TraceModel* model) : model_(model) {
    for (size_t p = 0; p < model->processes.size(); ++p) {
      for (size_t t = 0; t < model->processes[p].tracks.size(); ++t) {
        const Track& track = model->processes[p].tracks[t];
        for (size_t e = 0; e < track.events.size(); ++e) {
          const Event& event = track.events[e];
          const Found found{p, t, e};
          if (IsRow(event)) rows_[{p, event.epoch, event.position}].push_back(found);
          if (IsSpan(event, "send")) sends_.push_back(found);
          if (IsSpan(event, "seal")) seals_[{p, event.epoch, event.position}] = found;
          if (IsSpan(event, "wait") && event.position != 0) waits_.push_back(found);
          if (!IsSpan(event, "receive")) continue;
          for (const std::string& session : model->processes[p].sessions) {
            receives_[{session, event.epoch, event.position, event.rows}].push_back(found);
          }
        }
      }
    }
  }

  // Returns each sent message with its receipt. Equal messages (rows fetched twice) are matched in their order. Omits
  // messages without a receipt.
  std::vector<std::pair<Found, Found>> Messages() const {
    std::vector<std::pair<Found, Found>> messages;
    std::map<MessageKey, size_t> taken;
    for (const Found& send : sends_) {
      const Event& event = At(send);
      const MessageKey key{TrackOf(send).session, event.epoch, event.position, event.rows};
      const auto found = receives_.find(key);
      if (found == receives_.end()) continue;
      const size_t next = taken[key]++;
      if (next < found->second.size()) messages.emplace_back(send, found->second[next]);
    }
    return messages;
  }

  void MakeFlows() {
    for (const auto& [send, receive] : Messages()) {
      const Event& message = At(send);
      const std::vector<Event>& events = TrackOf(send).events;
      const auto first = std::lower_bound(events.begin(), events.end(), message.begin,
                                          [](const Event& event, Nanos begin) { return event.begin < begin; });
      for (auto it = first; it != events.end() && it->begin == message.begin; ++it) {
        const Event& sent = *it;
        if (sent.kind != v1::TraceEvent::ROW_SENT) continue;
        const auto rows = rows_.find({send.process, sent.epoch, sent.position});
        if (rows == rows_.end()) continue;
        const Found* row = nullptr;  // the last one made by then
        for (const Found& made : rows->second) {
          if (At(made).end <= message.begin && (row == nullptr || At(made).end > At(*row).end)) row = &made;
        }
        if (row == nullptr) continue;
        model_->flows.push_back({"row", {LastOf(*row), FirstOf(send), FirstOf(receive)}});
      }
    }
    for (const Found& wait : waits_) {
      const Event& event = At(wait);
      const auto seal = seals_.find({wait.process, event.epoch, event.position});
      if (seal == seals_.end() || At(seal->second).end > event.end) continue;
      model_->flows.push_back({"step", {LastOf(seal->second), LastOf(wait)}});
    }
  }

  const Event& At(const Found& found) const { return TrackOf(found).events[found.event]; }

 private:
  const Track& TrackOf(const Found& found) const { return model_->processes[found.process].tracks[found.track]; }
  Place FirstOf(const Found& found) const { return {found.process, found.track, At(found).begin}; }
  // Returns a place just before the event's end.
  Place LastOf(const Found& found) const {
    return {found.process, found.track, std::max(At(found).begin, At(found).end - 1)};
  }

  TraceModel* const model_;
  using OfProcess = std::tuple<size_t, uint64_t, uint64_t>;  // with epoch and position
  std::map<OfProcess, std::vector<Found>> rows_;
  std::map<OfProcess, Found> seals_;
  std::map<MessageKey, std::vector<Found>> receives_;
  std::vector<Found> sends_, waits_;
};

void SortEvents(Process* process) {
  std::stable_sort(process->tracks.begin(), process->tracks.end(),
                   [](const Track& a, const Track& b) { return InOrder(a) < InOrder(b); });
  for (Track& track : process->tracks) {
    std::stable_sort(track.events.begin(), track.events.end(), [](const Event& a, const Event& b) {
      return std::tuple(a.begin, -a.end) < std::tuple(b.begin, -b.end);
    });
  }
}

}  // namespace

TraceModel MakeTraceModel(const std::vector<v1::TracePart>& parts) {
  std::map<std::pair<bool, std::string>, Process> by_id;
  for (const v1::TracePart& part : parts) {
    Process& process = by_id[{part.worker(), part.process()}];
    process.id = part.process();
    AddPart(part, &process);
  }
  TraceModel model;
  for (auto& [key, process] : by_id) {
    SortEvents(&process);
    model.processes.push_back(std::move(process));
  }
  std::stable_sort(model.processes.begin(), model.processes.end(), [](const Process& a, const Process& b) {
    return std::tuple(a.worker, a.rank) < std::tuple(b.worker, b.rank);
  });

  std::vector<SeenMessage> messages;
  std::vector<ClockBounds> bounds;
  for (const Process& process : model.processes) bounds.push_back(process.clock);
  const Links own(&model);
  for (const auto& [send, receive] : own.Messages()) {
    messages.push_back({send.process, receive.process, own.At(send).begin, own.At(receive).begin});
  }
  const std::vector<Nanos> offsets = FitClocks(bounds, messages);
  Nanos first = INT64_MAX;
  for (size_t p = 0; p < model.processes.size(); ++p) {
    model.processes[p].offset = offsets[p];
    for (Track& track : model.processes[p].tracks) {
      for (Event& event : track.events) {
        event.begin += offsets[p];
        event.end += offsets[p];
        first = std::min(first, event.begin);
      }
    }
  }
  for (Process& process : model.processes) {
    for (Track& track : process.tracks) {
      for (Event& event : track.events) {
        event.begin -= first;
        event.end -= first;
      }
    }
  }
  Links(&model).MakeFlows();
  return model;
}

}  // namespace penstock::cli
