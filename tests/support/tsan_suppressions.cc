// Part of every test program of a ThreadSanitizer build: suppresses reports about external libraries.
extern "C" const char* __tsan_default_suppressions();

// gRPC and protobuf are not instrumented, so ThreadSanitizer does not see their synchronization. The templates of their
// headers are instrumented and seem to race with it. This suppresses functions that begin with these names, and their
// callees.
extern "C" const char* __tsan_default_suppressions() {
  return "race:^grpc::\n"
         "race:^grpc_event_engine::\n"
         "race:^google::protobuf::\n"
         "race:^absl::debian3::base_internal::StrError";  // reads a table that the first caller makes
}
