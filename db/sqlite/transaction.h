// Begins in the constructor, rolls back in the destructor unless committed.
#pragma once

namespace thalweg::db::sqlite {

class Connection;

/// The outermost one is a real transaction (BEGIN IMMEDIATE: the write lock is taken at once, so
/// nothing fails half way for want of it); one inside another is a savepoint.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Durable on return where this is the outermost. Throws db::Error; then everything is rolled
  /// back.
  void commit();

 private:
  Connection& connection_;
  bool outermost_;
  bool open_ = true;
};

}  // namespace thalweg::db::sqlite
