#include "server/common/log_fields.h"

#include <utility>

namespace penstock::server {
namespace {

thread_local const LogFields* current = nullptr;

}  // namespace

AttachedLogFields::AttachedLogFields(const LogFields& fields) : before_(std::exchange(current, &fields)) {}

AttachedLogFields::~AttachedLogFields() { current = before_; }

const LogFields* AttachedLogFields::Current() { return current; }

}  // namespace penstock::server
