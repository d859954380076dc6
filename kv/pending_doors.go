package kv

import (
	"context"
	"errors"
	"time"
)

// The rest of [Store], not made yet.

var errNotYet = errors.New("kv: not made yet")

func (s *badgerStore) Lease(context.Context, []byte, string, time.Duration) (Lease, error) {
	return nil, errNotYet
}

func (s *badgerStore) Watch([]byte) (<-chan struct{}, func()) { return nil, func() {} }

func (s *badgerStore) Health() Health { return Health{Condition: Healthy} }

func (s *badgerStore) Reopen(context.Context) error { return errNotYet }
