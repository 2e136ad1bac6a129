// One request on one libcurl handle. Internal to http_client.cc; other code uses http_client.h.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_HTTP_TRANSFER_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_HTTP_TRANSFER_H_

#include <curl/curl.h>

#include <array>

#include "absl/status/status.h"
#include "pipeline/storage/object/common/http_client.h"

namespace penstock::storage {

// Must not move while its handle is in use. The request must outlive it. The caller owns the handle.
struct HttpTransfer {
  // Prepares the handle and sets its CURLINFO_PRIVATE to this object.
  HttpTransfer(const HttpRequest* asked, CURL* handle, void* owner, Clock* time);
  ~HttpTransfer() { curl_slist_free_all(headers); }
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  int Status() const;
  absl::Status ErrorOf(CURLcode code) const;

  const HttpRequest* const request;
  CURL* const easy;
  void* const user;  // the owner
  HttpResponse response;
  size_t part = 0, of_part = 0;  // place of the body's next byte: the part, and the offset in it
  Clock* const clock;
  Nanos heard_at;  // when data last arrived, or the start
  bool too_long = false;
  bool unwanted = false;  // the headers were not the wanted ones, so the body was not read
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error = {};
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_HTTP_TRANSFER_H_
