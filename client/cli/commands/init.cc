#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/job_argument.h"
#include "client/cli/local_data.h"
#include "client/cli/output.h"
#include "pipeline/import/file_set.h"
#include "pipeline/import/folder_manifest.h"

namespace penstock::cli {
namespace {

class Init final : public Command {
 public:
  explicit Init(storage::Storage* storage) : data_(storage) {}

  std::string name() const override { return "init"; }
  std::string arguments() const override { return "GLOB|FOLDER [flags]"; }
  std::string summary() const override { return "write a job file from what the first records hold"; }
  std::string description() const override {
    return "Looks at the first records of the first shards and writes a job that fits them: features with their types\n"
           "and shapes, and, where there is an image, a training recipe. Read it, change it, then submit it. A folder\n"
           "stands for all files in it. Records that cannot be read are left out and named, and so is what is "
           "added.\n\n"
           "For a folder of images, or of class folders with images, it first writes a manifest: FOLDER.csv, with a\n"
           "row for each image. Labels are 0, 1 ... in the order of the class folders' names. The job reads the "
           "images\n"
           "where they are.\n\n"
           "  penstock init '/data/train-*' --out train.textproto\n"
           "  penstock init '/data/val-*' --eval --out val.textproto\n"
           "  penstock init /data/imagenet/train --out train.textproto";
  }
  void AddFlags(config::Flags* flags) override {
    data_.AddFlags(flags);
    flags->AddString("out", &out_, "FILE", "where to write the job (default: standard output)");
    flags->AddString("manifest-out", &manifest_out_, "FILE",
                     "where to write the manifest of a folder of images (default: FOLDER.csv)");
    flags->AddSwitch("force", &force_, "replace these files when they are there");
    flags->AddString("name", &name_, "NAME", "the job's name (default: from the glob)");
    flags->AddSwitch(
        "eval", &evaluation_,
        "write an evaluation: resize and center crop, no shuffling, last: PAD, so that each record comes once");
    flags->AddUint("records", &records_, "N", "how many records to look at (default: 100)");
    flags->AddSwitch("json", &json_, "print one JSON object with the written file and the notes");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string glob, OneArgument(arguments, "GLOB or FOLDER"));
    if (records_ == 0) return UsageError("--records must be at least 1");
    if (!out_.empty() && !force_ && StatFile(out_).ok()) {
      return absl::AlreadyExistsError(absl::StrCat(out_, " is there already; --force replaces it"));
    }
    PS_ASSIGN_OR_RETURN(const std::string manifest, ManifestOf(glob));
    if (!manifest.empty()) data_.ReadManifests();
    PS_ASSIGN_OR_RETURN(MadeJob made, MakeJob(data_, manifest.empty() ? glob : manifest, name_, records_,
                                              evaluation_ ? Recipe::kEvaluation : Recipe::kTraining));
    made.notes.insert(made.notes.begin(), notes_.begin(), notes_.end());
    if (!out_.empty()) PS_RETURN_IF_ERROR(WriteFileAtomically(out_, made.text));
    if (json_) {
      PrintJson(made);
      return absl::OkStatus();
    }
    for (const std::string& note : made.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    if (out_.empty()) {
      std::fputs(made.text.c_str(), stdout);
    } else {
      if (!made.label_range.empty()) std::printf("%s\n", made.label_range.c_str());
      std::printf("wrote %s; `penstock preview %s%s` shows its rows\n", out_.c_str(), out_.c_str(),
                  made.has_pictures ? " --out sheet.png" : "");
    }
    return absl::OkStatus();
  }

 private:
  // Writes the manifest of a folder of images, and returns its path; "" if the argument is none.
  absl::StatusOr<std::string> ManifestOf(const std::string& argument) {
    PS_ASSIGN_OR_RETURN(const std::string folder, data_.FolderOf(argument));
    bool has_images = false;
    if (!folder.empty() && data_.CheckNoSource("the job").ok()) {
      PS_ASSIGN_OR_RETURN(has_images, imports::HasImages(data_.storage(), folder));
    }
    if (!has_images) {
      if (manifest_out_.empty()) return "";
      return UsageError(absl::StrCat("--manifest-out is for a folder of images, and ", argument, " is none"));
    }
    PS_ASSIGN_OR_RETURN(const imports::ClassFolders found,
                        imports::ListClassFolders(data_.storage(), folder, nullptr, true));
    if (found.files.size() == 0) return absl::NotFoundError(absl::StrCat(folder, " has no readable image"));
    const std::string path = manifest_out_.empty() ? folder + ".csv" : data_.Resolve(manifest_out_);
    const std::string text = imports::ManifestText(found.files, path.substr(0, std::max<size_t>(path.rfind('/'), 1)));
    const absl::StatusOr<std::string> there = storage::ReadContent(data_.storage(), path, text.size());
    const bool is_same = there.ok() && *there == text;
    if (!is_same && !force_ && data_.storage()->StatAndWait(path).ok()) {
      return absl::AlreadyExistsError(absl::StrCat(path, " is there already, and lists other files than ", folder,
                                                   " has; --force replaces it, --manifest-out "
                                                   "FILE writes another one"));
    }
    if (!is_same) {
      const absl::Status written = data_.storage()->Put(path, text).status();
      if (!written.ok()) {
        return absl::Status(written.code(), absl::StrCat("cannot write the manifest: ", written.message(),
                                                         "; --manifest-out FILE writes it elsewhere"));
      }
    }
    notes_.push_back(
        absl::StrCat(is_same ? "kept " : "wrote ", path, ", a manifest of ", Count(found.files.size(), "image"),
                     found.files.labeled() ? absl::StrCat(" in ", Count(found.labels.size(), "class folder")) : ""));
    if (found.files.left_out() > 0) {
      notes_.push_back(
          absl::StrCat("left out: ", Count(found.files.left_out(), "file"),
                       found.files.left_out() == 1 ? " that is no image: " : " that are no images, such as ",
                       found.files.first_left_out()));
    }
    if (found.stray > 0) {
      notes_.push_back(absl::StrCat("left out: ", Count(found.stray, "file"), " beside the class folders"));
    }
    return path;
  }

  void PrintJson(const MadeJob& made) const {
    std::vector<std::string> notes;
    for (const std::string& note : made.notes) notes.push_back(Json::Quote(note));
    Json json;
    json.Field("name", made.name)
        .Field("records", made.records)
        .Field("label_range", made.label_range)
        .Raw("notes", Json::Array(notes));
    if (out_.empty()) {
      json.Field("text", made.text);
    } else {
      json.Field("out", out_);
    }
    std::printf("%s\n", json.Object().c_str());
  }

  LocalData data_;
  std::vector<std::string> notes_;  // on the manifest
  std::string out_, name_, manifest_out_;
  bool force_ = false, json_ = false, evaluation_ = false;
  uint64_t records_ = 100;
};

}  // namespace

std::unique_ptr<Command> NewInit(storage::Storage* storage) { return std::make_unique<Init>(storage); }

}  // namespace penstock::cli
