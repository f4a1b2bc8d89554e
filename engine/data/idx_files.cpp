// Any pair of IDX files, named by path.
#include "engine/data/idx.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

std::unique_ptr<Dataset> make(const jobspec::Value& tree) {
  const Row row = idx_files();
  const auto get = [&](const char* name) { return option(tree, row, name); };
  for (const char* name : {"images", "labels"})
    if (get(name).is_null())
      throw std::invalid_argument(std::string("data.") + name + " is missing: the path of a file");
  IdxPair pair;
  pair.images = local_file(tree, get("images").as_string());
  pair.labels = local_file(tree, get("labels").as_string());
  pair.mean = get("mean").as_double();
  pair.deviation = get("deviation").as_double();
  const jobspec::Value classes = get("classes");
  pair.classes = classes.is_string() ? 0 : static_cast<int>(classes.as_int());
  return load_idx_pair(pair);
}

}  // namespace

Row idx_files() {
  return {"idx",
          "any pair of IDX files (plain or gzip)",
          {needed(path_option(
               "images", {}, "file of the images: n x h x w, n x c x h x w or n x features bytes")),
           needed(path_option("labels", {}, "file of the labels: n bytes")),
           mean_option("a pixel p becomes (p / 255 - mean) / deviation"), deviation_option(),
           classes_option(256)},
          make,
          {"images", "labels"}};
}

}  // namespace thalweg::engine::data
