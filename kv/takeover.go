package kv

// TakeChain returns the chain under prefix for another owner than the one that
// wrote its head: its first entry requires that head and raises the epoch, so
// that nothing of the owner before can land behind it. If that owner has moved
// the head meanwhile, the first entry fails with [ErrRequirement]: read the
// head again.
func TakeChain(store Store, prefix []byte, head Head) *Chain {
	c := OpenChain(store, prefix, head)
	c.taking = true
	return c
}

// take raises the epoch with the first entry of a taken chain.
func (c *Chain) take() {
	if c.taking {
		c.taking = false
		c.head.Epoch++
	}
}
