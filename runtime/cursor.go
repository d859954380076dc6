package runtime

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// rank orders the parts of a list.
type rank byte

const (
	rankStuck rank = 'a' // does not go on by itself
	rankOpen  rank = 'b'
	rankEnded rank = 'c'
)

// place is where a run stands in a list.
type place struct {
	rank rank
	// at orders the runs of a rank, the greatest first: the run's id, or the
	// position of one that has ended.
	at string
}

// compare is negative if p comes before o.
func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.rank, o.rank), strings.Compare(o.at, p.at))
}

// run is the run's id.
func (p place) run() string {
	if p.rank == rankEnded {
		run, _ := journal.RunAt(p.at)
		return run
	}
	return p.at
}

// cursor is the place as a page's Next names it.
func (p place) cursor() string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{byte(p.rank)}, p.at...))
}

// placeOf is the place that a cursor names; the zero place comes before all.
func placeOf(cursor string) (p place, err error) {
	if cursor == "" {
		return place{}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(text) > 0 {
		p = place{rank(text[0]), string(text[1:])}
		if _, err = ulid.ParseStrict(p.run()); err == nil && p.rank >= rankStuck && p.rank <= rankEnded {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("%w: cursor %q: take it from the page before, or begin without", ErrInvalidInput, cursor)
}

// places keeps the first few of those that are added, in order.
type places struct {
	most  int
	first []place
}

func (p *places) add(at place) {
	if len(p.first) == p.most && at.compare(p.first[p.most-1]) >= 0 {
		return
	}
	i, there := slices.BinarySearchFunc(p.first, at, place.compare)
	if there {
		return
	}
	p.first = slices.Insert(p.first, i, at)
	p.first = p.first[:min(len(p.first), p.most)]
}

func (p *places) full() bool { return len(p.first) == p.most }
