// Commands of the delivery core to its shell.
#ifndef PENSTOCK_CLIENT_DELIVERY_COMMANDS_H_
#define PENSTOCK_CLIENT_DELIVERY_COMMANDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "pipeline/plan/steps.h"
#include "pipeline/plan/view.h"

namespace penstock::client {

// Allocate memory for a step. Its rows may arrive from now on. Ordinals count the session's steps without gaps.
struct BookStep {
  uint64_t ordinal = 0;
  plan::StepSpan span;
  plan::SlotRange slice;
};

// Open a stream. Each connection to a worker has a new stream number, which identifies late events of older ones.
struct OpenStream {
  uint64_t stream = 0;
  std::string worker;  // worker id
  std::string address;
  std::string local;     // address for processes of the worker's host
  std::string tls_name;  // name in the worker's certificate; empty: it serves plaintext
};
// Close the stream. A later StreamBroken of it has no effect.
struct CloseStream {
  uint64_t stream = 0;
};
struct SendView {
  uint64_t stream = 0;
  std::shared_ptr<const plan::View> view;
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
  std::vector<uint64_t> rows;     // ascending
  std::vector<uint64_t> decided;  // ascending: records that these rows need and that are decided to be bad
};
// Notify the worker that the trainer waits for the step that begins here.
struct SendWaiting {
  uint64_t stream = 0;
  uint64_t epoch = 0;
  uint64_t begin = 0;
};
// Ask the coordinator, until it decides, whether these records are bad. A copy of each is damaged, and no available
// worker is left to ask. Pass the decisions to Decided and Intact.
struct AskVerdicts {
  std::vector<uint64_t> records;
};
// Keep the tracker's own decision until the coordinator has stored it.
struct StoreDecision {
  uint64_t record = 0;
  std::string message;  // the defect of the copies
};

// A shell must carry out commands in order.
using Command = std::variant<BookStep, OpenStream, CloseStream, SendView, SendGrant, SendFetch, SendWaiting,
                             AskVerdicts, StoreDecision>;

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_DELIVERY_COMMANDS_H_
