package kv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// heldName is the file that keeps a store held when it is opened again. To
// release a store is to remove it: all else is in order again by then.
const heldName = "HELD"

// heldAdvice is told with every reason.
const heldAdvice = "Go on with the original if there is one; nothing may be sent on the word of this store before somebody has looked at what happened outside."

// readHeld finds out whether the store was held before.
func (s *badgerStore) readHeld() error {
	text, err := os.ReadFile(filepath.Join(s.lock.dir, heldName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(string(text))
	if reason == "" {
		reason = "It was held before. " + heldAdvice
	}
	s.held.Store(&reason)
	return nil
}

// hold makes the store held for reasons, if there are any, for good: first the
// file that keeps it so, then an anchor that fits the store as it is now.
func (s *badgerStore) hold(why []string, last uint64) error {
	if len(why) == 0 {
		return nil
	}
	reason := strings.Join(why, ". ") + ". " + heldAdvice
	if before := s.held.Load(); before != nil {
		reason = *before // the first one says what to look for
	} else if err := writeHeld(s.lock.dir, reason); err != nil {
		return err
	}
	s.held.Store(&reason)
	s.logger.Error("store held", attrDir, s.lock.dir, attrError, strings.Join(why, ". "))
	number := max(s.anchor.number, last)
	if err := s.anchor.close(); err != nil {
		return err
	}
	next, err := makeAnchor(s.lock.dir, number, s.logger)
	if err != nil {
		s.anchor = nil // closed
		return err
	}
	s.anchor = next
	return nil
}

func writeHeld(dir, reason string) error {
	return replaceFile(filepath.Join(dir, heldName), []byte(reason+"\n"))
}
