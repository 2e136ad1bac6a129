#include "server/page/page_files.h"

namespace penstock::server {

// CMakeLists.txt makes a function of each file.
namespace page {
std::string_view index_html();
std::string_view page_css();
std::string_view page_js();
std::string_view data_js();
std::string_view words_js();
std::string_view dom_js();
std::string_view chart_js();
std::string_view overview_js();
std::string_view job_js();
std::string_view workers_js();
std::string_view more_js();
}  // namespace page

std::vector<PageFile> PageFiles() {
  constexpr char kHtml[] = "text/html; charset=utf-8", kCss[] = "text/css; charset=utf-8",
                 kScript[] = "text/javascript; charset=utf-8";
  return {{"/", kHtml, page::index_html()},
          {"/page/page.css", kCss, page::page_css()},
          {"/page/page.js", kScript, page::page_js()},
          {"/page/data.js", kScript, page::data_js()},
          {"/page/words.js", kScript, page::words_js()},
          {"/page/dom.js", kScript, page::dom_js()},
          {"/page/chart.js", kScript, page::chart_js()},
          {"/page/overview.js", kScript, page::overview_js()},
          {"/page/job.js", kScript, page::job_js()},
          {"/page/workers.js", kScript, page::workers_js()},
          {"/page/more.js", kScript, page::more_js()}};
}

}  // namespace penstock::server
