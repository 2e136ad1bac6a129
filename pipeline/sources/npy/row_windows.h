// Windows of an array: records of several rows.
#ifndef PENSTOCK_PIPELINE_SOURCES_NPY_ROW_WINDOWS_H_
#define PENSTOCK_PIPELINE_SOURCES_NPY_ROW_WINDOWS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::sources {

// Record k has the rows from k * stride to k * stride + size. Rows at the end of the array that fill no record belong
// to none. With `end`, a record has the integers up to and including the next one that is `end`, or up to the last one.
struct RowWindows {
  uint64_t size = 0;    // rows of a record; 0: each row is a record, without a dimension of rows
  uint64_t stride = 0;  // rows from the first one of a record to that of the next; at least 1, unless size is 0
  // Not empty: the file has only numbers, without a header, and each is a row. NumPy's name of their type, such as
  // "<u2". Requires `size` or `end`.
  std::string type = {};
  std::optional<int64_t> end = {};  // requires size == 0
  // Whether a record is a sequence of Megatron's tokens (megatron_walker.h). Goes without the others.
  bool is_megatron = false;

  bool empty() const { return size == 0 && !end.has_value() && !is_megatron; }
  // Returns whether the file has numbers without a header.
  bool has_numbers() const { return !type.empty() || is_megatron; }
  // Returns a number that identifies the windows among all indexes of a file; 0 if empty().
  uint64_t id() const;

  bool operator==(const RowWindows&) const = default;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_NPY_ROW_WINDOWS_H_
