// Windows of an array: records of several rows.
#ifndef PENSTOCK_PIPELINE_SOURCES_NPY_ROW_WINDOWS_H_
#define PENSTOCK_PIPELINE_SOURCES_NPY_ROW_WINDOWS_H_

#include <cstdint>
#include <string>

namespace penstock::sources {

// Record k has the rows from k * stride to k * stride + size. Rows at the end of the array that fill no record belong
// to none.
struct RowWindows {
  uint64_t size = 0;    // rows of a record; 0: each row is a record, without a dimension of rows
  uint64_t stride = 0;  // rows from the first one of a record to that of the next; at least 1, unless size is 0
  // Not empty: the file has only numbers, without a header, and each is a row. NumPy's name of their type, such as
  // "<u2". Requires `size`.
  std::string type = {};

  bool empty() const { return size == 0; }
  // Returns a number that identifies the windows among all indexes of a file; 0 if empty().
  uint64_t id() const;

  bool operator==(const RowWindows&) const = default;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_NPY_ROW_WINDOWS_H_
