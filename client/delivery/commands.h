// What the delivery core asks the shell around it to do.
#ifndef PENSTOCK_CLIENT_DELIVERY_COMMANDS_H_
#define PENSTOCK_CLIENT_DELIVERY_COMMANDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "pipeline/plan/steps.h"
#include "pipeline/plan/view.h"

namespace penstock {

// Get memory for a step: rows of it may arrive from now on. Steps are numbered from the session's first, without gaps.
struct BookStep {
  uint64_t ordinal = 0;
  StepSpan span;
  SlotRange slice;
};

// Streams have numbers of their own: a worker that is reached again gets a new one, so that late news of the old stream
// is known for what it is.
struct OpenStream {
  uint64_t stream = 0;
  std::string worker;  // its id
  std::string address;
  std::string local;  // how processes of its host reach it
};
// End the stream; no StreamBroken is expected for it.
struct CloseStream {
  uint64_t stream = 0;
};
struct SendView {
  uint64_t stream = 0;
  std::shared_ptr<const View> view;
};
struct SendGrant {
  uint64_t stream = 0;
  uint64_t view_term = 0;
  uint64_t view_number = 0;
  uint64_t epoch = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};
struct SendFetch {
  uint64_t stream = 0;
  uint64_t epoch = 0;
  std::vector<uint64_t> rows;  // ascending
};
struct SendWaiting {
  uint64_t stream = 0;
  uint64_t epoch = 0;
  uint64_t begin = 0;
};

// To be carried out in the order given.
using Command = std::variant<BookStep, OpenStream, CloseStream, SendView, SendGrant, SendFetch, SendWaiting>;

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_DELIVERY_COMMANDS_H_
