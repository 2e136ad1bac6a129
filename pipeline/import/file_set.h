// A list of image files with their labels, packed so that millions fit in memory. An entry needs about 30 bytes besides
// its name. An object needs 16 more, and its tag.
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
#include "pipeline/storage/storage.h"

namespace penstock::imports {

class FileSet {
 public:
  static constexpr uint32_t kNoClass = UINT32_MAX;

  enum class Layout {
    kPlain,         // a file is FOLDER/NAME, or NAME if that is absolute or a URL
    kClassFolders,  // a file is FOLDER/CLASS/NAME
  };
  // `storage` must outlive the set.
  FileSet(storage::Storage* storage, std::string folder, Layout layout)
      : storage_(storage), folder_(std::move(folder)), layout_(layout) {}

  uint32_t AddClass(std::string name) {
    classes_.push_back(std::move(name));
    return static_cast<uint32_t>(classes_.size() - 1);
  }
  // Adds a local file and reads its size and time. `class_number` is a result of AddClass(), or kNoClass (kPlain only).
  // Keeps a file that is missing or not regular, and counts it in unreadable().
  void Add(std::string_view name, int64_t label, uint32_t class_number = kNoClass);
  // Adds an object with the state from its storage, or with the error instead of a state.
  void AddObject(std::string_view name, int64_t label, uint32_t class_number, const absl::StatusOr<FileInfo>& state);

  // Declares that the files have no labels. The stored labels then have no meaning.
  void SetUnlabeled() { labeled_ = false; }
  bool labeled() const { return labeled_; }
  // Counts a file that was left out because it is no image.
  void LeaveOut(const std::string& path) {
    if (left_out_++ == 0) first_left_out_ = path;
  }
  uint64_t left_out() const { return left_out_; }
  const std::string& first_left_out() const { return first_left_out_; }

  storage::Storage* storage() const { return storage_; }
  size_t size() const { return entries_.size(); }
  const std::string& folder() const { return folder_; }
  std::string path(size_t i) const;
  std::string_view name(size_t i) const;
  // Return whether the file is an object, and the object's state if known.
  bool is_object(size_t i) const { return i < objects_.size() && objects_[i].size != kNoObject; }
  std::optional<FileInfo> state(size_t i) const;
  bool has_objects() const { return !objects_.empty(); }
  int64_t label(size_t i) const { return entries_[i].label; }
  // Returns "" if the file has no class.
  std::string_view class_name(size_t i) const {
    return entries_[i].class_number == kNoClass ? std::string_view() : classes_[entries_[i].class_number];
  }
  const std::vector<std::string>& classes() const { return classes_; }
  uint64_t bytes() const { return bytes_; }
  // Returns the fingerprint of names, labels, classes, sizes, times and tags.
  uint64_t fingerprint() const { return fingerprint_.value(); }
  // Return the number of files without a state, because they are missing or not regular or their storage returned an
  // error, and the error of the first.
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

  storage::Storage* storage_;
  std::string folder_;
  Layout layout_;
  std::string names_;  // all names, without separators
  std::vector<Entry> entries_;
  std::vector<Object> objects_;  // parallel to entries_, up to the last entry that is an object
  std::string tags_;             // tags of the objects, without separators
  std::vector<std::string> classes_;
  uint64_t bytes_ = 0;
  Fingerprint fingerprint_;
  uint64_t unreadable_ = 0, left_out_ = 0;
  std::string first_unreadable_, first_left_out_;
  bool labeled_ = true;
};

struct ClassFolders {
  FileSet files;
  LabelNames labels;   // numbers of all classes
  uint64_t stray = 0;  // files beside the class folders, which are left out
  uint64_t empty = 0;  // classes without a file
};

// Lists the files below FOLDER/CLASS/, by class and then by name, both sorted by bytes. A class includes its
// subfolders. Names with a leading dot are ignored. Classes have the numbers 0, 1 ... in their order, or those of
// `labels` if it is not null. Files of a folder with images but without class folders have no labels. With
// `skip_other`, leaves out and counts files that do not begin as images. The folder may be in a bucket.
//   NotFound         the folder does not exist
//   InvalidArgument  no class folders, no files, or folders nested too deeply; a class without a number in `labels`; a
//                    web server, which has no listing
//   others           from the storage
absl::StatusOr<ClassFolders> ListClassFolders(storage::Storage* storage, const std::string& folder,
                                              const LabelNames* labels, bool skip_other = false);

// Reads a list of files, in its order. Its lines are "path<TAB, space or comma>label"; empty lines are skipped. Paths
// are below `root` unless they are absolute or URLs. List and root may be in a bucket or on a web server. A label is a
// number, or one of `labels` if that is not null. A file with one of `labels` has a class. `skip_other` is as for
// ListClassFolders(). InvalidArgument: a wrong line, which the message names, or no files.
absl::StatusOr<FileSet> ReadFileList(storage::Storage* storage, const std::string& path, const std::string& root,
                                     const LabelNames* labels, bool skip_other = false);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_FILE_SET_H_
