#include "net/view_proto.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock::net {

v1::View ToProto(const plan::View& view) {
  v1::View proto;
  proto.set_term(view.term);
  proto.set_number(view.n);
  proto.set_policy(view.policy == plan::AssignPolicy::kByRank ? v1::BY_RANK : v1::BY_RECORD);
  proto.set_key_space(view.key_space);
  for (const plan::ViewRange& range : view.ranges) {
    v1::View::Range* out = proto.add_ranges();
    out->set_begin(range.begin);
    out->set_end(range.end);
    out->set_owner(range.owner);
    out->set_backup(range.backup);
  }
  for (const plan::ViewWorker& worker : view.workers) {
    v1::View::Worker* out = proto.add_workers();
    out->set_id(worker.id);
    out->set_address(worker.address);
    out->set_local(worker.local);
    out->set_name(worker.name);
    out->set_tls_name(worker.tls_name);
  }
  return proto;
}

absl::StatusOr<plan::View> FromProto(const v1::View& proto) {
  plan::View view;
  view.term = proto.term();
  view.n = proto.number();
  switch (proto.policy()) {
    case v1::BY_RECORD:
      view.policy = plan::AssignPolicy::kByRecord;
      break;
    case v1::BY_RANK:
      view.policy = plan::AssignPolicy::kByRank;
      break;
    default:
      return absl::UnimplementedError(absl::StrCat("view (", view.term, ", ", view.n, ") has the assignment policy ",
                                                   static_cast<int>(proto.policy()),
                                                   ", which this release does not know"));
  }
  view.key_space = proto.key_space();
  for (const v1::View::Range& range : proto.ranges()) {
    view.ranges.push_back({range.begin(), range.end(), range.owner(), range.backup()});
  }
  for (const v1::View::Worker& worker : proto.workers()) {
    view.workers.push_back({worker.id(), worker.address(), worker.local(), worker.name(), worker.tls_name()});
  }
  PS_RETURN_IF_ERROR(view.Validate());
  return view;
}

}  // namespace penstock::net
