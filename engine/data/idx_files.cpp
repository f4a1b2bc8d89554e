// Any pair of IDX files, named by path.
#include "engine/data/idx.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

std::unique_ptr<Dataset> make_idx_files(const Options& options, HeaderFacts* facts) {
  IdxPair pair;
  pair.images = local_file(options, options.text("images"));
  pair.labels = local_file(options, options.text("labels"));
  const Scale scale = scale_of(options);
  pair.mean = scale.mean;
  pair.deviation = scale.deviation;
  pair.classes = static_cast<int>(options.integer_or("classes", 0));
  return load_idx_pair(pair, facts);
}

}  // namespace

Row idx_files() {
  return {
      "idx",
      "any pair of IDX files (plain or gzip)",
      {required(or_list(path_option(
           "images", {}, "file of the images: n x h x w, n x c x h x w or n x features bytes"))),
       required(or_list(path_option("labels", {}, "file of the labels: n bytes"))),
       mean_option("a pixel p becomes (p / 255 - mean) / deviation"), deviation_option(),
       classes_option(256)},
      make_idx_files,
      {"images", "labels"}};
}

}  // namespace thalweg::engine::data
