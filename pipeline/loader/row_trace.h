// What a trace shows of a loader: a track for each thread, with its rows and their stages, and one with the reads of
// records whose rows wait aside.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_TRACE_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_TRACE_H_

#include "base/runtime/clock.h"
#include "base/trace/trace_recorder.h"
#include "pipeline/augment/value/stage_times.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/row_maker.h"
#include "pipeline/loader/row_request.h"

namespace penstock {

// What a thread did with a row.
struct TracedRow {
  int thread = 0;
  const LoadJob* job = nullptr;
  RowRequest request;
  RowMaker::End end = RowMaker::End::kMade;
  Nanos began = 0, ended = 0;
};

// `times`: of this row, with spans. Of a row of another job than the one that is traced only that is said.
void TraceRow(const TracedRow& row, const MadeRow& made, const StageTimes& times, TraceRecorder* trace);

// A record was brought for a row that waits aside. `trace` may be null.
void TraceRead(const LoadJob& job, const RowRequest& request, uint64_t record, Nanos began, Nanos ended,
               TraceRecorder* trace);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_TRACE_H_
