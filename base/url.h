// URLs where a path is meant, and no storage is behind them.
#ifndef PENSTOCK_BASE_URL_H_
#define PENSTOCK_BASE_URL_H_

#include <string>
#include <string_view>

namespace penstock {

// A URL as it may be shown to those who see messages and logs: without what stands before an '@', a user and a
// password, nor behind '?' or '#', a signature.
std::string UrlForShow(std::string_view url);

// "" where `path` is no URL ("scheme://..."), or one that is read (pipeline/storage/object), else why it cannot be
// read, with the way out.
std::string WhyNoUrl(std::string_view path);

// "/data/train-0" of "file:///data/train-0"; all else as it is. Percent signs stay as they are.
std::string WithoutFileScheme(std::string_view path);

}  // namespace penstock

#endif  // PENSTOCK_BASE_URL_H_
