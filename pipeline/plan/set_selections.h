// The selections of a job's data sets in messages: `selection` is that of the only data set, `set_selections` are those
// of several. Without either, the data sets have all records of their files.
#ifndef PENSTOCK_PIPELINE_PLAN_SET_SELECTIONS_H_
#define PENSTOCK_PIPELINE_PLAN_SET_SELECTIONS_H_

#include "penstock/v1/selection.pb.h"

namespace penstock::plan {

// Returns the selection of a data set; one without steps selects all records. `message` is a Snapshot or a
// ReportTaskRequest. The result refers to `message`.
template <typename Message>
const v1::Selection& SelectionOf(const Message& message, int set) {
  if (set < message.set_selections_size()) return message.set_selections(set);
  return set == 0 ? message.selection() : v1::Selection::default_instance();
}

// Returns whether a data set of the message has a selection.
template <typename Message>
bool HasSelection(const Message& message) {
  return message.has_selection() || message.set_selections_size() > 0;
}

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_SET_SELECTIONS_H_
