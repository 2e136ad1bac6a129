#include "net/trace/trace_parts.h"

#include <utility>

namespace penstock::net {
namespace {

v1::TraceEvent::Kind KindOf(TraceEvent::Kind kind) {
  switch (kind) {
    case TraceEvent::Kind::kOverlapping:
      return v1::TraceEvent::ASIDE;
    case TraceEvent::Kind::kRowSent:
      return v1::TraceEvent::ROW_SENT;
    case TraceEvent::Kind::kSpan:
      break;
  }
  return v1::TraceEvent::SPAN;
}

void FillEvent(const TraceEvent& event, Nanos began, v1::TraceEvent* out) {
  out->set_kind(KindOf(event.kind));
  out->set_name(event.name);
  out->set_begin(event.begin - began);
  out->set_length(static_cast<uint64_t>(event.end - event.begin));
  out->set_epoch(event.epoch);
  out->set_position(event.position == TraceEvent::kNone ? 0 : event.position + 1);
  out->set_record(event.record == TraceEvent::kNone ? 0 : event.record + 1);
  out->set_rows(event.rows);
  out->set_bytes(event.bytes);
  out->set_spread(static_cast<uint64_t>(event.spread));
}

}  // namespace

std::vector<v1::TracePart> MakeTraceParts(const TraceRecording& recording, const v1::TracePart& like,
                                          size_t most_events) {
  std::vector<v1::TracePart> parts;
  size_t left = 0;
  const auto begin_part = [&] {
    v1::TracePart& part = parts.emplace_back(like);
    part.set_began(recording.began);
    part.set_ended(recording.ended);
    for (const std::string& name : recording.names) part.add_names(name);
    left = most_events;
  };
  begin_part();
  for (const TraceRecording::Track& track : recording.tracks) {
    uint64_t dropped = track.dropped;  // report it in one part only
    size_t next = 0;
    do {
      if (left == 0) begin_part();
      v1::TraceTrack* const out = parts.back().add_tracks();
      out->set_name(track.name);
      out->set_session(track.session);
      out->set_dropped(std::exchange(dropped, 0));
      for (; next < track.events.size() && left > 0; ++next, --left) {
        FillEvent(track.events[next], recording.began, out->add_events());
      }
    } while (next < track.events.size());
  }
  return parts;
}

}  // namespace penstock::net
