#include "db/sqlite/transaction.h"

#include "db/sqlite/connection.h"
#include "db/store.h"

namespace thalweg::db::sqlite {
namespace {

const Sql kBegin{"begin", "BEGIN IMMEDIATE"};
const Sql kCommit{"commit", "COMMIT"};
const Sql kRollback{"rollback", "ROLLBACK"};
const Sql kSave{"savepoint", "SAVEPOINT inner_step"};
const Sql kRelease{"release savepoint", "RELEASE inner_step"};
const Sql kUndo{"roll back to savepoint", "ROLLBACK TO inner_step"};

}  // namespace

Transaction::Transaction(Connection& connection)
    : connection_(connection), outermost_(!connection.in_transaction()) {
  connection_.run(outermost_ ? kBegin : kSave);
}

Transaction::~Transaction() {
  if (!open_ || !connection_.in_transaction())
    return;  // some errors make SQLite roll back by itself
  try {
    if (outermost_) {
      connection_.run(kRollback);
    } else {
      connection_.run(kUndo);
      connection_.run(kRelease);
    }
  } catch (const Error&) {
    // The error that brought us here is on its way up; the file is safe, the journal undoes the
    // rest.
  }
}

void Transaction::commit() {
  if (!connection_.in_transaction()) {
    throw Error("commit: the transaction was already rolled back by an earlier error");
  }
  connection_.run(outermost_ ? kCommit : kRelease);
  open_ = false;
}

}  // namespace thalweg::db::sqlite
