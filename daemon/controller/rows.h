// The tables follow the events: what each event changes in the rows that people query.
#pragma once

#include <map>

#include "daemon/state/state.h"
#include "db/store.h"

namespace thalweg::daemon {

/// Rows of live attempts, which later events change field by field.
using LiveRows = std::map<Id, db::AttemptRow>;

/// Changes the database's rows (and `live`) as the event says. Call inside the transaction that
/// appends the event, before the state knows it.
void write_rows(db::Store& store, LiveRows& live, const State& before, const db::Event& event);

}  // namespace thalweg::daemon
