// Compiled into every test program of a ThreadSanitizer build: reports about libraries that are none of our business.
extern "C" const char* __tsan_default_suppressions();

// gRPC and protobuf are not instrumented, so that what orders their threads is not seen; the templates of their headers
// are, and seem to race with it. Functions that begin with these names, and what they call, are left out.
extern "C" const char* __tsan_default_suppressions() {
  return "race:^grpc::\n"
         "race:^grpc_event_engine::\n"
         "race:^google::protobuf::\n"
         "race:^absl::debian3::base_internal::StrError";  // reads a table that is made once, by whoever comes first
}
