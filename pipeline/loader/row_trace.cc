#include "pipeline/loader/row_trace.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::loader {
namespace {

std::string_view NameOf(RowMaker::End end) {
  switch (end) {
    case RowMaker::End::kMade:
      return "row";
    case RowMaker::End::kPutBack:
      return "row queued again: no memory";
    case RowMaker::End::kNotReady:
      return "row parked: its shard is not open";
    case RowMaker::End::kNotRead:
      return "row parked: its record is not read yet";
  }
  return "row";
}

}  // namespace

void TraceRow(const TracedRow& row, const MadeRow& made, const StageTimes& times, TraceRecorder* trace) {
  const std::shared_ptr<TraceTrack> track = trace->Track(absl::StrCat("row thread ", row.thread + 1));
  if (track == nullptr) return;
  TraceEvent event;
  event.begin = row.began;
  event.end = row.ended;
  if (!trace->Wants(row.job->spec().name())) {
    event.name = trace->Name("row of another job");
    track->Add(event);
    return;
  }
  event.epoch = row.request.epoch;
  event.position = row.request.position;
  event.record = row.end == RowMaker::End::kMade ? made.source_record : made.missing_record;
  event.bytes = made.bytes_read;
  // Inner events before outer ones: a track keeps events in the order of their ends.
  const std::vector<StageTimes::Span>& spans = times.spans();
  const std::vector<std::string>& stages = row.job->PipelineOf(event.record).stages();
  if (made.read_ended != 0) {
    TraceEvent read = event;
    read.name = trace->Name("read");
    read.begin = made.read_began;
    read.end = made.read_ended;
    track->Add(read);
  }
  for (size_t i = spans.size(); i-- > 0;) {
    const StageTimes::Span& span = spans[i];
    TraceEvent inside;
    inside.name = trace->Name(span.stage < stages.size() ? stages[span.stage] : "?");
    inside.begin = span.begin;
    inside.end = span.end;
    // Pieces without inner spans (strips of rows that the decoder passes to the resize) become one event of their total
    // length.
    const bool holds = std::any_of(spans.begin(), spans.end(), [i](const auto& other) { return other.parent == i; });
    if (!holds && span.inside < span.end - span.begin) {
      inside.spread = span.end - span.begin;
      inside.begin = span.end - span.inside;
    }
    track->Add(inside);
  }
  event.name = trace->Name(NameOf(row.end));
  track->Add(event);
}

void TraceRead(const LoadJob& job, const RowRequest& request, uint64_t record, Nanos began, Nanos ended,
               TraceRecorder* trace) {
  if (trace == nullptr || !trace->Wants(job.spec().name())) return;
  const std::shared_ptr<TraceTrack> track = trace->Track("reads of rows that wait");
  if (track == nullptr) return;
  TraceEvent event;
  event.kind = TraceEvent::Kind::kOverlapping;
  event.name = trace->Name("read");
  event.begin = began;
  event.end = ended;
  event.epoch = request.epoch;
  event.position = request.position;
  event.record = record;
  track->Add(event);
}

}  // namespace penstock::loader
