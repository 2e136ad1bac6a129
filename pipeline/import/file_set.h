// Image files with their labels, packed: some 30 bytes beside the name for each, of objects 16 more and their tag, so
// that millions fit.
#ifndef PENSTOCK_PIPELINE_IMPORT_FILE_SET_H_
#define PENSTOCK_PIPELINE_IMPORT_FILE_SET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/hash.h"
#include "pipeline/import/label_names.h"

namespace penstock {

class FileSet {
 public:
  static constexpr uint32_t kNoClass = UINT32_MAX;

  enum class Layout {
    kPlain,         // a file is FOLDER/NAME, or NAME where that is absolute or a URL
    kClassFolders,  // a file is FOLDER/CLASS/NAME
  };
  FileSet(std::string folder, Layout layout) : folder_(std::move(folder)), layout_(layout) {}

  uint32_t AddClass(std::string name) {
    classes_.push_back(std::move(name));
    return static_cast<uint32_t>(classes_.size() - 1);
  }
  // `class_number` is AddClass's, or kNoClass (kPlain only). Looks at the file's size and time; one that cannot be read
  // is counted and kept.
  void Add(std::string_view name, int64_t label, uint32_t class_number = kNoClass);
  // The same of an object: with the state that its storage told of, or why there is none.
  void AddObject(std::string_view name, int64_t label, uint32_t class_number, const absl::StatusOr<FileInfo>& state);

  // Its files have no labels: theirs mean nothing.
  void SetUnlabeled() { labeled_ = false; }
  bool labeled() const { return labeled_; }
  // A file that is no image and was left out.
  void LeaveOut(const std::string& path) {
    if (left_out_++ == 0) first_left_out_ = path;
  }
  uint64_t left_out() const { return left_out_; }
  const std::string& first_left_out() const { return first_left_out_; }

  size_t size() const { return entries_.size(); }
  const std::string& folder() const { return folder_; }
  std::string path(size_t i) const;
  std::string_view name(size_t i) const;
  // Whether it is an object, and its state where that is known.
  bool is_object(size_t i) const { return i < objects_.size() && objects_[i].size != kNoObject; }
  std::optional<FileInfo> state(size_t i) const;
  bool has_objects() const { return !objects_.empty(); }
  int64_t label(size_t i) const { return entries_[i].label; }
  // Empty where there is no class.
  std::string_view class_name(size_t i) const {
    return entries_[i].class_number == kNoClass ? std::string_view() : classes_[entries_[i].class_number];
  }
  const std::vector<std::string>& classes() const { return classes_; }
  uint64_t bytes() const { return bytes_; }
  // Of names, labels, classes, sizes and times.
  uint64_t fingerprint() const { return fingerprint_.value(); }
  // Files that are not there or are no regular files, and what is wrong with the first of them.
  uint64_t unreadable() const { return unreadable_; }
  const std::string& first_unreadable() const { return first_unreadable_; }

 private:
  struct Entry {
    uint64_t name_end;
    int64_t label;
    uint32_t class_number;
  };
  static constexpr uint64_t kNoObject = UINT64_MAX, kNotThere = UINT64_MAX - 1;
  struct Object {
    uint64_t size = kNoObject;
    uint64_t tag_end = 0;
  };
  std::string PathOf(std::string_view name, uint32_t class_number) const;
  void AddEntry(std::string_view name, int64_t label, uint32_t class_number, const FileInfo& info,
                const std::string& fault);

  std::string folder_;
  Layout layout_;
  std::string names_;  // all of them, without anything between
  std::vector<Entry> entries_;
  std::vector<Object> objects_;  // as many as entries, up to the last one that is an object
  std::string tags_;             // theirs, without anything between
  std::vector<std::string> classes_;
  uint64_t bytes_ = 0;
  Fingerprint fingerprint_;
  uint64_t unreadable_ = 0, left_out_ = 0;
  std::string first_unreadable_, first_left_out_;
  bool labeled_ = true;
};

struct ClassFolders {
  FileSet files;
  LabelNames labels;   // of all classes
  uint64_t stray = 0;  // files beside the class folders, which are left out
  uint64_t empty = 0;  // classes without a file
};

// The files below FOLDER/CLASS/, by class and then by name, both sorted by bytes; subfolders of a class belong to it.
// Names that begin with a dot are not looked at. Classes have the numbers 0, 1 ... in their order, or those of `labels`
// when it is given (InvalidArgument names a class that it lacks).
// A folder without class folders, but with images, is taken as it is: without labels. skip_other: files that do not
// begin as images are left out and counted.
// A folder may be one of a bucket.
//   NotFound         no such folder
//   InvalidArgument  no class folders, no files, folders nested too deeply; behind a web server, which lists nothing
absl::StatusOr<ClassFolders> ListClassFolders(const std::string& folder, const LabelNames* labels,
                                              bool skip_other = false);

// The files of a list, in its order: lines "path<TAB, space or comma>label"; empty lines are skipped. Paths are below
// `root` unless they are absolute or URLs; list and root may be in a bucket or behind a web server. A label is a
// number, or one of `labels` when that is given; then the file's class is known. InvalidArgument names the list's line.
absl::StatusOr<FileSet> ReadFileList(const std::string& path, const std::string& root, const LabelNames* labels,
                                     bool skip_other = false);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_FILE_SET_H_
