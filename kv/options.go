package kv

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// Options are what [Open] can be told. The zero value works.
type Options struct {
	// Linger is how long a batch that nobody waits for may stay in memory for
	// the next one to share its write. Defaults to 5 ms.
	Linger time.Duration
	// WaitLock is how long Open waits for another process to give the store up,
	// as in a rolling deployment. Defaults to not waiting.
	WaitLock time.Duration
	// Reserve is how many bytes have to be free for a commit to be made; what
	// merging the newest tables may take comes on top. Less than the default
	// risks that a full disk ends the process, as does a negative Reserve, which
	// is none at all. Defaults to 64 MiB.
	Reserve int64
	// Logger gets one line when the store breaks, and Badger's own lines at
	// debug. Defaults to discarding them.
	Logger *slog.Logger

	// noSync leaves out the sync of each commit, so that a test can show that
	// it would notice. Defaults to false.
	noSync bool
	// free says how many bytes of a directory's file system are free. Defaults
	// to asking the operating system.
	free func(dir string) (bytes int64, known bool)
}

const defaultLinger = 5 * time.Millisecond

// withDefaults returns a copy with every field set.
func (o *Options) withDefaults() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Linger <= 0 {
		opts.Linger = defaultLinger
	}
	if opts.Reserve == 0 {
		opts.Reserve = defaultReserve
	}
	if opts.free == nil {
		opts.free = freeBytes
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return opts
}

// valueThreshold is the size in bytes from which Badger would put a value into
// its value log. A batch is below it as a whole, so no value ever gets there.
const valueThreshold = 1 << 20

// badgerOptions says how Badger is used; RATIONALE.md says why, with figures.
func badgerOptions(dir string, opts Options) badger.Options {
	return badger.DefaultOptions(dir).
		WithSyncWrites(!opts.noSync).
		WithBypassLockGuard(true). // dirLock is the lock
		WithDetectConflicts(false).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithMemTableSize(8 << 20).
		WithNumMemtables(1).
		WithNumCompactors(2).
		WithValueThreshold(valueThreshold).
		WithValueLogFileSize(1 << 20).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithMetricsEnabled(false).
		WithLogger(nil)
}

// badgerLog passes Badger's lines on at debug: it reports as errors and
// warnings what the store answers itself. That tables could not be made or merged
// it tells nobody else.
type badgerLog struct {
	logger *slog.Logger
	life   atomic.Pointer[life] // nil until Badger is open
	early  atomic.Bool          // it complained before
}

func (l *badgerLog) Errorf(format string, args ...any)   { l.trouble("error", format, args) }
func (l *badgerLog) Warningf(format string, args ...any) { l.trouble("warning", format, args) }
func (l *badgerLog) Infof(format string, args ...any)    { l.line("info", format, args) }
func (l *badgerLog) Debugf(format string, args ...any)   { l.line("debug", format, args) }

func (l *badgerLog) line(level, format string, args []any) {
	l.logger.Debug("badger", attrLevel, level, attrText, lazy{format, args})
}

func (l *badgerLog) trouble(level, format string, args []any) {
	l.line(level, format, args)
	if !strings.Contains(format, "flush") && !strings.Contains(format, "ompact") {
		return
	}
	l.early.Store(true)
	if life := l.life.Load(); life != nil {
		life.inspect()
	}
}

// lazy is formatted only if somebody reads the line.
type lazy struct {
	format string
	args   []any
}

func (t lazy) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf(t.format, t.args...)) }
