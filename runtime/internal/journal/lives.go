package journal

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// life is kept while an engine that executes runs is open: one that is still
// there when its engine is gone tells of a stop without a word.
type life struct {
	Format int   `cbor:"1,keyasint"`
	Opened int64 `cbor:"2,keyasint"` // microseconds
}

// stops are the moments at which others noticed that an engine had ended
// without a word.
type stops struct {
	Format int     `cbor:"1,keyasint"`
	At     []int64 `cbor:"2,keyasint"` // microseconds, in order
}

// StopsRemembered is how long an unclean stop counts.
const StopsRemembered = time.Hour

// maxStops bounds the record of stops.
const maxStops = 64

// Begun records that an engine is open, and counts those that ended without a
// word: alive says whether another engine still is. It returns the unclean
// stops that still count, those found now included. Nobody waits for the
// record: whatever the engine does next is durable only with it.
func (b *Book) Begun(engine string, alive func(engine string) bool, now time.Time) ([]time.Time, error) {
	known, dead, err := b.readLives(engine, alive)
	if err != nil {
		return nil, err
	}
	for range dead {
		known.At = append(known.At, micros(now))
	}
	known.At = slices.DeleteFunc(known.At, func(at int64) bool {
		return at <= micros(now.Add(-StopsRemembered)) || at > micros(now) // a clock that was put back
	})
	known.At = known.At[max(0, len(known.At)-maxStops):]
	batch := new(kv.Batch)
	for _, id := range dead {
		batch.Delete(join(prefixLife, id))
	}
	batch.Set(keyStops, encode(known))
	batch.Set(join(prefixLife, engine), encode(life{Format: Format, Opened: micros(now)}))
	b.store.Commit(batch)
	var at []time.Time
	for _, us := range known.At {
		at = append(at, fromMicros(us))
	}
	return at, nil
}

func (b *Book) readLives(engine string, alive func(engine string) bool) (known stops, dead []string, err error) {
	known.Format = Format
	err = b.view(func(v kv.View) error {
		data, err := v.Get(keyStops)
		switch {
		case err == nil && decode(data, &known) == nil && known.Format == Format:
		case err == nil || errors.Is(err, kv.ErrNotFound):
			known = stops{Format: Format} // what only makes a start slower stops nobody
		default:
			return err
		}
		dead = nil
		for item, err := range v.Scan(kv.Range{Prefix: prefixLife, KeysOnly: true}) {
			if err != nil {
				return err
			}
			dead = append(dead, string(item.Key[len(prefixLife):]))
		}
		return nil
	})
	dead = slices.DeleteFunc(dead, func(id string) bool { return id == engine || alive(id) })
	return known, dead, err
}

// Ended records that an engine closed in good order, and waits for it.
func (b *Book) Ended(ctx context.Context, engine string) error {
	batch := new(kv.Batch)
	batch.Delete(join(prefixLife, engine))
	return unavailable(b.store.Commit(batch).Wait(ctx))
}
