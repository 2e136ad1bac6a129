// When a wait is reported, and the maximum length of the report.
#ifndef PENSTOCK_CLIENT_SESSION_NOTICE_TIMES_H_
#define PENSTOCK_CLIENT_SESSION_NOTICE_TIMES_H_

#include <string>

#include "base/runtime/clock.h"
#include "base/utf8.h"

namespace penstock::client {

// The age at which a wait is first reported.
constexpr Nanos kFirstNotice = 3 * kSecond;

// The begin of a report of an open's wait. The cause follows it.
constexpr char kWaitsToOpen[] = "waiting to open: ";

// Returns the age at which a wait is reported next, after a report at age `last` (0: none yet): kFirstNotice, 30 s, 1,
// 2 and 4 minutes, then every 4 minutes.
inline Nanos NextNotice(Nanos last) {
  for (const Nanos age : {kFirstNotice, 30 * kSecond, 60 * kSecond, 120 * kSecond, 240 * kSecond}) {
    if (last < age) return age;
  }
  return last + 240 * kSecond;
}

// Returns the text of a report, truncated to 160 bytes.
inline std::string NoticeText(std::string text) {
  constexpr size_t kMost = 160;
  if (text.size() <= kMost) return text;
  TruncateUtf8(&text, kMost - 3);
  return text + "...";
}

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_NOTICE_TIMES_H_
