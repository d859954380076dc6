package power_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	pawl "github.com/pawl-dev/pawl/runtime"
)

var (
	crashes = flag.Int("crashes", 150, "how many crashes are tried at least")
	kept    = flag.String("plan", "", "a plan to carry out, instead of those in testdata; its diary is logged")
)

// modulesDir is where the modules of all plans are kept while the tests run: none
// comes again, so they are nothing for the cache of the others.
var modulesDir string

func TestMain(m *testing.M) {
	var err error
	if modulesDir, err = os.MkdirTemp("", "pawl-power-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(modulesDir) // a temporary directory
		os.Exit(code)
	}))
}

// Random workflows on a disk whose power is cut, with processes that are killed,
// stand still, or lose their store: the receivers' books and a plain model say
// what may have come of it.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	all := &totals{counts: map[string]int{}}
	var failing sync.Mutex // one plan is shrunk at a time
	var failed bool
	t.Run("plans", func(t *testing.T) {
		for n := range goruntime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				for all.crashes.Load() < int64(*crashes) && !t.Failed() && !failed {
					rapid.Check(t, func(rt *rapid.T) {
						plan := drawPlan(rt)
						if all.crashes.Load() >= int64(*crashes) && !failed {
							return
						}
						all.plans.Add(1)
						err := plan.carryOut(t, all, nil)
						for n := 0; err == nil && failed && n < 8; n++ { // who comes first is not in a plan
							err = plan.carryOut(t, all, nil)
						}
						if err == nil {
							return
						}
						failing.Lock()
						defer failing.Unlock()
						failed = true
						rt.Fatalf("%v\nthe plan, also in %s: %s", err, plan.keep(), plan)
					})
				}
			})
		}
	})
	t.Log(all)
	if n := all.crashes.Load(); n < int64(*crashes) && !failed {
		t.Errorf("%d crashes were tried, want %d", n, *crashes)
	}
	if *crashes >= 2000 && !failed {
		all.complete(t)
	}
}

// complete makes sure that a campaign has met everything that it is for.
func (t *totals) complete(tb testing.TB) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, what := range []string{
		"crash by cut", "crash by kill", "life stop", "death at asked", "death at written", "death at synced", "death at arrival", "death at effect",
		"answer lost", "answer landed", "answer hang", "answer stuck", "answer late", "answer tardy", "answer panic", "answer exit", "key known", "verify found", "verify absent", "verify silent",
		"fault fail commit", "fault fail read", "fault full", "fault unopenable", "stalled", "fenced",
		"event claimed", "event recovered", "event retrying", "event waiting", "event parked orphan", "event parked unknown",
		"end completed", "end failed", "end orphan", "end unknown", "state waiting key", "state waiting settle", "state waiting retry_after",
	} {
		if t.counts[what] == 0 {
			tb.Errorf("the campaign never met: %s", what)
		}
	}
}

// Plans that found something once are carried out again.
func TestKeptPlans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/plans/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if *kept != "" {
		files = []string{*kept}
	}
	if len(files) == 0 {
		t.Fatal("there is no kept plan")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var plan Plan
			if err := json.Unmarshal(text, &plan); err != nil {
				t.Fatal(err)
			}
			for range 5 { // who comes first is not in a plan
				diary := new(strings.Builder)
				if err := plan.carryOut(t, &totals{counts: map[string]int{}}, diary); err != nil {
					t.Fatalf("%v\n%s", err, diary)
				} else if *kept != "" {
					t.Log(diary)
				}
			}
		})
	}
}

// keep writes a plan that failed to a file; the last one is the smallest.
func (p *Plan) keep() string {
	file := filepath.Join(os.TempDir(), "pawl-power-plan.json")
	if err := os.WriteFile(file, []byte(p.String()), 0o600); err != nil {
		return err.Error()
	}
	return file
}

func (p *Plan) String() string {
	text, _ := json.Marshal(p)
	return string(text)
}

// detail tells events of a kind apart that are of interest.
func (w *world) detail(e pawl.Event) string {
	switch e.Kind {
	case pawl.Parked, pawl.Interrupted:
		return " " + e.Code
	}
	return ""
}

func (t *totals) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s strings.Builder
	fmt.Fprintf(&s, "%d crashes with %d open runs in %d plans, in %s of their time\n", t.crashes.Load(), t.hit.Load(), t.plans.Load(), t.time)
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&s, "%7d %s\n", t.counts[what], what)
	}
	return s.String()
}
