// What Eigen does for us, in a file of its own: its headers are heavy.
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <stdexcept>

#include "engine/optim/matrix.h"

namespace thalweg::engine::optim {
namespace {
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
}  // namespace

void symmetric_eigen(std::size_t n, const double* a, double* vectors, double* values) {
  const auto size = static_cast<Eigen::Index>(n);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      Eigen::Map<const Matrix>(a, size, size));
  if (solver.info() != Eigen::Success)
    throw std::runtime_error(
        "the eigenvalues of an optimizer's matrix were not found: it holds "
        "NaN or infinity");
  Eigen::Map<Matrix>(vectors, size, size) = solver.eigenvectors().rowwise().reverse();
  Eigen::Map<Eigen::VectorXd>(values, size) = solver.eigenvalues().reverse();
}

void orthonormalize(std::size_t n, double* a) {
  const auto size = static_cast<Eigen::Index>(n);
  Eigen::Map<Matrix> matrix(a, size, size);
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(matrix);
  matrix = qr.householderQ() * Eigen::MatrixXd::Identity(size, size);
}

}  // namespace thalweg::engine::optim
