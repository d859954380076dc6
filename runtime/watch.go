package runtime

// Watch returns a channel that gets a value after a run has changed: durably, or
// in whether this engine executes it. Several changes may be one value. An empty
// id watches all runs. Call stop when the channel is no longer read; the channel
// is never closed.
func (e *Engine) Watch(run string) (changed <-chan struct{}, stop func()) {
	// TODO: thin; durable changes only.
	prefix := "r/"
	if run != "" {
		prefix += run + "/"
	}
	return e.store.Watch([]byte(prefix))
}
