package runtime

import "github.com/pawl-dev/pawl/runtime/internal/journal"

// BudgetError is returned when a budget of a run does not allow what comes
// next. It matches [ErrBudgetSpent].
type BudgetError = journal.BudgetError
