// NPY files for tests, as numpy.save writes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::test {

/// `type` as NumPy says it ("<f4", "<i8", "|u1") and T must be the same.
template <class T>
std::string npy_text(const std::string& type, const std::vector<std::size_t>& shape,
                     const std::vector<T>& values) {
  std::string sizes;
  for (const std::size_t n : shape)
    sizes += std::to_string(n) + ", ";
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() % 256);
  text += static_cast<char>(header.size() / 256);
  text += header;
  text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return text;
}

}  // namespace thalweg::test
