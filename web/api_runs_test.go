package web_test

import (
	"fmt"
	"net/http"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

type listed struct {
	Items      []pawl.Summary
	NextCursor *string `json:"next_cursor"`
	Counts     map[string]struct {
		Runs    int
		Reasons map[string]int
	}
}

func (l *listed) ids() (ids []string) {
	for _, item := range l.Items {
		ids = append(ids, item.ExternalID)
	}
	return ids
}

func TestListOfRuns(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serve(t, f.engine, nil)
	var empty listed
	s.get("api/v1/runs").want(t, http.StatusOK).into(t, &empty)
	if empty.Items == nil || empty.NextCursor != nil || empty.Counts == nil {
		t.Errorf("an empty list is %+v", empty)
	}
	for _, state := range []pawl.RunState{pawl.StateCompleted, pawl.StateFailed, pawl.StateNeedsDecision, pawl.StateWaiting} {
		f.inState(state)
	}
	for query, want := range map[string]string{
		"":                                   "[needs_decision failed waiting completed]",
		"?state=failed":                      "[failed]",
		"?state=held":                        "[]",
		"?reason=unknown":                    "[needs_decision]",
		"?state=failed&reason=unknown":       "[]",
		"?workflow=refund&text=WAIT":         "[waiting]",
		"?workflow=other":                    "[]",
		"?label.order=W1006":                 "[failed]",
		"?label.order=W1006&state=completed": "[]",
	} {
		var got listed
		s.get("api/v1/runs"+query).want(t, http.StatusOK).into(t, &got)
		if fmt.Sprint(got.ids()) != want {
			t.Errorf("%s: %v, want %s", query, got.ids(), want)
		}
		if query == "" && (got.Counts["failed"].Runs != 1 || got.Counts["needs_decision"].Reasons["unknown"] != 1) {
			t.Errorf("counts %+v", got.Counts)
		}
	}
	var paged []string
	for cursor, n := "", 0; n < 10; n++ {
		var got listed
		s.get("api/v1/runs?limit=1"+cursor).want(t, http.StatusOK).into(t, &got)
		paged = append(paged, got.ids()...)
		if got.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *got.NextCursor
	}
	if fmt.Sprint(paged) != "[needs_decision failed waiting completed]" {
		t.Errorf("pages of one: %v", paged)
	}
}

// A filter that is not understood is refused: ignored, it would show what nobody
// asked for.
//
// Seen red with unknown parameters ignored.
func TestListRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := serve(t, setup(t).engine, nil)
	for query, status := range map[string]int{
		"sate=failed":             http.StatusBadRequest,
		"state=fialed":            http.StatusBadRequest,
		"state=failed&state=held": http.StatusBadRequest,
		"limit=0":                 http.StatusBadRequest,
		"limit=501":               http.StatusBadRequest,
		"limit=many":              http.StatusBadRequest,
		"label.a=1&label.b=2":     http.StatusBadRequest,
		"label.=1":                http.StatusBadRequest,
		"cursor=%00%ff":           http.StatusUnprocessableEntity,
	} {
		r := s.get("api/v1/runs?"+query).want(t, status)
		if p := r.problem(t); p.Detail == "" || p.Hint == "" {
			t.Errorf("%s: %s", query, r.body)
		}
	}
}
