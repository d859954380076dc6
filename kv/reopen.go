package kv

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// closePatience is how long closing and reopening wait for a broken Badger to
// close: it tries forever to write down what it holds in memory.
const closePatience = 3 * time.Second

// Reopen implements [Store]. It waits for running views, which fail, so it must
// not be called from one. While Badger cannot be closed it fails after some
// seconds: a second Badger beside one that still writes would destroy the store.
func (s *badgerStore) Reopen(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if s.closing.Load() {
		return ErrClosed
	}
	old := s.life.Load()
	if old.health() == nil {
		return nil
	}
	old.end()
	if err := s.left(ctx, old); err != nil {
		return err
	}
	next, err := s.begin(old.snapshots.tried())
	if err != nil {
		return fmt.Errorf("kv: reopen store %s: %w", s.lock.dir, err)
	}
	s.life.Store(next)
	s.logger.Info("store reopened", attrDir, s.lock.dir)
	// A batch that failed may be there after all.
	s.watchers.tellAll()
	return nil
}

// left waits until nobody uses a broken life and its Badger is closed. Whether
// Badger complained does not matter: what it left is checked when it is opened.
func (s *badgerStore) left(ctx context.Context, old *life) error {
	select {
	case <-old.idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-old.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(closePatience):
		return fmt.Errorf("%w (Badger cannot write what it holds in memory; free the disk and reopen again)", old.health())
	}
}

// Close implements [Store]. It waits for running views, so it must not be
// called from one. The error of a broken store is [ErrStoreBroken].
func (s *badgerStore) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.closing.Swap(true) {
		return ErrClosed
	}
	s.committer.close()
	l := s.life.Load()
	l.end()
	<-l.idle
	s.trimmer.close()
	broken := l.health()
	if broken == nil {
		<-l.ended
		// It may have broken in closing.
		return errors.Join(l.err, s.release())
	}
	select {
	case <-l.ended:
		return errors.Join(broken, l.err, s.release())
	case <-time.After(closePatience):
		return fmt.Errorf("%w (%s stays locked until this process ends: Badger cannot write)", broken, s.lock.dir)
	}
}

// release gives the directory back.
func (s *badgerStore) release() error {
	return errors.Join(s.anchor.close(), s.lock.release())
}
