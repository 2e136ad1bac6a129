// The Python package of the wheel runs `penstock convert`. This command has its help, and names the way to it.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"

namespace penstock::cli {
namespace {

class Convert final : public Command {
 public:
  std::string name() const override { return "convert"; }
  std::string arguments() const override { return "SOURCE --out DIR [flags]"; }
  std::string summary() const override { return "new shards from Parquet, Arrow, HDF5 and other formats"; }
  std::string description() const override {
    return "Writes the rows of SOURCE as TFRecord shards, with a job file that reads them back bit for bit. SOURCE is "
           "a\n"
           "file, a folder or a glob of Parquet, Arrow IPC, Feather or JSON lines files, an HDF5 file, an LMDB, a "
           "folder of\n"
           "MDS or LitData, a saved data set of Hugging Face, or hf://NAME. Files and folders may be in a bucket, such "
           "as\n"
           "s3://BUCKET/tables. The same command continues a killed run. The format's own Python library reads the\n"
           "source, so the command needs Python and that library.\n\n"
           "  pip install penstock[parquet]\n"
           "  penstock convert table.parquet --out shards --dry-run\n"
           "  penstock convert 'part-*.parquet' --out shards";
  }
  void AddFlags(config::Flags* flags) override {
    flags->AddString("out", &text_, "DIR", "the folder of the new shards: not there yet, empty, or this command's own");
    flags->AddSwitch("dry-run", &given_, "print the columns, and write nothing");
    flags->AddStrings("drop", &texts_, "COLUMN", "leave a column out; may be repeated");
    flags->AddString("split", &text_, "NAME", "a part of a data set of Hugging Face, MDS or LitData, such as train");
    flags->AddSwitch("trust", &given_, "unpickle columns, which runs code that the files contain");
    flags->AddStrings("tokenize", &texts_, "COLUMN=TOKENIZER",
                      "replace texts by tokens of a tokenizer.json, a SentencePiece model or tiktoken:NAME; may be "
                      "repeated");
    flags->AddString("begin-token", &text_, "TOKEN", "a token, or its number, before the tokens of each text");
    flags->AddString("end-token", &text_, "TOKEN", "a token, or its number, after the tokens of each text");
    flags->AddUint("processes", &number_, "N",
                   "processes that read (default: the CPUs of this container); the shards are the same");
    flags->AddString("prefix", &text_, "NAME", "shards are called NAME-00000.tfrecord ... (default: data)");
    flags->AddBytes("shard-bytes", &number_, "BYTES", "a shard ends before it would grow larger (default: 128MiB)");
    flags->AddSwitch("json", &given_, "print one JSON object instead of text");
  }
  absl::Status Run(const std::vector<std::string>&) override {
    return absl::FailedPreconditionError(
        "this build has no Python package, which reads the source; `pip install penstock[parquet]` installs a "
        "`penstock` that has it");
  }

 private:
  std::string text_;
  std::vector<std::string> texts_;
  uint64_t number_ = 0;
  bool given_ = false;
};

}  // namespace

std::unique_ptr<Command> NewConvert() { return std::make_unique<Convert>(); }

}  // namespace penstock::cli
