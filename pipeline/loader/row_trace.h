// The loader's part of a trace: a track for each thread, with its rows and their stages, and a track with the reads of
// records whose rows are parked.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_TRACE_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_TRACE_H_

#include "base/runtime/clock.h"
#include "base/trace/trace_recorder.h"
#include "pipeline/augment/value/stage_times.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/row_maker.h"
#include "pipeline/loader/row_request.h"

namespace penstock::loader {

// A thread's work on a row.
struct TracedRow {
  int thread = 0;
  const LoadJob* job = nullptr;
  RowRequest request;
  RowMaker::End end = RowMaker::End::kMade;
  Nanos began = 0, ended = 0;
};

// Adds a row. `times` are those of this row, with spans. A row of a job that is not traced is added without details.
// `trace` must not be null.
void TraceRow(const TracedRow& row, const MadeRow& made, const StageTimes& times, TraceRecorder* trace);

// Adds the read of a record for a parked row. Adds nothing for a job that is not traced, or if `trace` is null.
void TraceRead(const LoadJob& job, const RowRequest& request, uint64_t record, Nanos began, Nanos ended,
               TraceRecorder* trace);

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_TRACE_H_
