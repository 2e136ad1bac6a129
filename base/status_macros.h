// Early return on errors in an absl::Status.
#ifndef PENSTOCK_BASE_STATUS_MACROS_H_
#define PENSTOCK_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define PS_CONCAT_INNER(a, b) a##b
#define PS_CONCAT(a, b) PS_CONCAT_INNER(a, b)

// PS_RETURN_IF_ERROR(expr): returns expr's status from this function unless it is OK.
#define PS_RETURN_IF_ERROR(expr)                            \
  do {                                                      \
    if (absl::Status ps_status = (expr); !ps_status.ok()) { \
      return ps_status;                                     \
    }                                                       \
  } while (false)

// PS_ASSIGN_OR_RETURN(auto x, expr): assigns expr's value, or returns its status from this function.
#define PS_ASSIGN_OR_RETURN(lhs, expr) PS_ASSIGN_OR_RETURN_IMPL(PS_CONCAT(ps_or_, __LINE__), lhs, expr)
#define PS_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = *std::move(tmp)

#endif  // PENSTOCK_BASE_STATUS_MACROS_H_
