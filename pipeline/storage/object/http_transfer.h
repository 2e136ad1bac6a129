// One request on one of libcurl's handles. Inside of http_client.cc; everyone else uses http_client.h.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_TRANSFER_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_TRANSFER_H_

#include <curl/curl.h>

#include <array>

#include "absl/status/status.h"
#include "pipeline/storage/object/http_client.h"

namespace penstock {

// Stays where it is while its handle is in use; the request outlives it. The handle is the caller's.
struct HttpTransfer {
  // Prepares the handle, whose CURLINFO_PRIVATE is this from now on.
  HttpTransfer(const HttpRequest* asked, CURL* handle, void* owner);
  ~HttpTransfer() { curl_slist_free_all(headers); }
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  int Status() const;
  absl::Status ErrorOf(CURLcode code) const;

  const HttpRequest* const request;
  CURL* const easy;
  void* const user;  // whose it is
  HttpResponse response;
  size_t part = 0, of_part = 0;           // the body's next byte goes into that part, behind so many of it
  Nanos heard_at = Clock::Real()->Now();  // when something came last, or it began
  bool too_long = false;
  bool unwanted = false;  // by its headers: its body was not taken
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error = {};
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_TRANSFER_H_
