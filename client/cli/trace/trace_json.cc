#include "client/cli/trace/trace_json.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/json.h"
#include "client/cli/trace/trace_model.h"

namespace penstock::cli {
namespace {

using Event = TraceModel::Event;
using Track = TraceModel::Track;
using Process = TraceModel::Process;

std::string Micros(Nanos time) {
  const char* const sign = time < 0 ? "-" : "";
  const uint64_t nanos = time < 0 ? -static_cast<uint64_t>(time) : static_cast<uint64_t>(time);
  return absl::StrFormat("%s%d.%03d", sign, nanos / 1000, nanos % 1000);
}

class Writer {
 public:
  explicit Writer(const TraceInput& input) : input_(input), model_(MakeTraceModel(input.parts)) {}

  std::string Write(TraceSummary* summary) {
    out_ = "{\"displayTimeUnit\":\"ms\",\n\"otherData\":";
    absl::StrAppend(&out_, About(), ",\n\"traceEvents\":[\n");
    for (size_t p = 0; p < model_.processes.size(); ++p) WriteProcess(p, summary);
    for (size_t f = 0; f < model_.flows.size(); ++f) WriteFlow(f);
    absl::StrAppend(&out_, "\n]}\n");
    summary->events = events_;
    summary->seconds = static_cast<double>(last_) / kSecond;
    return std::move(out_);
  }

 private:
  static size_t Pid(size_t process) { return process + 1; }
  static size_t Tid(size_t track) { return track + 1; }

  std::string NameOf(const Process& process) const {
    if (process.worker) return absl::StrCat("worker ", process.id);
    return absl::StrCat("trainer, rank ", process.rank, " on ", process.host);
  }

  // Returns the metadata of the whole trace: the accuracy of its clocks, and its gaps.
  std::string About() const {
    std::vector<std::string> processes, missing;
    for (const Process& process : model_.processes) {
      uint64_t dropped = 0;
      for (const Track& track : process.tracks) dropped += track.dropped;
      Json json;
      json.Field("process", NameOf(process)).Field("id", process.id).Field("host", process.host);
      json.Field("release", process.version);
      json.Raw("clock_offset_us", Micros(process.offset));
      json.Raw("clock_uncertainty_us", Micros((process.clock.most - process.clock.least) / 2));
      json.Raw("round_trip_us", Micros(process.round_trip));
      json.Field("clock_exchanges", static_cast<uint64_t>(process.exchanges)).Field("dropped_events", dropped);
      processes.push_back(json.Object());
    }
    for (const v1::MissingProcess& process : input_.missing) {
      Json json;
      json.Field("process", absl::StrCat(process.worker() ? "worker " : "trainer, session ", process.process()));
      json.Field("why", process.why());
      missing.push_back(json.Object());
    }
    Json about;
    about.Field("source", "penstock trace").Field("release", input_.version).Field("job", input_.job);
    about.Field(
        "clock",
        "the coordinator's; offsets of processes from the round trips of calls to it, moved inside their bounds "
        "so that no message is received before it is sent");
    about.Raw("processes", Json::Array(processes)).Raw("missing", Json::Array(missing));
    about.Field("parts_without_room", input_.refused_parts);
    return about.Object();
  }

  void Line(const std::string& json) {
    if (!first_) absl::StrAppend(&out_, ",\n");
    first_ = false;
    absl::StrAppend(&out_, json);
  }

  void Meta(const char* what, size_t pid, size_t tid, const std::string& args) {
    Line(
        absl::StrCat("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", pid, ",\"tid\":", tid, ",\"args\":", args, "}"));
  }

  void WriteProcess(size_t p, TraceSummary* summary) {
    const Process& process = model_.processes[p];
    ++(process.worker ? summary->workers : summary->trainers);
    Meta("process_name", Pid(p), 0, Json().Field("name", NameOf(process)).Object());
    Meta("process_sort_index", Pid(p), 0, Json().Field("sort_index", static_cast<uint64_t>(p)).Object());
    Meta("process_labels", Pid(p), 0,
         Json().Field("labels", absl::StrCat(process.host, ", release ", process.version)).Object());
    for (size_t t = 0; t < process.tracks.size(); ++t) {
      const Track& track = process.tracks[t];
      Meta("thread_name", Pid(p), Tid(t), Json().Field("name", TrackName(track)).Object());
      Meta("thread_sort_index", Pid(p), Tid(t), Json().Field("sort_index", static_cast<uint64_t>(t)).Object());
      summary->dropped += track.dropped;
      if (track.dropped > 0) WriteDropped(p, t);
      for (const Event& event : track.events) {
        if (event.kind == v1::TraceEvent::ROW_SENT) continue;
        if (event.kind == v1::TraceEvent::SPAN && event.name == "row") ++summary->rows;
        WriteEvent(event, p, t);
      }
    }
  }

  // Returns "send to rank 1": users do not know the session's id.
  std::string TrackName(const Track& track) const {
    if (track.session.empty()) return track.name;
    for (const Process& process : model_.processes) {
      if (process.worker) continue;
      if (std::find(process.sessions.begin(), process.sessions.end(), track.session) == process.sessions.end())
        continue;
      return absl::StrCat("send to rank ", process.rank);
    }
    return track.name;
  }

  void WriteDropped(size_t p, size_t t) {
    const Track& track = model_.processes[p].tracks[t];
    const Nanos at = track.events.empty() ? 0 : track.events.front().begin;
    Line(absl::StrCat("{\"ph\":\"i\",\"s\":\"t\",\"name\":\"", track.dropped, " earlier events had no room\",\"pid\":",
                      Pid(p), ",\"tid\":", Tid(t), ",\"ts\":", Micros(at), "}"));
  }

  std::string Args(const Event& event) const {
    Json args;
    if (event.position > 0) {
      args.Field("epoch", event.epoch).Field("position", event.position - 1);
    }
    std::string file;
    uint64_t number = 0;
    if (event.record > 0) {
      if (input_.place != nullptr && input_.place(event.record - 1, &file, &number)) {
        args.Field("file", file).Field("record", number);
      } else {
        args.Field("record_of_data_set", event.record - 1);
      }
    }
    if (event.rows > 0) args.Field("rows", event.rows);
    if (event.bytes > 0) args.Field("bytes", event.bytes);
    if (event.spread > 0) args.Raw("in_pieces_over_us", Micros(event.spread));
    return args.Object();
  }

  void WriteEvent(const Event& event, size_t p, size_t t) {
    ++events_;
    last_ = std::max(last_, event.end);
    const std::string head =
        absl::StrCat("\"name\":", Json::Quote(event.name), ",\"pid\":", Pid(p), ",\"tid\":", Tid(t));
    if (event.kind == v1::TraceEvent::ASIDE) {
      const std::string id = absl::StrCat(",\"cat\":\"overlapping\",\"id\":", events_, ",");
      Line(absl::StrCat("{\"ph\":\"b\",", head, id, "\"ts\":", Micros(event.begin), ",\"args\":", Args(event), "}"));
      Line(absl::StrCat("{\"ph\":\"e\",", head, id, "\"ts\":", Micros(event.end), "}"));
      return;
    }
    Line(absl::StrCat("{\"ph\":\"X\",", head, ",\"ts\":", Micros(event.begin),
                      ",\"dur\":", Micros(event.end - event.begin), ",\"args\":", Args(event), "}"));
  }

  void WriteFlow(size_t f) {
    const TraceModel::Flow& flow = model_.flows[f];
    for (size_t i = 0; i < flow.places.size(); ++i) {
      const char* const phase = i == 0 ? "\"s\"" : i + 1 == flow.places.size() ? "\"f\",\"bp\":\"e\"" : "\"t\"";
      const TraceModel::Place& place = flow.places[i];
      Line(absl::StrCat("{\"ph\":", phase, ",\"cat\":\"flow\",\"name\":\"", flow.name, "\",\"id\":", f + 1, ",\"pid\":",
                        Pid(place.process), ",\"tid\":", Tid(place.track), ",\"ts\":", Micros(place.at), "}"));
    }
  }

  const TraceInput& input_;
  const TraceModel model_;
  std::string out_;
  bool first_ = true;
  uint64_t events_ = 0;
  Nanos last_ = 0;
};

}  // namespace

std::string TraceJson(const TraceInput& input, TraceSummary* summary) {
  *summary = TraceSummary();
  return Writer(input).Write(summary);
}

}  // namespace penstock::cli
