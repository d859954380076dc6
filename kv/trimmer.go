package kv

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

const (
	// trimEvery is how often the memory of the tables is looked at.
	trimEvery = time.Second
	// trimLimitKB is how many KiB of them may stay in memory then.
	trimLimitKB = 24 << 10
)

// trimmer keeps the tables from filling the process's memory. Badger maps each
// table it writes and all it reads, so without it the resident memory of the
// process tends to the size of the store.
type trimmer struct {
	stop, ended chan struct{}
}

func startTrimmer(dir string, logger *slog.Logger) *trimmer {
	t := &trimmer{stop: make(chan struct{}), ended: make(chan struct{})}
	go t.run(dir, logger)
	return t
}

func (t *trimmer) run(dir string, logger *slog.Logger) {
	defer close(t.ended)
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	ticker := time.NewTicker(trimEvery)
	defer ticker.Stop()
	for err == nil {
		select {
		case <-t.stop:
			return
		case <-ticker.C:
			// Asking the kernel costs more the larger the program is, so a store
			// that is small as a whole is not asked about.
			if tablesKB(real) > trimLimitKB {
				err = trimTables(real, trimLimitKB)
			}
		}
	}
	// Memory is all that is lost by giving up.
	logger.Debug("memory of the tables is not limited", attrDir, dir, attrError, err)
}

// tablesKB is the size of all tables in the directory, in KiB.
func tablesKB(dir string) (kb int64) {
	names, _ := filepath.Glob(filepath.Join(dir, "*.sst")) // only a bad pattern is an error
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
