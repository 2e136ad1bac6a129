// Facts of several kinds, for tests of stores.
#ifndef PENSTOCK_TESTS_SERVER_COORDINATOR_SOME_EVENTS_H_
#define PENSTOCK_TESTS_SERVER_COORDINATOR_SOME_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/v1/store.pb.h"

namespace penstock::coordinator {

inline std::vector<v1::StoreEvent> SomeEvents() {
  std::vector<v1::StoreEvent> events(8);
  events[0].set_begin_term(3);
  events[1].mutable_put_job()->mutable_job()->set_name("train");
  events[1].mutable_put_job()->mutable_job()->set_uid(5);
  events[1].mutable_put_job()->set_conformance_digest("d");
  events[2].mutable_put_view()->set_job("train");
  events[2].mutable_put_view()->mutable_view()->set_number(9);
  events[3].mutable_put_worker()->mutable_registration()->set_id("a");
  events[3].mutable_put_worker()->set_state(v1::WorkerStatus::DEAD);
  events[4].mutable_add_bad_records()->set_job("train");
  for (uint64_t number : {4, 2, 4}) {
    v1::BadRecord* record = events[4].mutable_add_bad_records()->add_records();
    record->set_record(number);
    record->set_reason("wrong CRC");
    record->set_message("record " + std::to_string(number));
  }
  events[5].mutable_put_job()->mutable_job()->set_name("eval");
  for (uint64_t begin : {0, 2}) {
    v1::StoredDecisions* decisions = events[6 + begin / 2].mutable_add_decisions();
    decisions->set_job("train");
    decisions->set_begin(begin);
    for (uint64_t number : {19 - begin, 3 + begin}) {
      v1::BadRecord* record = decisions->add_records();
      record->set_record(number);
      record->set_by_reader(number == 3);
    }
  }
  return events;
}

}  // namespace penstock::coordinator

#endif  // PENSTOCK_TESTS_SERVER_COORDINATOR_SOME_EVENTS_H_
