package crashtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
)

func TestEqualEffectsWithTheirOwnKeysAreNoDuplicates(t *testing.T) {
	t.Parallel()
	clean := []Effect{{"pay", `{"amount":5,"id":"K1"}`, "K1"}, {"pay", `{"amount":5,"id":"K2"}`, "K2"}, {"mail", "hello", ""}}
	tests := []struct {
		name                 string
		ledger               []Effect
		more, less, repeated int
	}{
		{"the same under other keys", []Effect{{"mail", "hello", ""}, {"pay", `{"amount":5,"id":"X"}`, "X"}, {"pay", `{"amount":5,"id":"XY"}`, "XY"}}, 0, 0, 0},
		{"one key twice", []Effect{{"mail", "hello", ""}, {"pay", `{"amount":5,"id":"X"}`, "X"}, {"pay", `{"amount":5,"id":"X"}`, "X"}}, 0, 0, 1},
		{"once more", append([]Effect{{"pay", `{"amount":5,"id":"K3"}`, "K3"}}, clean...), 1, 0, 0},
		{"once less", clean[1:], 0, 1, 0},
		{"another body", append([]Effect{{"mail", "hallo", ""}}, clean[:2]...), 1, 1, 0},
		{"the same body at another tool", append([]Effect{{"sms", "hello", ""}}, clean[:2]...), 1, 1, 0},
		{"nothing", nil, 0, 3, 0},
	}
	for _, test := range tests {
		more, less := count(test.ledger).against(count(clean))
		if more != test.more || less != test.less || repeated(test.ledger) != test.repeated {
			t.Errorf("%s: %d more, %d less, %d repeated", test.name, more, less, repeated(test.ledger))
		}
	}
}

func TestSequenceNumbersRiseAlongTheRun(t *testing.T) {
	t.Parallel()
	points := []*boundary{{Point: H0}, {Point: H1}, {Point: H2}, {Point: H4}, {Point: H5}, {Point: H6}, {Point: H0}, {Point: H2}}
	tests := []struct {
		name string
		seqs []uint64
		bad  []int
	}{
		{"as it should be", []uint64{1, 2, 2, 2, 3, 4, 4, 5}, nil},
		{"with a record that nobody announces", []uint64{1, 2, 2, 3, 4, 5, 6, 7}, nil},
		{"back", []uint64{1, 3, 2, 2, 3, 4, 4, 5}, []int{2}},
		{"an intent without a record", []uint64{1, 1, 1, 1, 2, 3, 3, 4}, []int{1}},
		{"a receipt without a record", []uint64{1, 2, 2, 2, 2, 3, 3, 4}, []int{4}},
		{"a checkpoint without a record", []uint64{1, 2, 2, 2, 3, 3, 3, 4}, []int{5}},
		{"the intent of a read without a record", []uint64{1, 2, 2, 2, 3, 4, 4, 4}, []int{7}},
	}
	for _, test := range tests {
		var rows []*Row
		for _, seq := range test.seqs {
			rows = append(rows, &Row{Seq: seq})
		}
		rising(points, rows)
		var bad []int
		for i, row := range rows {
			if !row.OK() {
				bad = append(bad, i)
			}
		}
		if diff := cmp.Diff(test.bad, bad); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

// The table of tollOf once more, in other words.
func TestWhatAKillMayCost(t *testing.T) {
	t.Parallel()
	const park = -1
	points := []Point{H0, H1, H2, H3, H4, H5, BeforeWrite, AfterWrite}
	tests := []struct {
		name     string
		contract host.Contract
		calls    [8]int64
	}{
		{"read", host.Contract{Effect: host.Read}, [8]int64{0, 1, 1, 1, 1, 0, 1, 1}},
		{"charged read", host.Contract{Effect: host.Read, Units: []string{"tokens"}}, [8]int64{0, 1, 1, 1, 1, 0, 1, 1}},
		{"keyed", host.Contract{Effect: host.Keyed}, [8]int64{0, 1, 1, 1, 1, 0, 1, 1}},
		{"keyed, asked", host.Contract{Effect: host.Keyed, Verifies: true}, [8]int64{0, 1, 1, 0, 0, 0, 1, 0}},
		{"keyed, never remembered", host.Contract{Effect: host.Keyed, KeyWindow: host.NoKeyWindow}, [8]int64{0, park, park, park, park, 0, park, park}},
		{"verify", host.Contract{Effect: host.Verify, Verifies: true}, [8]int64{0, 1, 1, 0, 0, 0, 1, 0}},
		{"once", host.Contract{}, [8]int64{0, park, park, park, park, 0, park, park}},
		{"once, asked", host.Contract{Verifies: true}, [8]int64{0, park, park, 0, 0, 0, park, 0}},
	}
	for _, test := range tests {
		for i, p := range points {
			got := tollOf(&boundary{Point: p, Step: "a", contract: test.contract})
			want := toll{calls: test.calls[i], recoveries: 1}
			if want.calls == park {
				want = toll{recoveries: 1, parks: true}
			}
			if got != want {
				t.Errorf("%s at %s: %+v, want %+v", test.name, p, got, want)
			}
		}
	}
	if got := tollOf(&boundary{Point: H6, Step: "a", Next: "b"}); got != (toll{recoveries: 1}) {
		t.Errorf("between two steps: %+v", got)
	}
	if got := tollOf(&boundary{Point: H6, Step: "b"}); got != (toll{}) {
		t.Errorf("at the end: %+v", got)
	}
}

func TestADocumentThatBreaksItsSchemaIsSeen(t *testing.T) {
	t.Parallel()
	r, err := newReader()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.read([]byte(`{"format":1}`)); err == nil || !strings.Contains(err.Error(), "breaks its schema") {
		t.Errorf("error %v", err)
	}
	if _, err := r.read([]byte(`{`)); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Errorf("error %v", err)
	}
}

// Seen red with every difference allowed.
func TestWorkThatIsChargedTwiceIsSeen(t *testing.T) {
	t.Parallel()
	for got, good := range map[int64]bool{1_000_000: true, 1_009_999: true, 990_001: true, 1_050_000: false, 950_000: false, 0: false} {
		j := &judgement{row: new(Row)}
		if j.worked(got, 1_000_000) != good || j.row.OK() != good {
			t.Errorf("%d of work against 1000000: %+v", got, j.row.Mismatches)
		}
	}
}
