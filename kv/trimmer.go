package kv

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

const (
	// trimEvery is how often the memory of the tables is looked at while the
	// store is used.
	trimEvery = time.Second
	// trimQuiet is for how long that goes on without anybody using the store:
	// Badger merges tables for some time afterwards.
	trimQuiet = 30 * time.Second
	// trimLimitKB is how many KiB of them may stay in memory then.
	trimLimitKB = 24 << 10
)

// trimmer keeps the tables from filling the process's memory. Badger maps each
// table it writes and all it reads, so without it the resident memory of the
// process tends to the size of the store. In an idle store it sleeps.
type trimmer struct {
	used        chan struct{} // somebody used the store; capacity 1
	stop, ended chan struct{}
}

func startTrimmer(dir string, logger *slog.Logger) *trimmer {
	t := &trimmer{used: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	t.look()
	go t.run(dir, logger)
	return t
}

// look has the memory looked at for some time.
func (t *trimmer) look() {
	select {
	case t.used <- struct{}{}:
	default:
	}
}

func (t *trimmer) run(dir string, logger *slog.Logger) {
	defer close(t.ended)
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	for err == nil {
		select {
		case <-t.stop:
			return
		case <-t.used:
			var stopped bool
			if stopped, err = t.whileUsed(real); stopped {
				return
			}
		}
	}
	// Memory is all that is lost by giving up.
	logger.Debug("memory of the tables is not limited", attrDir, dir, attrError, err)
}

// whileUsed looks at the memory until nobody has used the store for a while.
func (t *trimmer) whileUsed(dir string) (stopped bool, err error) {
	ticker := time.NewTicker(trimEvery)
	defer ticker.Stop()
	for quiet := time.Duration(0); quiet < trimQuiet && err == nil; quiet += trimEvery {
		select {
		case <-t.stop:
			return true, nil
		case <-ticker.C:
		}
		select {
		case <-t.used:
			quiet = 0
		default:
		}
		// Asking the kernel costs more the larger the program is, so a store
		// that is small as a whole is not asked about.
		if tablesKB(dir) > trimLimitKB {
			err = trimTables(dir, trimLimitKB)
		}
	}
	return false, err
}

// tablesKB is the size of all tables in the directory, in KiB.
func tablesKB(dir string) (kb int64) {
	names, _ := filesOf(dir, ".sst") // nothing is trimmed then
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			kb += info.Size() >> 10
		}
	}
	return kb
}

func (t *trimmer) close() {
	close(t.stop)
	<-t.ended
}
