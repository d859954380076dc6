package kv_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/kv"
)

// What a store does is told with it: how often, and how it gets to the disk.
//
// Seen red with commits that are not counted.
func TestHealthTellsRates(t *testing.T) {
	t.Parallel()
	s, err := kv.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if h := s.Health(); h.CommitRate != 0 || h.SyncRate != 0 || h.SyncMode != "msync" {
		t.Errorf("%+v", h)
	}
	for range 5 {
		if err := s.Commit(&kv.Batch{Changes: []kv.Change{{Key: []byte("k"), Value: []byte("v")}}}).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if h := s.Health(); h.CommitRate <= 0 || h.CommitRate > 5 || h.SyncRate != h.CommitRate {
		t.Errorf("%+v", h)
	}
}

// The JSON form is public.
func TestHealthAsJSON(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		h    kv.Health
		want string
	}{
		"well": {
			kv.Health{Condition: kv.Healthy},
			`{"condition":"ok","commits":0,"syncs":0,"commit_rate":0,"sync_rate":0,"size":0,"free":0,"reserve":0}`,
		},
		"not well": {
			kv.Health{Condition: kv.Full, Reason: "no space", Commits: 9, Syncs: 3, CommitRate: 1.5, SyncRate: 0.5, SyncMode: "msync", Size: 10, Free: 1, Reserve: 2},
			`{"condition":"no_space","reason":"no space","commits":9,"syncs":3,"commit_rate":1.5,"sync_rate":0.5,"sync_mode":"msync","size":10,"free":1,"reserve":2}`,
		},
	} {
		got, err := json.Marshal(row.h)
		if diff := cmp.Diff(row.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}
