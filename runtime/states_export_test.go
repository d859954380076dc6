package runtime

// ListedReason says whether the table of states has the reason.
func ListedReason(state RunState, r Reason) bool { return listedReason(state, r) }
