// URLs in places where a path is expected, without access to a storage.
#ifndef PENSTOCK_BASE_URL_H_
#define PENSTOCK_BASE_URL_H_

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Returns a URL for messages and logs, without secrets. Keeps the scheme, and replaces the part before the last '@',
// which may be a user and password, by "...". Removes the first '?' or '#' and the rest of the URL, which may be a
// signature.
std::string UrlForShow(std::string_view url);

// Returns a job's glob without secrets: UrlForShow of a URL that begins with "http", or that may have a user: with '@'
// or ':' before the first '/' after "://", and '@' there or later. Keeps other globs, in which '?' stands for one
// character.
std::string GlobForShow(std::string_view glob);

// Returns why a URL cannot be read, with the remedy. `schemes` are the schemes of the caller's storages, such as "s3".
// Returns "" if `path` is not a URL ("scheme://..."), has one of these schemes, or is "file://" and an absolute path.
std::string WhyNoUrl(std::string_view path, const std::vector<std::string>& schemes);

// Returns "/data/train-0" for "file:///data/train-0", and other paths unchanged. Does not decode percent signs.
std::string WithoutFileScheme(std::string_view path);

// Returns "http://host/a" for "http://host/a//".
std::string WithoutLastSlashes(std::string url);

}  // namespace penstock

#endif  // PENSTOCK_BASE_URL_H_
