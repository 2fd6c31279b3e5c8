// A file of a test, gone when the test is.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace serve::test {

class scratch_file {
public:
  /// `name` is the end of its path.
  scratch_file(const std::string& name, const std::string& text)
      : folder_(std::filesystem::temp_directory_path() / fmt::format("kvferry_{}_{}", getpid(), count_++)),
        path_(folder_ / name) {
    std::filesystem::create_directories(folder_);
    std::ofstream(path_, std::ios::binary) << text;
  }

  ~scratch_file() { std::filesystem::remove_all(folder_); }

  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;

  const std::filesystem::path& path() const { return path_; }

private:
  static inline int count_ = 0;
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

} // namespace serve::test
