package telemetry

// Open is how many entries have a span that has not ended.
func (t *Telemetry) Open() (n int) {
	t.spans.mu.Lock()
	defer t.spans.mu.Unlock()
	for _, entries := range t.spans.open {
		n += len(entries)
	}
	return n
}
