// Base of storages that pass calls on to other storages.
#ifndef PENSTOCK_PIPELINE_STORAGE_FORWARDING_STORAGE_H_
#define PENSTOCK_PIPELINE_STORAGE_FORWARDING_STORAGE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/storage/storage.h"

namespace penstock::storage {

// Passes each call on to the storage that Of() returns for its name. A derived class overrides the calls that it
// changes. The blocking forms call the forms that do not block.
class ForwardingStorage : public Storage {
 public:
  bool IsLocal(const std::string& name) const override { return Of(name)->IsLocal(name); }
  bool HasFolders(const std::string& name) const override { return Of(name)->HasFolders(name); }
  std::vector<std::string> Schemes() const override { return Of("")->Schemes(); }
  absl::Status CheckName(const std::string& name) const override { return Of(name)->CheckName(name); }
  absl::Status CheckOutput(const std::string& folder) const override { return Of(folder)->CheckOutput(folder); }
  bool HasLowLatency(const std::string& name) const override { return Of(name)->HasLowLatency(name); }
  void Open(const std::string& name, const CallOptions& options, CallDone<std::unique_ptr<StoredFile>> done) override {
    Of(name)->Open(name, options, std::move(done));
  }
  void Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) override {
    Of(name)->Stat(name, options, std::move(done));
  }
  void List(const std::string& folder, const CallOptions& options, CallDone<std::vector<StoredEntry>> done) override {
    Of(folder)->List(folder, options, std::move(done));
  }
  absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& name) override { return Of(name)->Create(name); }
  absl::StatusOr<std::string> Put(const std::string& name, const std::string& content,
                                  const WriteCondition& condition) override {
    return Of(name)->Put(name, content, condition);
  }
  absl::Status Remove(const std::string& name, const WriteCondition& condition) override {
    return Of(name)->Remove(name, condition);
  }
  absl::Status RemoveUnfinished(const std::string& folder) override { return Of(folder)->RemoveUnfinished(folder); }

 protected:
  // Returns the storage of the name.
  virtual Storage* Of(const std::string& name) const = 0;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_FORWARDING_STORAGE_H_
