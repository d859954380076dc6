package kv

import (
	"fmt"
	"time"
)

// Health implements [Store].
func (s *badgerStore) Health() Health {
	h := Health{
		Condition: Healthy,
		Commits:   s.committer.commits.Load(),
		Syncs:     s.committer.syncs.Load(),
		SyncMode:  syncMode(s.opts),
		Size:      sizeOf(s.lock.path),
	}
	h.CommitRate, h.SyncRate = s.committer.rates.perSecond(time.Since(s.committer.rates.began))
	h.Free, h.Reserve = s.space.look()
	// The last of those that hold is the one that has to be answered first.
	if h.Free < h.Reserve {
		h.Condition = Full
		h.Reason = s.space.tooLittle(h.Free, h.Reserve).Error()
	}
	if held := s.held.Load(); held != nil {
		h.Condition, h.Reason = Held, *held
	}
	if err := s.life.Load().health(); err != nil {
		h.Condition, h.Reason = Broken, fmt.Sprintf("%v; it can be reopened", err)
	}
	return h
}

// syncMode says how Badger makes a commit durable: its log is mapped into memory.
func syncMode(opts Options) string {
	if opts.noSync {
		return "none"
	}
	return "msync"
}
