package journal

// Watch sends a value to changed after the run, or any run if that is empty, has
// changed durably. See [kv.Store].
func (b *Book) Watch(run string, changed chan<- struct{}) (stop func()) {
	if run == "" {
		return b.store.Watch(prefixRun, changed)
	}
	return b.store.Watch(runPrefix(run), changed)
}
