package runtime_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// The JSON form is public: the panel and the API give the same document.
func TestHealthAsJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 3, 31, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		h    pawl.Health
		want string
	}{
		"well": {
			pawl.Health{Store: kv.Health{Condition: kv.Healthy}, States: map[pawl.RunState]int{}},
			`{"store":{"condition":"ok","commits":0,"syncs":0,"commit_rate":0,"sync_rate":0,"size":0,"free":0,"reserve":0},` +
				`"open":0,"live":0,"waiting":0,"expected":0,"states":{},"paused":false}`,
		},
		"after an unclean stop": {
			pawl.Health{
				Store: kv.Health{Condition: kv.Healthy}, Since: at, Open: 1, Live: 2, Waiting: 3, Expected: 4, Paused: true,
				States: map[pawl.RunState]int{pawl.StateRunning: 5},
				Recovery: &pawl.Recovery{
					At: at, Stops: 1, Open: 45, WentOn: 2, Waiting: 3, NeedPerson: 4, Failed: 5, Incompatible: 6, Held: 7, Elsewhere: 8, Unreadable: 9, Queued: 10,
				},
			},
			`{"store":{"condition":"ok","commits":0,"syncs":0,"commit_rate":0,"sync_rate":0,"size":0,"free":0,"reserve":0},` +
				`"since":"2026-11-30T03:31:00Z","open":1,"live":2,"waiting":3,"expected":4,"states":{"running":5},"paused":true,` +
				`"recovery":{"at":"2026-11-30T03:31:00Z","stops":1,"open":45,"went_on":2,"waiting":3,"need_person":4,"failed":5,` +
				`"incompatible":6,"held":7,"elsewhere":8,"unreadable":9,"queued":10}}`,
		},
	} {
		got, err := json.Marshal(row.h)
		if diff := cmp.Diff(row.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// Times are told in UTC, whatever the machine's zone is.
func TestRecoveryTellsItsTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if r := b.engine.Health().Recovery; r == nil || r.At.IsZero() || r.At.Location() != time.UTC {
		t.Errorf("%+v", r)
	}
}
