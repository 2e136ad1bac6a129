// The files of the web page, which are parts of the program.
#ifndef PENSTOCK_SERVER_PAGE_PAGE_FILES_H_
#define PENSTOCK_SERVER_PAGE_PAGE_FILES_H_

#include <string>
#include <string_view>
#include <vector>

namespace penstock::server {

struct PageFile {
  std::string path;  // "/" or "/page/page.css"
  std::string content_type;
  std::string_view bytes;
};

// Returns all files, the document first.
std::vector<PageFile> PageFiles();

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_PAGE_PAGE_FILES_H_
