package runtime_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// What became durable in the commit of the record before is told as merged.
//
// Seen red with everything merged, and with nothing.
func TestObserverIsToldWhatBecameDurableTogether(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	var keyed counter
	registry, err := host.NewRegistry(keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	if err != nil {
		t.Fatal(err)
	}
	store, err := kv.Open(t.TempDir(), &kv.Options{Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	engine, err := pawl.Open(t.Context(), store, &pawl.Options{Tools: registry, CacheDir: cacheDir(), Observer: func(e pawl.Event) {
		if !strings.HasSuffix(string(e.Kind), "_durable") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprintf("%s %s %v", e.Step, e.Kind, e.Merged))
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	b := &bundle{t: t, engine: engine}
	w := b.deploy(folder(t, "", `tools = ["keyed"]`, `tools = ["keyed"]`))
	b.rest(b.start(w, "r1", `{"one":[{"call":"keyed"}],"two":[{"call":"keyed"}]}`))
	mu.Lock()
	defer mu.Unlock()
	want := "one intent_durable false, one receipt_durable false, one checkpoint_durable true, " +
		"two intent_durable true, two receipt_durable false, two checkpoint_durable true"
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
}
