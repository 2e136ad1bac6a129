#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/url.h"
#include "client/cli/commands.h"
#include "client/cli/local_data.h"
#include "client/cli/output.h"
#include "client/cli/shard_output.h"
#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/import/file_source.h"
#include "pipeline/import/job_text.h"
#include "pipeline/import/joined_source.h"
#include "pipeline/import/npy_source.h"
#include "pipeline/import/npz_file.h"
#include "pipeline/import/record_files_source.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {
namespace {

std::string Absolute(const storage::Storage& storage, const std::string& path) {
  std::string absolute =
      !storage.IsLocal(path) ? path : std::filesystem::absolute(WithoutFileScheme(path)).lexically_normal().string();
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

// Returns "" for a name without a folder.
std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// The kind of a SOURCE, which decides how to import it.
enum class SourceKind : uint8_t { kFolder, kArray, kArchive, kShards };

absl::Status IsAnImage(const std::string& source) {
  return UsageError(absl::StrCat(source, " is an image: give the folder that it is in, or a --list of files"));
}

absl::Status NoListing(const std::string& source) {
  return UsageError(absl::StrCat(source,
                                 " is on a web server, which does not list its files. Name images in a --list "
                                 "FILE with --root URL, and each shard or array by its own URL"));
}

SourceKind KindByName(const std::string& source) {
  if (absl::EndsWith(source, ".npy")) return SourceKind::kArray;
  return absl::EndsWith(source, ".npz") ? SourceKind::kArchive : SourceKind::kShards;
}

absl::StatusOr<SourceKind> KindOfUrl(storage::Storage* storage, const std::string& source) {
  const bool has_folders = storage->HasFolders(source);
  // Globs are expanded later.
  if (has_folders && source.find_first_of("*?[") != std::string::npos) return KindByName(source);
  if (!has_folders && source.back() == '/') return NoListing(source);
  const auto file = storage->OpenAndWait(source);
  if (absl::IsInvalidArgument(file.status()) && has_folders) {
    PS_ASSIGN_OR_RETURN(const storage::StoredName found, storage->StatAndWait(source));
    if (found.kind == storage::StoredEntry::Kind::kFolder) return SourceKind::kFolder;
  }
  if (!file.ok()) return absl::IsNotFound(file.status()) && !has_folders ? NoListing(source) : file.status();
  constexpr size_t kStart = 16;
  std::string start(kStart, '\0');
  PS_ASSIGN_OR_RETURN(const size_t got, (*file)->ReadAt(0, kStart, start.data()));
  start.resize(got);
  if (imports::LooksLikeImage(start)) return IsAnImage(source);
  // Many servers return such a page for a folder.
  if (!has_folders && absl::StartsWith(start, "<")) return NoListing(source);
  return KindByName(source);
}

absl::StatusOr<SourceKind> KindOf(storage::Storage* storage, const std::string& source) {
  if (!storage->IsLocal(source)) return KindOfUrl(storage, source);
  const std::string path(WithoutFileScheme(source));
  struct stat st;
  if (stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return SourceKind::kFolder;
  constexpr size_t kStart = 16;
  std::string start(kStart, '\0');
  std::ifstream(path, std::ios::binary).read(start.data(), kStart);
  if (imports::LooksLikeImage(start)) return IsAnImage(source);
  return KindByName(path);
}

class Import final : public Command {
 public:
  explicit Import(storage::Storage* storage) : data_(storage), output_(storage) {}

  std::string name() const override { return "import"; }
  std::string arguments() const override { return "SOURCE... --out DIR [flags]"; }
  std::string summary() const override { return "new shards from image folders, lists, other shards or NumPy arrays"; }
  std::string description() const override {
    return "Writes TFRecord shards with ImageNet's keys (image/encoded, image/class/label, image/class/text,\n"
           "image/filename, image/format, image/height, image/width). What SOURCE is, on a disk or in a bucket\n"
           "(such as s3://BUCKET/photos; behind https:// each file is named):\n\n"
           "  a folder          of class folders: FOLDER/CLASS/FILE. Labels are 0, 1 ... in the order of the names'\n"
           "                    bytes, or those of --labels; labels.txt in DIR keeps them. A folder of images\n"
           "                    without class folders gives records without labels\n"
           "  --list FILE       instead of SOURCE: lines \"path<TAB, space or comma>label\"\n"
           "  shards or globs   of TFRecords: records are kept, only their images' bytes change\n"
           "  .npy files        row i becomes record i, as raw bytes; DIR/job.textproto reads them back. An array of\n"
           "                    one dimension needs --window N or --scalars\n"
           "  .npz files        the same for arrays in them: x_train with y_train, images with labels, and each\n"
           "                    further array of as many rows is a column; --array and --labels name others\n\n"
           "JPEG is stored restart-indexed: the same pixels for every decoder, and a crop reads only its part.\n"
           "Every image is decoded once, which finds damaged ones. To resume a killed run, repeat the command. It\n"
           "writes the same shards as a run without interruption.\n\n"
           "  penstock import /data/imagenet/train --out /data/shards --prefix train\n"
           "  penstock import s3://bucket/photos --out s3://bucket/shards\n"
           "  penstock import --list val.txt --root /data/val --out /data/shards-val --order sorted\n"
           "  penstock import '/old/train-*' --out /data/small --longer-side 400 --quality 92\n"
           "  penstock import '/old/train-*' --zip '/old/vectors-*.npy' --zip-prefix vector/ --out /data/both\n"
           "  penstock import images.npy --labels labels.npy --out /data/cifar\n"
           "  penstock import mnist.npz --out /data/mnist";
  }
  void AddFlags(config::Flags* flags) override {
    flags_ = flags;
    flags->AddString("list", &list_, "FILE", "image files and their labels, one \"path label\" in each line");
    flags->AddString("root", &root_, "DIR",
                     "paths of --list are below this folder or URL (default: the folder of FILE)");
    flags->AddString(
        "labels", &labels_, "FILE",
        "class names' numbers, one \"name number\" in each line; for arrays: labels, as .npy; for .npz: the "
        "array of labels");
    flags->AddUint("window", &window_, "N", "for arrays of one dimension: a record for each N numbers");
    flags->AddSwitch("scalars", &scalars_, "for arrays of one dimension: a record for each number");
    flags->AddString("array", &array_, "NAME", "for .npz: the array of rows (default: by its usual name)");
    output_.AddFlags(flags);
    flags->AddSwitch("restart-indexed", &prepare_.restart_index,
                     "JPEG: add restart markers and their table, without loss (default; --untouched does not)");
    flags->AddSwitch("untouched", &untouched_, "keep the bytes of the files");
    flags->AddUint("longer-side", &longer_side_, "PIXELS",
                   "shrink larger images so that their longer side has PIXELS, and store them as JPEG (default: no)");
    flags->AddUint("quality", &quality_, "Q", "quality of these JPEGs, 1 to 100 (default: 90)");
    flags->AddSwitch("check", &prepare_.check, "decode every image (default; --no-check looks at its header only)");
    flags->AddSwitch("lenient", &prepare_.lenient, "accept damaged JPEG files that libjpeg decodes");
    flags->AddSwitch("skip-other", &skip_other_, "leave out files of folders and lists that are not images");
    flags->AddString("image-key", &image_key_, "KEY",
                     "feature with the image in TFRecord shards (default: image/encoded)");
    flags->AddString("key", &array_key_, "KEY", "feature for the rows of arrays (default: data)");
    flags->AddString("zip", &zip_, "GLOB",
                     "for shards: add the features of these shards or .npy files, record k to record k");
    flags->AddString("zip-source", &zip_source_, "KIND",
                     "kind of these files: TFRECORD, TAR, JSONL, NPY, TEXT, CSV or TSV (default: by their content, "
                     "which shows only the first four)");
    flags->AddString("zip-prefix", &zip_prefix_, "TEXT", "put TEXT before the keys of these features");
    data_.AddFlags(flags, /*windows=*/false);
  }

  absl::Status Run(const std::vector<std::string>& sources) override {
    PS_RETURN_IF_ERROR(CheckFlags());
    if (flags_->Given("zip") && zip_.empty()) return UsageError("--zip is empty: name the files to join");
    for (const char* const name : {"zip-prefix", "zip-source"}) {
      if (flags_->Given(name) && zip_.empty()) return UsageError(absl::StrCat("--", name, " goes with --zip"));
    }
    if (!list_.empty()) {
      PS_RETURN_IF_ERROR(RefuseZip("a list of files"));
      if (!sources.empty()) return UsageError("--list FILE stands for SOURCE; give one of the two");
      return FromList();
    }
    if (sources.empty()) return UsageError("SOURCE is missing: a folder, shards, arrays, or --list FILE");
    if (!flags_->Given("out")) return UsageError("--out DIR is missing");
    size_t folders = 0, arrays = 0, archives = 0;
    for (const std::string& source : sources) {
      PS_ASSIGN_OR_RETURN(const SourceKind kind, KindOf(data_.storage(), source));
      folders += kind == SourceKind::kFolder ? 1 : 0;
      arrays += kind == SourceKind::kArray ? 1 : 0;
      archives += kind == SourceKind::kArchive ? 1 : 0;
    }
    if (folders > 1 || (folders == 1 && sources.size() > 1)) {
      return UsageError("one folder of class folders at a time; --list can name files of several");
    }
    if ((arrays > 0 && arrays < sources.size()) || (archives > 0 && archives < sources.size())) {
      return UsageError(".npy files, .npz files or shards: one kind at a time");
    }
    if (archives == 0) PS_RETURN_IF_ERROR(Refuse({"array"}, "what is no .npz"));
    if (archives + arrays == 0) PS_RETURN_IF_ERROR(Refuse({"window", "scalars"}, "what is no array"));
    if (!zip_.empty()) {
      if (folders + archives > 0) return RefuseZip(folders > 0 ? "a folder" : ".npz files");
      PS_RETURN_IF_ERROR(Refuse({"window", "scalars"}, "--zip"));
      return FromShards(sources);
    }
    if (folders == 1) return FromFolders(Absolute(*data_.storage(), sources[0]));
    if (archives > 0) return FromArchives(sources);
    return arrays > 0 ? FromArrays(sources) : FromShards(sources);
  }

 private:
  using Arguments = std::vector<std::pair<std::string, std::string>>;

  absl::Status CheckFlags() {
    if (untouched_ && flags_->Given("restart-indexed") && prepare_.restart_index) {
      return UsageError("--untouched and --restart-indexed: one of the two");
    }
    if (untouched_) prepare_.restart_index = false;
    if (quality_ < 1 || quality_ > 100) return UsageError(absl::StrCat("--quality ", quality_, ": 1 to 100"));
    if (longer_side_ > 65500) return UsageError(absl::StrCat("--longer-side ", longer_side_, ": at most 65500"));
    if (flags_->Given("longer-side") && longer_side_ == 0) return UsageError("--longer-side must be at least 1");
    if (flags_->Given("quality") && longer_side_ == 0) return UsageError("--quality goes with --longer-side");
    prepare_.longer_side = static_cast<uint32_t>(longer_side_);
    prepare_.quality = static_cast<int>(quality_);
    return absl::OkStatus();
  }

  // Rejects flags that this kind of source would ignore.
  absl::Status Refuse(const std::vector<std::string>& names, const std::string& kind) const {
    for (const std::string& name : names) {
      if (flags_->Given(name)) return UsageError(absl::StrCat("--", name, " has no meaning for ", kind));
    }
    return absl::OkStatus();
  }

  absl::Status RefuseZip(const std::string& kind) const {
    if (zip_.empty()) return absl::OkStatus();
    return UsageError(
        absl::StrCat("--zip joins files to shards, not to ", kind, ": import that first, and join its shards"));
  }

  absl::StatusOr<std::optional<imports::LabelNames>> GivenLabels() const {
    if (labels_.empty()) return std::nullopt;
    PS_ASSIGN_OR_RETURN(imports::LabelNames names, imports::ReadLabelNames(data_.storage(), labels_));
    return std::optional<imports::LabelNames>(std::move(names));
  }

  absl::Status WriteFiles(imports::FileSet files, const std::string& what,
                          std::vector<ShardOutput::Companion> companions) {
    if (files.left_out() > 0) {
      std::fprintf(stderr, "note: left out %s without an image, the first is %s\n",
                   Count(files.left_out(), "file").c_str(), files.first_left_out().c_str());
    }
    PS_ASSIGN_OR_RETURN(const auto source, imports::NewFileSource(std::move(files), prepare_, output_.skip_bad()));
    Arguments arguments = {{"source", what}};
    for (const auto& argument : prepare_.Arguments()) arguments.push_back(argument);
    return output_.Write(*source, "importing", arguments, std::move(companions), InitHint());
  }

  std::string InitHint() const {
    return absl::StrCat("next: penstock init '", output_.Glob(), "' --out job.textproto");
  }

  absl::Status FromFolders(const std::string& folder) {
    PS_RETURN_IF_ERROR(Refuse({"root", "image-key", "key"}, "class folders"));
    PS_RETURN_IF_ERROR(output_.Check(true));
    if (absl::StartsWith(output_.folder() + "/", folder + "/")) {
      return UsageError(absl::StrCat("--out ", output_.folder(), " is inside the source; name a folder outside of it"));
    }
    PS_ASSIGN_OR_RETURN(const auto labels, GivenLabels());
    PS_ASSIGN_OR_RETURN(imports::ClassFolders found,
                        imports::ListClassFolders(data_.storage(), folder, labels ? &*labels : nullptr, skip_other_));
    const auto note = [&](const std::string& text) { std::fprintf(stderr, "note: %s\n", text.c_str()); };
    if (found.stray > 0) {
      note(absl::StrCat(
          Count(found.stray, "file"), " of ", folder,
          found.stray == 1 ? " is in no class folder and is left out" : " are in no class folder and are left out"));
    }
    if (found.empty > 0) {
      note(absl::StrCat(Count(found.empty, "class folder"), " of ", folder,
                        found.empty == 1 ? " is empty; it keeps its label" : " are empty; they keep their labels"));
    }
    if (!found.files.labeled()) {
      if (labels) return UsageError(absl::StrCat("--labels ", labels_, ": ", folder, " has no class folders to name"));
      note(absl::StrCat(folder, " has no class folders: the records get no label"));
      return WriteFiles(std::move(found.files), folder, {});
    }
    return WriteFiles(std::move(found.files), folder, {{"labels.txt", imports::LabelNamesText(found.labels)}});
  }

  absl::Status FromList() {
    PS_RETURN_IF_ERROR(Refuse({"image-key", "key"}, "a list of files"));
    PS_RETURN_IF_ERROR(output_.Check(true));
    const std::string list = Absolute(*data_.storage(), list_);
    const std::string root = root_.empty() ? FolderOf(list) : Absolute(*data_.storage(), root_);
    PS_ASSIGN_OR_RETURN(const auto labels, GivenLabels());
    PS_ASSIGN_OR_RETURN(imports::FileSet files,
                        imports::ReadFileList(data_.storage(), list, root, labels ? &*labels : nullptr, skip_other_));
    std::vector<ShardOutput::Companion> companions;
    if (labels) companions.push_back({"labels.txt", imports::LabelNamesText(*labels)});
    return WriteFiles(std::move(files), absl::StrCat(list, " below ", root), std::move(companions));
  }

  absl::Status FromShards(const std::vector<std::string>& globs) {
    PS_RETURN_IF_ERROR(Refuse({"root", "labels", "key", "skip-other"}, "TFRecord shards"));
    PS_RETURN_IF_ERROR(output_.Check(false));
    v1::JobSpec job;
    v1::Dataset& all = *job.add_dataset();
    PS_ASSIGN_OR_RETURN(const v1::Source::Kind kind, data_.Source());
    all.set_source(kind);
    if (kind == v1::Source::MANIFEST) {
      PS_ASSIGN_OR_RETURN(*all.mutable_manifest(), data_.Manifest());
    }
    if (!sources::NumberTypeOf(kind).empty()) {
      return UsageError(absl::StrCat("--source ", v1::Source::Kind_Name(kind),
                                     ": a job reads numbers without conversion; `penstock init --window` writes one"));
    }
    for (const std::string& glob : globs) all.add_files(data_.Resolve(glob));
    PS_ASSIGN_OR_RETURN(const auto reader, Open(job));
    std::optional<imports::PrepareOptions> prepare;
    if (prepare_.restart_index || prepare_.longer_side > 0) prepare = prepare_;
    auto source = imports::NewRecordFilesSource(reader, prepare, image_key_);
    Arguments arguments = {{"source", absl::StrJoin(all.files(), ", ")}, {"image-key", image_key_}};
    for (const auto& argument : prepare_.Arguments()) arguments.push_back(argument);
    if (!zip_.empty()) {
      const std::string glob = data_.Resolve(zip_);
      arguments.emplace_back("zip", glob);
      arguments.emplace_back("zip-prefix", zip_prefix_);
      arguments.emplace_back("zip-source", zip_source_);
      PS_ASSIGN_OR_RETURN(source, Zipped({std::move(source), all.files(0), Describer(reader)}, glob));
    }
    return output_.Write(*source, "importing", arguments, {}, InitHint());
  }

  absl::StatusOr<std::shared_ptr<loader::DatasetReader>> Open(const v1::JobSpec& job) const {
    PS_ASSIGN_OR_RETURN(const auto roots, data_.Roots());
    PS_ASSIGN_OR_RETURN(const sources::IndexStore indexes, data_.Indexes());
    return loader::OpenDataset(data_.storage(), job, roots, indexes, output_.threads(), nullptr, nullptr, PrintWarning);
  }

  static std::function<std::string(uint64_t)> Describer(const std::shared_ptr<loader::DatasetReader>& reader) {
    return [reader](uint64_t record) { return reader->Describe(record); };
  }

  // Returns `first` with the features of the files of --zip.
  absl::StatusOr<std::unique_ptr<imports::RecordSource>> Zipped(imports::JoinedPart first,
                                                                const std::string& glob) const {
    v1::JobSpec job;
    v1::Dataset& all = *job.add_dataset();
    all.add_files(glob);
    if (!zip_source_.empty()) {
      v1::Source::Kind kind = v1::Source::AUTO;
      if (!v1::Source::Kind_Parse(zip_source_, &kind) || kind == v1::Source::AUTO || kind == v1::Source::MANIFEST ||
          kind == v1::Source::MEGATRON || !sources::NumberTypeOf(kind).empty()) {
        return UsageError(
            absl::StrCat("--zip-source: '", zip_source_, "' is none of TFRECORD, TAR, JSONL, NPY, TEXT, CSV, TSV"));
      }
      all.set_source(kind);
    }
    const auto opened = Open(job);
    if (!opened.ok()) {
      const bool may_be_other_kind = absl::IsDataLoss(opened.status()) && zip_source_.empty();
      return absl::Status(opened.status().code(),
                          absl::StrCat("--zip: ", opened.status().message(),
                                       may_be_other_kind ? "; --zip-source names the kind of the files" : ""));
    }
    const auto& reader = *opened;
    return imports::NewJoinedSource(
        std::move(first), {imports::NewRecordFilesSource(reader, std::nullopt, image_key_), glob, Describer(reader)},
        zip_prefix_);
  }

  absl::Status CheckArrayFlags() {
    PS_RETURN_IF_ERROR(
        Refuse({"root", "image-key", "longer-side", "restart-indexed", "untouched", "check", "lenient", "skip-other"},
               "arrays"));
    PS_RETURN_IF_ERROR(output_.Check(false));
    if (scalars_ && flags_->Given("window")) return UsageError("--window and --scalars: one of the two");
    if (flags_->Given("window") && window_ == 0) return UsageError("--window must be at least 1");
    return array_key_.empty() ? UsageError("--key is empty") : absl::OkStatus();
  }

  absl::Status FromArrays(const std::vector<std::string>& paths) {
    PS_RETURN_IF_ERROR(CheckArrayFlags());
    std::vector<std::unique_ptr<const imports::NpyFile>> files;
    std::vector<std::string> absolute;
    const std::string scratch = Scratch();
    for (const std::string& path : paths) {
      absolute.push_back(Absolute(*data_.storage(), path));
      PS_ASSIGN_OR_RETURN(auto file, imports::NpyFile::Open(data_.storage(), absolute.back(), scratch));
      files.push_back(std::move(file));
    }
    std::vector<int64_t> labels;
    if (!labels_.empty()) {
      PS_ASSIGN_OR_RETURN(labels,
                          imports::ReadNpyLabels(data_.storage(), Absolute(*data_.storage(), labels_), scratch));
    }
    return WriteArrays({array_key_, std::move(files)}, std::move(labels), {},
                       {{"source", absl::StrJoin(absolute, ", ")}});
  }

  // Returns the folder in which arrays are unpacked and arrays of buckets are copied: the nearest existing folder at or
  // above --out, or the system's temporary folder if --out is in a bucket.
  std::string Scratch() const {
    std::error_code error;
    std::filesystem::path scratch(data_.storage()->IsLocal(output_.folder())
                                      ? std::filesystem::path(output_.folder())
                                      : std::filesystem::temp_directory_path(error));
    while (scratch.has_relative_path() && !std::filesystem::is_directory(scratch, error))
      scratch = scratch.parent_path();
    return scratch.string();
  }

  absl::Status FromArchives(const std::vector<std::string>& paths) {
    PS_RETURN_IF_ERROR(CheckArrayFlags());
    imports::NpyColumn rows;
    std::vector<imports::NpyColumn> others;
    std::vector<std::string> names;
    std::vector<int64_t> labels;
    size_t labeled = 0;
    const std::string scratch = Scratch();
    for (const std::string& path : paths) {
      PS_ASSIGN_OR_RETURN(imports::NpzArrays arrays,
                          imports::OpenNpz(data_.storage(), Absolute(*data_.storage(), path),
                                           {.rows = array_, .labels = labels_, .scratch = scratch}));
      std::vector<std::string> columns;
      for (const imports::NpzArrays::Other& other : arrays.others) columns.push_back(other.name);
      std::fprintf(stderr, "note: %s: rows from %s, %s%s%s%s%s\n", path.c_str(), arrays.rows_name.c_str(),
                   arrays.labels_name.empty() ? "no labels" : ("labels from " + arrays.labels_name).c_str(),
                   columns.empty() ? "" : "; columns: ", absl::StrJoin(columns, ", ").c_str(),
                   arrays.left_out.empty() ? "" : "; left out: ", absl::StrJoin(arrays.left_out, ", ").c_str());
      columns.insert(columns.begin(), {arrays.rows_name, arrays.labels_name});
      names.push_back(absl::StrCat(Absolute(*data_.storage(), path), "[", absl::StrJoin(columns, ", "), "]"));
      if (rows.files.empty()) {
        rows.key = arrays.others.empty() || flags_->Given("key") ? array_key_ : arrays.rows_name;
        for (const imports::NpzArrays::Other& other : arrays.others) others.emplace_back().key = other.name;
      }
      const auto same = [](const imports::NpzArrays::Other& other, const imports::NpyColumn& column) {
        return other.name == column.key;
      };
      if (!std::equal(arrays.others.begin(), arrays.others.end(), others.begin(), others.end(), same)) {
        return UsageError(absl::StrCat(path, " has other columns than ", paths[0], "; import them one by one"));
      }
      for (size_t i = 0; i < others.size(); ++i) others[i].files.push_back(std::move(arrays.others[i].file));
      labeled += arrays.labels_name.empty() ? 0 : 1;
      labels.insert(labels.end(), arrays.labels.begin(), arrays.labels.end());
      rows.files.push_back(std::move(arrays.rows));
    }
    if (labeled > 0 && labeled < paths.size()) {
      return UsageError("some of the files have labels and some have none; import them one by one, or name --labels");
    }
    return WriteArrays(std::move(rows), std::move(labels), std::move(others), {{"source", absl::StrJoin(names, ", ")}});
  }

  absl::Status WriteArrays(imports::NpyColumn rows, std::vector<int64_t> labels, std::vector<imports::NpyColumn> others,
                           Arguments arguments) {
    const imports::NpyFile& first = *rows.files[0];
    if (first.row_shape().empty() && window_ == 0 && !scalars_ && labels.empty() && others.empty()) {
      return UsageError(absl::StrCat(first.path(), " has one dimension, of ", Count(first.rows(), "number"),
                                     ": --window N makes a record of each N, --scalars a record of each number"));
    }
    if (scalars_ && !first.row_shape().empty()) {
      return UsageError(absl::StrCat("--scalars: ", first.path(), " has rows of several numbers"));
    }
    arguments.emplace_back("key", rows.key);
    if (window_ > 0) arguments.emplace_back("window", absl::StrCat(window_));
    PS_ASSIGN_OR_RETURN(const auto source,
                        imports::NpySource::Create(std::move(rows), std::move(labels), std::move(others), window_));
    if (source->left_over() > 0) {
      std::fprintf(stderr, "note: %s at the end fill no window and are left out\n",
                   Count(source->left_over(), "number").c_str());
    }
    const std::string text =
        source->JobText(imports::JobName(std::filesystem::path(output_.folder()).filename().string()), output_.Glob());
    v1::JobSpec job;
    PS_RETURN_IF_ERROR(config::MistakesToStatus("the job that would be written",
                                                config::CheckJobText(text, augment::CheckPipeline, &job)));
    return output_.Write(
        *source, "importing", arguments, {{"job.textproto", text}},
        absl::StrCat("next: penstock submit ", output_.folder(), "/job.textproto, which is:\n\n", text));
  }

  const config::Flags* flags_ = nullptr;
  LocalData data_;
  ShardOutput output_;
  imports::PrepareOptions prepare_;
  std::string list_, root_, labels_, array_, zip_, zip_prefix_, zip_source_, image_key_ = "image/encoded",
                                                                             array_key_ = "data";
  bool untouched_ = false, skip_other_ = false, scalars_ = false;
  uint64_t window_ = 0;
  uint64_t longer_side_ = 0, quality_ = 90;
};

}  // namespace

std::unique_ptr<Command> NewImport(storage::Storage* storage) { return std::make_unique<Import>(storage); }

}  // namespace penstock::cli
